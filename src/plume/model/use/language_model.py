"""LanguageModel: a trained model with its tokenizer, ready to embed, fill, generate and score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.core.batching import ROWS
from plume.core.errors import PlumeError
from plume.core.knowledge import arrays_of
from plume.kb.knowledge import open_knowledge
from plume.kb.link import Linker
from plume.kb.store import KnowledgeBase
from plume.model.checkpoint import load_model, save_model
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.resources import exchange
from plume.model.use.abilities import Abilities, Said
from plume.model.use.entities import Mention, find_entities
from plume.model.use.filling import Blank, fill
from plume.model.use.looking_up import FoundBlock, consult, looked_up
from plume.model.use.rows import Ids
from plume.model.use.runtimes import runtime as make_runtime
from plume.model.use.sampling import Sampling
from plume.model.use.scoring import Score, score
from plume.model.use.side_by_side import side_by_side
from plume.model.use.text_batches import TextBatches
from plume.model.use.writing import begin, continuations, streamed
from plume.nn.pooling import Pooling, pooling_of
from plume.text.tokenizer import Tokenizer
from plume.vectors.sentence import SentenceVectors

Prompt = TypeVar("Prompt", str, list[str])  # one text in, one out; several in, several out
Value = TypeVar("Value", str, int, str | None, Said)


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What the model computes for one text, padding taken off."""

    tokens: list[str]
    layers: list[NDArray[np.float32]]  # [T, D] the embedding's output and each block's
    attention: list[NDArray[np.float32]]  # [H, T, T] a block, if asked for


class LanguageModel:
    """A model with its tokenizer. Nothing here changes it: several threads may use one."""

    def __init__(self, model: Model, tokenizer: Tokenizer, sentence: SentenceVectors | None = None, *, runtime: str = "torch") -> None:
        self.model, self.tokenizer, self.sentence = model.eval(), tokenizer, sentence
        self.runtime = make_runtime(runtime, model, tokenizer)
        self.device = next(model.parameters()).device
        self.linker: Linker | None = None
        self.asking: LanguageModel | None = None  # what reads questions, where that is another network

    def __repr__(self) -> str:
        return f"LanguageModel({self.recipe.name}/{self.recipe.size}, {sum(one.numel() for one in self.model.parameters()):,} parameters)"

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu", runtime: str = "torch") -> LanguageModel:
        """From a model directory. `runtime` is what embeds with it: torch, onnx, onnx-int8."""
        model, tokenizer = load_model(Path(folder))
        sentence = SentenceVectors.read(Path(folder))
        made = cls(model.to(device), tokenizer, sentence, runtime=runtime)
        if sentence is not None and sentence.questions:
            made.asking = cls.load(Path(folder) / sentence.questions, device=device, runtime=runtime)
        return made

    def using(self, runtime: str) -> LanguageModel:
        """The same model, embedding by another runtime: torch, onnx, onnx-int8."""
        made = LanguageModel(self.model, self.tokenizer, self.sentence, runtime=runtime)
        made.asking = None if self.asking is None else self.asking.using(runtime)
        return made

    def save(self, folder: str | Path) -> None:
        """As a model directory."""
        save_model(Path(folder), self.model, self.tokenizer)
        if self.sentence is not None:
            self.sentence.save(Path(folder))
            if self.asking is not None:
                self.asking.save(Path(folder) / self.sentence.questions)

    @property
    def recipe(self) -> Recipe:
        """What it was made from."""
        return self.model.recipe

    @property
    def width(self) -> int:
        """Of what `embed` gives."""
        if self.sentence is None:
            return self.model.width
        pooling = self.sentence.pooling
        return self.sentence.width(self.model.width if not isinstance(pooling, Pooling) else pooling.build(self._widths()).width)

    def _widths(self) -> list[int]:
        """Of each layer, the embedding first."""
        tokens = torch.zeros((1, 1), dtype=torch.long, device=self.device)
        with torch.inference_mode():
            return [layer.shape[-1] for layer in self.model.encode(Batch(tokens=tokens), keep_layers=True).layers]

    @cached_property
    def abilities(self) -> Abilities:
        """What it was trained to do, and with which head."""
        return Abilities(self.model, self.tokenizer)

    @torch.inference_mode()
    def embed(
        self,
        texts: str | Sequence[str],
        *,
        pooling: Pooling | str | None = None,
        layer: int | None = None,
        batch: int = ROWS,
        language: Said | Sequence[Said] = None,
    ) -> NDArray[np.float32]:
        """[N, D] one vector a text, as its sentence.json says, or else pooled as the family is meant to be.

        `pooling` or `layer` asks for raw vectors instead: of that layer (-1 the last, 0 the embeddings). `pooling` is a word (mean, first, last,
        max, weighted), or a `Pooling`, which names its layers itself: `Pooling(layers=(0, -1))`.
        `language` is for families with a vector for each (XLM): of all texts, or a list with one a text; None: found for each.
        """
        raw = pooling is not None or layer is not None
        return self.embed_read(self.read(_texts(texts), raw=raw, language=language), pooling=pooling, layer=layer, batch=batch)

    def embed_questions(self, texts: str | Sequence[str], *, language: Said | Sequence[Said] = None) -> NDArray[np.float32]:
        """The same of texts that are asked for others: by the encoder that was trained for them, where there is one (`--task retrieval`)."""
        return (self.asking or self).embed(texts, language=language)

    def read(self, texts: Sequence[str | Ids], *, raw: bool = False, language: Said | Sequence[Said] = None) -> TextBatches:
        """Texts, or their token ids, cut and framed as `embed` reads them; `raw`: without the prompt and the limit of sentence.json."""
        sentence = None if raw else self.sentence
        if sentence is not None and sentence.prompt:
            texts = sentence.texts([one if isinstance(one, str) else self.tokenizer.decode(list(one)) for one in texts])
        longest = None if sentence is None else sentence.longest
        return TextBatches(self.abilities, texts, _each(language, texts, "languages"), longest=longest)

    @torch.inference_mode()
    def embed_read(
        self, read: TextBatches, *, pooling: Pooling | str | None = None, layer: int | None = None, batch: int = ROWS
    ) -> NDArray[np.float32]:
        """[N, D] what `embed` gives for texts that were read before, perhaps by several calls (`TextBatches.joined`)."""
        raw = pooling is not None or layer is not None
        layer = -1 if layer is None else layer
        depth = self.recipe.network.depth
        if not -depth - 1 <= layer <= depth:
            raise PlumeError(f"There is no layer {layer}: this model has layers 0 (embeddings) to {depth}.")
        sentence = None if raw else self.sentence
        if sentence is not None:
            pooling = sentence.pooling if isinstance(sentence.pooling, Pooling) else None
        pooled = self._pooled(read, None if pooling is None else pooling_of(pooling, layer=layer), layer=layer, batch=batch)
        return pooled if sentence is None else sentence.finish(pooled)

    def _pooled(self, read: TextBatches, asked: Pooling | None, *, layer: int, batch: int) -> NDArray[np.float32]:
        """[N, D] as asked, or as the family does."""
        pool = asked or _AsTheFamily(self.model, layer)
        found: NDArray[np.float32] | None = None

        @torch.inference_mode()
        def work(given: tuple[NDArray[np.int64], Batch]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            rows, made = given
            layers = self.runtime.layers(made, last_only=pool.last_only)
            return rows, pool.build([one.shape[-1] for one in layers])(layers, made.length).float().cpu().numpy()

        for rows, pooled in side_by_side(work, read.batches(rows=batch), device=self.device):
            found = np.empty((len(read.framed), pooled.shape[1]), np.float32) if found is None else found
            found[rows] = pooled
        if found is not None:
            return found
        return np.zeros((0, self.model.width if asked is None else asked.build(self._widths()).width), np.float32)

    @torch.inference_mode()
    def hidden(
        self, texts: str | Sequence[str], *, attention: bool = False, batch: int = 32, language: Said | Sequence[Said] = None
    ) -> list[Hidden]:
        """All layers of each text, and the attention of every head if asked."""
        texts = _texts(texts)
        read = TextBatches(self.abilities, texts, _each(language, texts, "languages"))
        found: dict[int, Hidden] = {}
        for rows, made in read.batches(rows=batch):
            encoded = self.model.encode(made, keep_layers=True, record_attention=attention)
            layers = [layer.float().cpu().numpy() for layer in encoded.layers]
            maps = [probability.float().cpu().numpy() for probability in encoded.attention]
            for place, row in enumerate(rows.tolist()):
                ids = read.framed[row].tokens
                own = slice(len(ids))
                found[row] = Hidden(
                    tokens=[read.spelled(number) for number in ids],
                    layers=[layer[place, own] for layer in layers],
                    attention=[one[place][:, own, own] for one in maps],
                )
        return [found[row] for row in range(len(texts))]

    @torch.inference_mode()
    def fill(self, text: str, *, top: int = 5, language: Said = None) -> list[list[Blank]]:
        """For each blank the `top` likeliest fillings; the others stay open meanwhile. A blank is the family's mask token, or ___.

        A model that writes spans (T5, BART, GLM …) fills a blank with as many tokens as it likes.
        """
        return fill(self.abilities, text, top=top, language=language)

    def know(self, kb: str | Path) -> LanguageModel:
        """Let it use the knowledge base as it is now: its facts, where the model asks facts, and its names, by which texts are linked. This
        changes the model."""
        exchange(self.model, open_knowledge(Path(kb), arrays_of(self.recipe)))
        self.linker = Linker(KnowledgeBase.open(kb))
        return self

    @torch.inference_mode()
    def entities(self, text: str, *, top: int = 5) -> list[Mention]:
        """What the text mentions, and what belongs in its blanks (___), of a model with a memory of entities (EaE, FaE).

        Where `know` named a knowledge base, mentions are what its names find, otherwise what the model itself takes for one.
        """
        return find_entities(self.abilities, text, top=top, linker=self.linker)

    def consult(self, documents: str | Path | Sequence[str | Path]) -> None:
        """Hand a model that looks things up (REALM) the documents to do so in: JSONL with title and text, or plain text. They may be other ones
        than it was trained with, and take the place of those it had."""
        consult(self.abilities, [documents] if isinstance(documents, str | Path) else documents)

    def looked_up(self, text: str) -> list[FoundBlock]:
        """Which blocks of those documents it reads to fill the blanks of a text, the most relevant first."""
        return looked_up(self.abilities, text)

    def entity_vectors(self) -> tuple[tuple[str, ...], NDArray[np.float32]]:
        """Names and vectors of the entities of its memory, by number."""
        table = self.model.entity_table()
        if table is None or self.model.knowledge is None:
            raise PlumeError(f"{self.recipe.name} has no vectors of entities: use eae or fae.")
        return self.model.knowledge.entities, table.weight.detach().float().cpu().numpy()

    def generate(
        self,
        prompt: Prompt = "",  # type: ignore[assignment]
        *,
        source: str | Sequence[str] | None = None,
        max_tokens: int = 50,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        greedy: bool = False,
        beams: int = 1,
        repetition_penalty: float = 1.0,
        seed: int | Sequence[int] = 0,
        code: str | None = None,
        language: Said | Sequence[Said] = None,
        echo: bool = True,
    ) -> Prompt:
        """The prompt and what the model writes after it; of a model that writes a new text (a translation, a summary), that text alone.

        With `source` it writes an answer to that text, and the prompt is how the answer begins (encoder–decoders, UniLM). MASS without one writes
        as much as it read, for so it was trained.

        `greedy` takes the likeliest token each time, `beams` searches wider; a `repetition_penalty` above 1 (CTRL's paper: 1.2) makes tokens
        that stand in the text already less likely. `code` is a control code (CTRL), `language` for families with a vector for each. Without
        `echo` the prompt is left out.

        Several prompts are written together, each as it would be alone; `source`, `seed` and `language` may then be lists, with one for each.
        """
        sampling = Sampling(
            temperature=temperature, top_k=top_k, top_p=top_p, greedy=greedy, beams=beams, repetition_penalty=repetition_penalty
        )
        prompts, can = _texts(prompt), self.abilities
        told = zip(prompts, _each(source, prompts, "sources"), _each(language, prompts, "languages"), strict=True)
        begun = [
            begin(can, text, room=max_tokens, code=code, source=read, language=said, place=f"prompt {number}" if len(prompts) > 1 else "")
            for number, (text, read, said) in enumerate(told, 1)
        ]
        found = continuations(can, begun, sampling=sampling, seeds=_each(seed, prompts, "seeds"), echo=echo)
        return found[0] if isinstance(prompt, str) else found

    def stream(
        self,
        prompt: str = "",
        *,
        source: str | None = None,
        max_tokens: int = 50,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        greedy: bool = False,
        beams: int = 1,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        code: str | None = None,
        language: Said = None,
        echo: bool = True,
    ) -> Iterator[str]:
        """What `generate` returns, in pieces as they are written: first the prompt, where it belongs to the text. Never half a character.

        With beams all comes at the end: what is best is not known before.
        """
        sampling = Sampling(
            temperature=temperature, top_k=top_k, top_p=top_p, greedy=greedy, beams=beams, repetition_penalty=repetition_penalty
        )
        can = self.abilities
        begun = begin(can, prompt, room=max_tokens, code=code, source=source, language=language)
        return streamed(can, begun, sampling=sampling, seed=seed, echo=echo)

    @torch.inference_mode()
    def score(
        self,
        texts: str | Sequence[str],
        *,
        source: str | Sequence[str] | None = None,
        memory: int | None = None,
        batch: int = 32,
        language: Said | Sequence[Said] = None,
    ) -> list[Score]:
        """How likely the model finds each text; an encoder–decoder or UniLM: as what it writes after reading `source`, one for all or one for each.

        The token that closes the text counts too, if the model was trained to write it.

        A family with a memory may look back further than it did in training: `memory` tokens.
        """
        texts = _texts(texts)
        read = None if source is None else [one for one in _each(source, texts, "sources") if one is not None]
        return score(self.abilities, texts, source=read, memory=memory, batch=batch, language=_each(language, texts, "languages"))


@dataclass(frozen=True)
class _AsTheFamily:
    """The family's own pooling, with the face of a `Pooling`."""

    model: Model
    layer: int

    @property
    def last_only(self) -> bool:
        return self.layer == -1

    def build(self, widths: Sequence[int]) -> Callable[[Sequence[Tensor], Tensor | None], Tensor]:
        return self

    def __call__(self, layers: Sequence[Tensor], length: Tensor | None) -> Tensor:
        rows, time = layers[-1].shape[:2]
        lengths = torch.full((rows,), time, device=layers[-1].device) if length is None else length
        return self.model.pool(Encoded(last=layers[-1], layers=tuple(layers)), self.layer, lengths)


def _texts(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _each(value: Value | Sequence[Value], texts: Sequence[object], what: str) -> Sequence[Value]:
    """One for each text: the same for all, or as many as there are texts."""
    if value is None or isinstance(value, str | int):
        return [value] * len(texts)
    if len(value) != len(texts):
        raise PlumeError(f"{len(texts)} texts, and {len(value)} {what}: say one for all, or one for each.")
    return value
