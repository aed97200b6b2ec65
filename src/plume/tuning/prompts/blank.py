"""How each kind of model is asked what stands in a blank: at masks, after what it has read, or as what its decoder writes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, TypeVar

import numpy as np

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.tuning.rows.rows import Array


@dataclass(frozen=True)
class LabelWord:
    """One that could fill the blank, in tokens. `among`: its label has so many, which count alike."""

    label: int
    among: int
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class BlankReading:
    """One token of a word, and which of the row's places says how likely it is there; the label has so many tokens in all."""

    place: int
    token: int
    label: int
    among: int


@dataclass(frozen=True)
class AskedRow:
    """A row, its places that are read, and what is read off them."""

    tokens: Sequence[int]
    places: Sequence[int]  # in `tokens`; in `written`, where there is one
    readings: Sequence[BlankReading]
    written: Sequence[int] = ()  # by a decoder
    shared: int = 0  # tokens at its front that show other examples


Ids = Sequence[int]
Key = TypeVar("Key", int, tuple[int, ...])


@dataclass(frozen=True, kw_only=True)
class PromptBlank(Part):
    """A kind of model. Special tokens are ids of its own tokenizer; `begin` and `end` stand around a text."""

    objective: str  # whose head predicts tokens
    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()

    reads_both_ways: ClassVar[bool] = True  # may the blank stand before the text?
    demonstrations_first: ClassVar[bool] = False  # do they stand before the text, not behind it?
    in_the_format: ClassVar[bool] = False  # do the rows' special tokens have the segments that the family's format gives them?

    @property
    def at_once(self) -> bool:
        """Are all words of as many tokens read off one row?"""
        return False

    def rows(self, before: Ids, words: Sequence[LabelWord], after: Ids) -> Iterator[AskedRow]:
        """What must be read to know how likely each word is between the two."""
        raise NotImplementedError

    def taken(self, longest: int) -> int:
        """Tokens of a row beside what stands around the blank, for words of at most so many."""
        return len(self.begin) + len(self.end) + longest

    def batch(self, batch: Batch, written: tuple[Array, Array] | None) -> Batch:
        """In the order in which the model reads it. `written`: [B, W] what a decoder writes, and [B] how much."""
        return batch


@dataclass(frozen=True, kw_only=True)
class AtTheMasks(PromptBlank):
    """As many masks as the word has tokens: all at once, each hidden from the others, or one after the other, the tokens before it shown."""

    in_the_format: ClassVar[bool] = True

    mask: int
    left_to_right: bool = False

    @property
    def at_once(self) -> bool:
        return not self.left_to_right

    def rows(self, before: Ids, words: Sequence[LabelWord], after: Ids) -> Iterator[AskedRow]:
        first = len(self.begin) + len(before)
        for size, some in _by(words, lambda word: len(word.tokens)):
            if not self.left_to_right:
                yield AskedRow(self._row(before, (), size, after), range(first, first + size), _each(some))
            for at in range(size) if self.left_to_right else ():
                for shown, alike in _by(some, _first(at)):
                    readings = [BlankReading(0, word.tokens[at], word.label, word.among * size) for word in alike]
                    yield AskedRow(self._row(before, shown, size - at, after), [first + at], readings)

    def _row(self, before: Ids, shown: Ids, masks: int, after: Ids) -> list[int]:
        return [*self.begin, *before, *shown, *[self.mask] * masks, *after, *self.end]


@dataclass(frozen=True, kw_only=True)
class ByContent(AtTheMasks):
    """MPNet's masks stand in the text; what the batch says is read would ask its query stream."""

    def batch(self, batch: Batch, written: tuple[Array, Array] | None) -> Batch:
        return replace(batch, read=None)


@dataclass(frozen=True, kw_only=True)
class ByQueries(AtTheMasks):
    """XLNet: blanks come last in the order, so that the text does not look at them, nor they at each other."""

    def batch(self, batch: Batch, written: tuple[Array, Array] | None) -> Batch:
        rank = (batch.tokens == self.mask).astype(np.int64)
        return replace(batch, order=Order.RANKED, rank=rank, query=np.full_like(batch.read, self.mask))


@dataclass(frozen=True, kw_only=True)
class NextTokens(PromptBlank):
    """Left to right up to the word's last token, which is predicted and not read."""

    reads_both_ways: ClassVar[bool] = False
    demonstrations_first: ClassVar[bool] = True

    def rows(self, before: Ids, words: Sequence[LabelWord], after: Ids) -> Iterator[AskedRow]:
        first = len(self.begin) + len(before) - 1
        for shown, alike in _by(words, lambda word: word.tokens[:-1]):
            yield AskedRow([*self.begin, *before, *shown], range(first, first + len(shown) + 1), _each(alike))

    def batch(self, batch: Batch, written: tuple[Array, Array] | None) -> Batch:
        return replace(batch, order=Order.CAUSAL)


@dataclass(frozen=True, kw_only=True)
class BehindTheText(PromptBlank):
    """GLM: one mask, and the word written out behind the text at the mask's position."""

    mask: int
    start: int

    def taken(self, longest: int) -> int:
        return super().taken(longest) + 1

    def rows(self, before: Ids, words: Sequence[LabelWord], after: Ids) -> Iterator[AskedRow]:
        text = [*self.begin, *before, self.mask, *after, *self.end]
        for shown, alike in _by(words, lambda word: word.tokens[:-1]):
            yield AskedRow([*text, self.start, *shown], range(len(text), len(text) + len(shown) + 1), _each(alike))

    def batch(self, batch: Batch, written: tuple[Array, Array] | None) -> Batch:
        assert batch.read is not None, "the blank's places are read"
        step = np.broadcast_to(np.arange(batch.tokens.shape[1]), batch.tokens.shape)
        order = np.maximum(step - batch.read[:, :1] + 1, 0)
        mask = (batch.tokens == self.mask).argmax(1)[:, None]
        return replace(batch, order=Order.RANKED, rank=order, position=np.where(order > 0, mask, step), within=order)


@dataclass(frozen=True, kw_only=True)
class ByDecoderSpan(PromptBlank):
    """T5: a sentinel in what the encoder reads; the decoder writes the word after it."""

    start: int
    sentinel: int

    def taken(self, longest: int) -> int:
        return len(self.begin) + len(self.end) + 1

    def rows(self, before: Ids, words: Sequence[LabelWord], after: Ids) -> Iterator[AskedRow]:
        text = [*self.begin, *before, self.sentinel, *after, *self.end]
        for shown, alike in _by(words, lambda word: word.tokens[:-1]):
            yield AskedRow(text, range(1, len(shown) + 2), _each(alike), [self.start, self.sentinel, *shown])

    def batch(self, batch: Batch, written: tuple[Array, Array] | None) -> Batch:
        assert written is not None, "a decoder writes"
        source = Batch(tokens=batch.tokens, length=batch.length)
        return replace(batch, tokens=written[0], length=None, segment=None, order=Order.CAUSAL, source=source)


@dataclass(frozen=True, kw_only=True)
class ByDecoderText(ByDecoderSpan):
    """BART: a mask in what the encoder reads; the decoder writes the whole text, with the word in it."""

    def taken(self, longest: int) -> int:
        return 1 + len(self.begin) + len(self.end) + longest

    def rows(self, before: Ids, words: Sequence[LabelWord], after: Ids) -> Iterator[AskedRow]:
        text = [*self.begin, *before, self.sentinel, *after, *self.end]
        first = len(self.begin) + len(before)  # a state predicts the token behind it, and the row begins with the start token
        for shown, alike in _by(words, lambda word: word.tokens[:-1]):
            yield AskedRow(text, range(first, first + len(shown) + 1), _each(alike), [self.start, *self.begin, *before, *shown])


def _each(words: Sequence[LabelWord]) -> list[BlankReading]:
    """Every token of the words at its own place."""
    return [BlankReading(at, token, word.label, word.among * len(word.tokens)) for word in words for at, token in enumerate(word.tokens)]


def _by(words: Sequence[LabelWord], key: Callable[[LabelWord], Key]) -> list[tuple[Key, list[LabelWord]]]:
    """Words that show the same, together: they have the same row, which is read once for all of them."""
    ordered = sorted(words, key=key)
    return [(shown, list(alike)) for shown, alike in groupby(ordered, key=key)]


def _first(tokens: int) -> Callable[[LabelWord], tuple[int, ...]]:
    return lambda word: word.tokens[:tokens]


def refuse_before(blank: PromptBlank, name: str) -> None:
    """A model that reads left to right has not read a text that stands behind the blank."""
    if not blank.reads_both_ways:
        raise PlumeError(f"{name} reads left to right: in the template put {{text}} before the label.")
