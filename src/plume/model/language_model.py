"""LanguageModel: a trained model with its tokeniser, ready to embed, fill, generate and score."""

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
from plume.model.abilities import Abilities
from plume.model.checkpoint import load_model, save_model
from plume.model.filling import Blank, fill
from plume.model.generate import Sampling
from plume.model.model import Model
from plume.model.recipe import Recipe
from plume.model.scoring import Score, score
from plume.model.writing import continuation
from plume.nn.pooling import Pooling
from plume.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What the model computes for one text, padding taken off."""

    tokens: list[str]
    layers: list[NDArray[np.float32]]  # [T, D] the embedding's output and each block's
    attention: list[NDArray[np.float32]]  # [H, T, T] a block, if asked for


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
    def abilities(self) -> Abilities:
        """What it was trained to do, and with which head."""
        return Abilities(self.model, self.tokenizer)

    def embed(
        self, texts: str | Sequence[str], *, pooling: Pooling | str | None = None, layer: int = -1, batch: int = 32
    ) -> NDArray[np.float32]:
        """[N, D] one vector a text, from the given layer (-1 the last, 0 the embeddings); pooled as the family is meant to be, if not said."""
        asked = None if pooling is None else _pooling(pooling)
        texts = _texts(texts)
        depth = self.recipe.network.depth
        if not -depth - 1 <= layer <= depth:
            raise PlumeError(f"There is no layer {layer}: this model has layers 0 (embeddings) to {depth}.")
        found: dict[int, NDArray[np.float32]] = {}
        for rows, made in self._batches(texts, batch):
            encoded = self.model.encode(made, keep_layers=True)
            length = self._lengths(made)
            pooled = self.model.pool(encoded, layer, length) if asked is None else asked(encoded.layers[layer], length)
            found |= dict(zip(rows.tolist(), pooled.float().cpu().numpy(), strict=True))
        return np.stack([found[row] for row in range(len(texts))]) if texts else np.zeros((0, self.model.width), np.float32)

    def hidden(self, texts: str | Sequence[str], *, attention: bool = False) -> list[Hidden]:
        """All layers of each text, and the attention of every head if asked."""
        results: list[Hidden] = []
        for text in _texts(texts):
            (ids,), unseen = self._wrapped([text])
            encoded = self._encode_one(ids, unseen, attention=attention)
            layers = [layer[0].float().cpu().numpy() for layer in encoded.layers]
            maps = [probability[0].float().cpu().numpy() for probability in encoded.attention]
            known = self.model.vocabulary
            tokens = [self.tokenizer.token(number) if number < known else unseen[number - known] for number in ids]
            results.append(Hidden(tokens=tokens, layers=layers, attention=maps))
        return results

    @torch.inference_mode()
    def _encode_one(self, ids: list[int], unseen: list[str], *, attention: bool) -> Encoded:
        batch = replace(self._batch(torch.tensor([ids], device=self.device), None), unseen=self.model.spelling(unseen))
        return self.model.encode(batch, keep_layers=True, record_attention=attention)

    @torch.inference_mode()
    def fill(self, text: str, *, top: int = 5) -> list[list[Blank]]:
        """For each blank the `top` likeliest fillings; the others stay open meanwhile. A blank is the family's mask token, or ___.

        A model that writes spans (T5, BART, GLM …) fills a blank with as many tokens as it likes.
        """
        return fill(self.abilities, text, top=top)

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int = 50,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        greedy: bool = False,
        beams: int = 1,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        code: str | None = None,
    ) -> str:
        """The prompt and what the model writes after it; of a model that writes a new text (a translation, a summary), that text alone.

        `greedy` takes the likeliest token each time, `beams` searches wider; a `repetition_penalty` above 1 (CTRL's paper: 1.2) makes tokens
        that stand in the text already less likely. `code` is a control code (CTRL).
        """
        sampling = Sampling(
            temperature=temperature, top_k=top_k, top_p=top_p, greedy=greedy, beams=beams, repetition_penalty=repetition_penalty, seed=seed
        )
        return continuation(self.abilities, prompt, room=max_tokens, sampling=sampling, code=code)

    @torch.inference_mode()
    def score(self, texts: str | Sequence[str], *, source: str | None = None, memory: int | None = None, batch: int = 32) -> list[Score]:
        """How likely the model finds each text; an encoder–decoder: as what it writes after reading `source`.

        A family with a memory may look back further than it did in training: `memory` tokens.
        """
        return [score(self.abilities, text, source=source, memory=memory, batch=batch) for text in _texts(texts)]

    def _wrapped(self, texts: Sequence[str]) -> tuple[list[list[int]], list[str]]:
        """Framed and, where a text is longer than the model reads, cut at the end of what it can read; and the words with ids of their own."""
        specials = sum(piece != "A" for piece in self.tokenizer.format.single)
        longest = self.recipe.positions.longest
        room = None if longest is None else longest - specials
        rows, unseen = self._ids(texts)
        framed = [self.abilities.frame(ids[:room]) for ids in rows]
        return [ids or [self.tokenizer.separator] for ids in framed], unseen  # a decoder frames an empty text as nothing

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

    def _batches(self, texts: Sequence[str], size: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Texts of like length together, so that little is padded; rows say which texts they are."""
        ids, unseen = self._wrapped(texts)
        spelling = self.model.spelling(unseen)
        order = np.argsort([len(row) for row in ids], kind="stable")
        with torch.inference_mode():
            for first in range(0, len(order), size):
                rows = order[first : first + size]
                length = torch.tensor([len(ids[row]) for row in rows])
                tokens = torch.full((len(rows), int(length.max())), self.tokenizer.pad)
                for place, row in enumerate(rows):
                    tokens[place, : len(ids[row])] = torch.tensor(ids[row])
                padded = bool((length < tokens.shape[1]).any())
                made = self._batch(tokens.to(self.device), length.to(self.device) if padded else None)
                yield rows, replace(made, unseen=spelling)

    def _batch(self, tokens: Tensor, length: Tensor | None) -> Batch:
        """Read as the model was trained to: both ways wherever it can, else left to right or right to left."""
        order = self.abilities.reading_order
        if order is not Order.REVERSED:
            return Batch(tokens=tokens, length=length, order=order)
        rank = torch.arange(tokens.shape[1], 0, -1, device=tokens.device).expand_as(tokens)
        return Batch(tokens=tokens, length=length, order=Order.RANKED, rank=rank)

    @staticmethod
    def _lengths(batch: Batch) -> Tensor:
        rows, time = batch.tokens.shape
        return torch.full((rows,), time, device=batch.tokens.device) if batch.length is None else batch.length


def _texts(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _pooling(pooling: Pooling | str) -> Pooling:
    try:
        return Pooling(pooling)
    except ValueError:
        raise PlumeError(f"There is no pooling '{pooling}': choose {', '.join(Pooling)}.") from None
