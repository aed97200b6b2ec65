"""Texts as batches that the model reads: framed as its family does, texts of like length together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch, Order
from plume.core.batching import by_length
from plume.model.use.abilities import Abilities, Said
from plume.model.use.rows import Ids, padded

# On a CPU texts of one length need no padding and no mask, and batches of fewer tokens than enough are filled up with longer texts. MiniLM, CPU
# time a text, 160 texts of sst2 and ag_news: with any lengths together 1.25 times as much, without filling up 1.18 times. At most 8,192 tokens
# instead of 2,048 are as fast (600 and 160 texts); the smaller batches are shared out among threads more evenly.
_ENOUGH, _MOST = 256, 2048


@dataclass(frozen=True, kw_only=True)
class Framed:
    """One text as it is read."""

    tokens: list[int]
    segment: list[int] | None  # of each token; None: all 0


class TextBatches:
    """All texts of a call, framed; and cut at the end of what the model can read, where one is longer. A text may also come as its token ids."""

    def __init__(self, can: Abilities, texts: Sequence[str | Ids], said: Sequence[Said], *, longest: int | None = None) -> None:
        self.can, self.model, self.tokenizer = can, can.model, can.tokenizer
        rows, self.unseen = self._ids(texts)
        specials = sum(piece != "A" for piece in self.tokenizer.format.single)
        limits = [limit - specials for limit in (self.model.recipe.positions.longest, longest) if limit is not None]
        room = max(0, min(limits)) if limits else None
        before, after = self._frame()
        self.framed: list[Framed] = []
        for number, (text, ids, language) in enumerate(zip(texts, rows, said, strict=True), 1):
            tokens = [*before, *ids[:room], *after] or [self.tokenizer.separator]  # a decoder frames an empty text as nothing
            spoken = None if self.model.languages is None and language is None else self._language(text, ids, language, number, len(texts))
            self.framed.append(Framed(tokens=tokens, segment=can.segments(tokens, spoken)))

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """Those of several calls as if they were of one; words that the vocabulary lacks keep their spelling."""
        made = cls(several[0].can, (), ())
        unseen: dict[str, int] = {}
        for one in several:
            known = one.model.vocabulary
            ids = {known + place: unseen.setdefault(word, known + len(unseen)) for place, word in enumerate(one.unseen)}
            made.framed += (
                [replace(row, tokens=[ids.get(number, number) for number in row.tokens]) for row in one.framed] if ids else one.framed
            )
        made.unseen = list(unseen)
        return made

    @property
    def tokens(self) -> int:
        """That are read, special ones counted."""
        return sum(len(row.tokens) for row in self.framed)

    def _language(self, text: str | Ids, ids: list[int], said: Said, number: int, count: int) -> int | None:
        written = text if isinstance(text, str) else self.tokenizer.decode(ids)
        return self.can.language(written, ids, said, place=f"text {number}" if count > 1 else "")

    def _frame(self) -> tuple[list[int], list[int]]:
        """What stands before and after every text."""
        mark = -1
        around = self.can.frame([mark])
        place = around.index(mark)
        return around[:place], around[place + 1 :]

    def _ids(self, given: Sequence[str | Ids]) -> tuple[list[list[int]], list[str]]:
        """Where the model reads the characters of words, those that the vocabulary lacks get ids behind it."""
        written, unseen = self._written([one for one in given if isinstance(one, str)])
        texts = iter(written)
        return [next(texts) if isinstance(one, str) else list(one) for one in given], unseen

    def _written(self, texts: list[str]) -> tuple[list[list[int]], list[str]]:
        if not self.model.spells:
            return self.tokenizer.encode(texts), []
        unseen: dict[str, int] = {}
        rows = []
        for text, pieces in zip(texts, self.tokenizer.encode_pieces(texts), strict=True):
            words = [text[start:end] for start, end in zip(pieces.start.tolist(), pieces.end.tolist(), strict=True)]
            rows.append(
                [
                    unseen.setdefault(word, self.model.vocabulary + len(unseen)) if number == self.tokenizer.unknown else number
                    for word, number in zip(words, pieces.ids.tolist(), strict=True)
                ]
            )
        return rows, list(unseen)

    def batches(self, *, rows: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """At most so many rows each; the numbers say which texts they are."""
        spelling = self.model.spelling(self.unseen)
        alone = self.can.device.type == "cpu"
        length = [len(row.tokens) for row in self.framed]
        how = {"tokens": _MOST, "spread": 0.0, "enough": _ENOUGH} if alone else {"tokens": None}
        for numbers in by_length(length, rows=rows, **how):
            yield numbers, replace(self._batch([self.framed[number] for number in numbers]), unseen=spelling)

    def _batch(self, framed: Sequence[Framed]) -> Batch:
        """Read as the model was trained to: both ways wherever it can, else left to right or right to left."""
        segments = [row.segment for row in framed if row.segment is not None]
        batch = replace(
            self.can.rows([row.tokens for row in framed]),
            order=self.can.reading_order,
            segment=padded(segments, 0, self.can.device) if segments else None,
        )
        tokens = batch.tokens
        if batch.order is not Order.REVERSED:
            return batch
        rank = torch.arange(tokens.shape[1], 0, -1, device=tokens.device).expand_as(tokens)
        return replace(batch, order=Order.RANKED, rank=rank)

    def spelled(self, number: int) -> str:
        """The token of an id, or the word that has one of its own here."""
        known = self.model.vocabulary
        return self.tokenizer.token(number) if number < known else self.unseen[number - known]
