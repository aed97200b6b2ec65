"""LanguageModel: a trained model with its tokenizer, ready to embed, fill, generate and score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Encoded, Order
from plume.core.errors import PlumeError
from plume.model.checkpoint import load_model, save_model
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.use.abilities import Abilities, Said
from plume.model.use.filling import Blank, fill
from plume.model.use.generate import Sampling
from plume.model.use.scoring import Score, score
from plume.model.use.writing import continuation
from plume.nn.pooling import Pooling, pooling_of
from plume.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What the model computes for one text, padding taken off."""

    tokens: list[str]
    layers: list[NDArray[np.float32]]  # [T, D] the embedding's output and each block's
    attention: list[NDArray[np.float32]]  # [H, T, T] a block, if asked for


@dataclass(frozen=True, kw_only=True)
class _Framed:
    """One text as it is read."""

    tokens: list[int]
    segment: list[int] | None  # of each token; None: all 0


class LanguageModel:
    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu") -> LanguageModel:
        model, tokenizer = load_model(Path(folder))
        return cls(model.to(device), tokenizer)

    def save(self, folder: str | Path) -> None:
        save_model(Path(folder), self.model, self.tokenizer)

    @property
    def recipe(self) -> Recipe:
        return self.model.recipe

    @property
    def width(self) -> int:
        """Of what `embed` gives."""
        return self.model.width

    @property
    def abilities(self) -> Abilities:
        """What it was trained to do, and with which head."""
        return Abilities(self.model, self.tokenizer)

    def embed(
        self,
        texts: str | Sequence[str],
        *,
        pooling: Pooling | str | None = None,
        layer: int = -1,
        batch: int = 32,
        language: Said | Sequence[Said] = None,
    ) -> NDArray[np.float32]:
        """[N, D] one vector a text, from the given layer (-1 the last, 0 the embeddings); pooled as the family is meant to be, if not said.

        `pooling` is a word (mean, first, last, max, weighted), or a `Pooling`, which names its layers itself: `Pooling(layers=(0, -1))`.
        `language` is for families with a vector for each (XLM): of all texts, or a list with one a text; None: found for each.
        """
        texts = _texts(texts)
        depth = self.recipe.network.depth
        if not -depth - 1 <= layer <= depth:
            raise PlumeError(f"There is no layer {layer}: this model has layers 0 (embeddings) to {depth}.")
        asked = None if pooling is None else pooling_of(pooling, layer=layer)
        found: dict[int, NDArray[np.float32]] = {}
        for rows, made in self._batches(texts, batch, language):
            encoded = self.model.encode(made, keep_layers=True)
            if asked is None:
                pooled = self.model.pool(encoded, layer, self._lengths(made))
            else:
                pooled = asked.build([one.shape[-1] for one in encoded.layers])(encoded.layers, made.length)
            found |= dict(zip(rows.tolist(), pooled.float().cpu().numpy(), strict=True))
        return np.stack([found[row] for row in range(len(texts))]) if texts else np.zeros((0, self.model.width), np.float32)

    def hidden(self, texts: str | Sequence[str], *, attention: bool = False, language: Said | Sequence[Said] = None) -> list[Hidden]:
        """All layers of each text, and the attention of every head if asked."""
        results: list[Hidden] = []
        texts = _texts(texts)
        for text, said in zip(texts, _said(language, texts), strict=True):
            (framed,), unseen = self._wrapped([text], [said])
            encoded = self._encode_one(framed, unseen, attention=attention)
            ids = framed.tokens
            layers = [layer[0].float().cpu().numpy() for layer in encoded.layers]
            maps = [probability[0].float().cpu().numpy() for probability in encoded.attention]
            known = self.model.vocabulary
            tokens = [self.tokenizer.token(number) if number < known else unseen[number - known] for number in ids]
            results.append(Hidden(tokens=tokens, layers=layers, attention=maps))
        return results

    @torch.inference_mode()
    def _encode_one(self, framed: _Framed, unseen: list[str], *, attention: bool) -> Encoded:
        batch = replace(self._batch([framed]), unseen=self.model.spelling(unseen))
        return self.model.encode(batch, keep_layers=True, record_attention=attention)

    @torch.inference_mode()
    def fill(self, text: str, *, top: int = 5, language: Said = None) -> list[list[Blank]]:
        """For each blank the `top` likeliest fillings; the others stay open meanwhile. A blank is the family's mask token, or ___.

        A model that writes spans (T5, BART, GLM …) fills a blank with as many tokens as it likes.
        """
        return fill(self.abilities, text, top=top, language=language)

    def generate(
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
    ) -> str:
        """The prompt and what the model writes after it; of a model that writes a new text (a translation, a summary), that text alone.

        With `source` it writes an answer to that text, and the prompt is how the answer begins (encoder–decoders, UniLM). MASS without one writes
        as much as it read, for so it was trained.

        `greedy` takes the likeliest token each time, `beams` searches wider; a `repetition_penalty` above 1 (CTRL's paper: 1.2) makes tokens
        that stand in the text already less likely. `code` is a control code (CTRL), `language` for families with a vector for each.
        """
        sampling = Sampling(
            temperature=temperature, top_k=top_k, top_p=top_p, greedy=greedy, beams=beams, repetition_penalty=repetition_penalty, seed=seed
        )
        return continuation(self.abilities, prompt, room=max_tokens, sampling=sampling, code=code, source=source, language=language)

    @torch.inference_mode()
    def score(
        self,
        texts: str | Sequence[str],
        *,
        source: str | None = None,
        memory: int | None = None,
        batch: int = 32,
        language: Said | Sequence[Said] = None,
    ) -> list[Score]:
        """How likely the model finds each text; an encoder–decoder or UniLM: as what it writes after reading `source`.

        The token that closes the text counts too, if the model was trained to write it.

        A family with a memory may look back further than it did in training: `memory` tokens.
        """
        texts, can = _texts(texts), self.abilities
        told = zip(texts, _said(language, texts), strict=True)
        return [score(can, text, source=source, memory=memory, batch=batch, language=said) for text, said in told]

    def _wrapped(self, texts: Sequence[str], said: Sequence[Said]) -> tuple[list[_Framed], list[str]]:
        """Framed and, where a text is longer than the model reads, cut at the end of what it can read; and the words with ids of their own."""
        specials = sum(piece != "A" for piece in self.tokenizer.format.single)
        longest = self.recipe.positions.longest
        room = None if longest is None else longest - specials
        rows, unseen = self._ids(texts)
        can = self.abilities
        framed = []
        for number, (text, ids, language) in enumerate(zip(texts, rows, said, strict=True), 1):
            tokens = can.frame(ids[:room]) or [self.tokenizer.separator]  # a decoder frames an empty text as nothing
            spoken = can.language(text, ids, language, place=f"text {number}" if len(texts) > 1 else "")
            framed.append(_Framed(tokens=tokens, segment=can.segments(tokens, spoken)))
        return framed, unseen

    def _ids(self, texts: Sequence[str]) -> tuple[list[list[int]], list[str]]:
        """Where the model reads the characters of words, those that the vocabulary lacks get ids behind it."""
        if not self.model.spells:
            return self.tokenizer.encode(list(texts)), []
        unseen: dict[str, int] = {}
        rows = []
        for text, pieces in zip(texts, self.tokenizer.encode_pieces(list(texts)), strict=True):
            words = [text[start:end] for start, end in zip(pieces.start.tolist(), pieces.end.tolist(), strict=True)]
            rows.append(
                [
                    unseen.setdefault(word, self.model.vocabulary + len(unseen)) if number == self.tokenizer.unknown else number
                    for word, number in zip(words, pieces.ids.tolist(), strict=True)
                ]
            )
        return rows, list(unseen)

    def _batches(self, texts: Sequence[str], size: int, language: Said | Sequence[Said]) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Texts of like length together, so that little is padded; rows say which texts they are."""
        framed, unseen = self._wrapped(texts, _said(language, texts))
        spelling = self.model.spelling(unseen)
        order = np.argsort([len(row.tokens) for row in framed], kind="stable")
        with torch.inference_mode():
            for first in range(0, len(order), size):
                rows = order[first : first + size]
                yield rows, replace(self._batch([framed[row] for row in rows]), unseen=spelling)

    def _batch(self, framed: Sequence[_Framed]) -> Batch:
        """Read as the model was trained to: both ways wherever it can, else left to right or right to left."""
        length = torch.tensor([len(row.tokens) for row in framed], device=self.device)
        tokens = self._padded([row.tokens for row in framed], self.tokenizer.pad)
        segments = [row.segment for row in framed if row.segment is not None]
        batch = Batch(
            tokens=tokens,
            length=length if bool((length < tokens.shape[1]).any()) else None,
            order=self.abilities.reading_order,
            segment=self._padded(segments, 0) if segments else None,
        )
        if batch.order is not Order.REVERSED:
            return batch
        rank = torch.arange(tokens.shape[1], 0, -1, device=tokens.device).expand_as(tokens)
        return replace(batch, order=Order.RANKED, rank=rank)

    def _padded(self, rows: Sequence[list[int]], fill: int) -> Tensor:
        width = max(map(len, rows))
        return torch.tensor([row + [fill] * (width - len(row)) for row in rows], device=self.device)

    @staticmethod
    def _lengths(batch: Batch) -> Tensor:
        rows, time = batch.tokens.shape
        return torch.full((rows,), time, device=batch.tokens.device) if batch.length is None else batch.length


def _texts(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _said(language: Said | Sequence[Said], texts: Sequence[str]) -> Sequence[Said]:
    """The language of each text, as far as it was said."""
    if language is None or isinstance(language, str | int):
        return [language] * len(texts)
    if len(language) != len(texts):
        raise PlumeError(f"{len(texts)} texts, and {len(language)} languages: say one for all, or one for each.")
    return language
