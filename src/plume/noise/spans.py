"""Select: the spans that encoder-decoder models take out of the text (T5, BART, MASS)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.padded import Flags, Ids, first_of_runs, lowest, pack, text_bounds
from plume.noise.rows import Rows
from plume.noise.select import Chosen, Select


@dataclass(frozen=True, kw_only=True)
class TextShare(Select):
    """A share of the row's ordinary tokens (or words); special tokens do not count and are not selected."""

    rate: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise PlumeError(f"{type(self).__name__}(rate={self.rate}): give the share of the text to take out, above 0 and below 1.")

    @property
    def share(self) -> float:
        return self.rate


@dataclass(frozen=True, kw_only=True)
class MeanSpans(TextShare):
    """Spans of `mean` tokens on average, their number and their sum fixed by the text's length (T5 §3.1.4; random_spans_noise_mask).

    n = round(rate · length) tokens in round(n / mean) spans, both the spans and what stands between cut at random; the text begins outside
    a span and ends inside one. So the last token is always taken, and a text of 30 tokens or fewer loses only its end. `roll` turns the
    result by a random number of places, as the authors' random_roll does (off by default there too).
    """

    mean: float = 3.0
    roll: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean < 1:
            raise PlumeError(f"MeanSpans(mean={self.mean}): a span holds at least 1 token.")

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        ordinary = ~rows.special
        size = ordinary.sum(1)
        noise = np.where(size > 1, np.clip(np.rint(size * self.rate).astype(np.int64), 1, np.maximum(size - 1, 1)), 0)
        rest = size - noise
        spans = np.minimum(np.maximum(np.rint(noise / self.mean).astype(np.int64), 1), np.minimum(noise, rest))
        span_of = _segment(noise, spans, draws)  # [B, N] to which span each taken token belongs
        kept_until, _ = pack(*_cuts(rest, spans, draws), pad=0)  # [B, spans - 1] how many tokens stand before the end of each gap
        kept_until = np.concatenate([kept_until, np.zeros((len(size), 1), np.int64)], axis=1)
        np.put_along_axis(kept_until, np.maximum(spans - 1, 0)[:, None], rest[:, None], axis=1)
        place = np.arange(span_of.shape[1])
        ordinal = place + np.take_along_axis(kept_until, span_of, axis=1)
        if self.roll:
            ordinal = (ordinal + draws.integers(size[:, None], 1)) % np.maximum(size, 1)[:, None]
        return _of_ordinals(rows, ordinal, place < noise[:, None])


def _cuts(items: Ids, parts: Ids, draws: Draws) -> tuple[Ids, Flags]:
    """Cut each row of `items` evenly at random in `parts` that are not empty: how many items stand before each place, and is it cut?"""
    width = max(int(items.max(initial=0)) - 1, 0)
    cut = lowest(draws.uniform(width), np.maximum(parts - 1, 0), np.maximum(items - 1, 0))
    return np.broadcast_to(np.arange(1, width + 1), cut.shape), cut


def _segment(items: Ids, parts: Ids, draws: Draws) -> Ids:
    """[B, N] the part that each item falls in."""
    _, cut = _cuts(items, parts, draws)
    return np.concatenate([np.zeros((len(items), 1), np.int64), np.cumsum(cut, axis=1)], axis=1)


def _of_ordinals(rows: Rows, ordinal: Ids, valid: Flags) -> Chosen:
    """Select by number among the row's ordinary tokens; a span that meets a special token goes on behind it as another."""
    ordinary = ~rows.special
    taken = np.zeros((len(ordinal), rows.tokens.shape[1] + 1), bool)
    row = np.broadcast_to(np.arange(len(ordinal))[:, None], ordinal.shape)
    taken[row[valid], ordinal[valid]] = True
    tokens = ordinary & np.take_along_axis(taken, np.maximum(np.cumsum(ordinary, axis=1) - 1, 0), axis=1)
    return Chosen(tokens=tokens, start=first_of_runs(tokens))


@dataclass(frozen=True, kw_only=True)
class OneSpan(TextShare):
    """One span of half the text: at its beginning one time in five, at its end one in five, else anywhere (MASS; src/trainer.py).

    With `closing` the token that closes the row counts as text, as there: a span at the end reaches over it, so that it is hidden and must be
    predicted. Then `rate` is of the whole row, its first token counted in, which is never hidden.
    """

    rate: float = 0.5
    at_begin: float = 0.2
    at_end: float = 0.2
    closing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_begin < 0 or self.at_end < 0 or self.at_begin + self.at_end > 1:
            raise PlumeError(f"OneSpan(at_begin={self.at_begin}, at_end={self.at_end}): two shares of at most 1 in sum.")

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        rows = rows.with_closing() if self.closing else rows
        size = (~rows.special).sum(1, keepdims=True)
        whole = rows.length[:, None] if self.closing else size
        length = np.minimum(np.maximum(np.rint(whole * self.rate).astype(np.int64), 1), size)
        lot = draws.uniform(1)
        anywhere = draws.integers(size - length + 1, 1)
        first = np.where(lot < self.at_begin, 0, np.where(lot < self.at_begin + self.at_end, size - length, anywhere))
        place = np.arange(int(length.max(initial=0)))
        return _of_ordinals(rows, first + place, place < length)


@dataclass(frozen=True, kw_only=True)
class PoissonSpans(TextShare):
    """Spans of words, their lengths from a Poisson distribution, together `rate` of the words (BART §2.2; add_whole_word_mask of fairseq).

    Lengths are drawn until they fill the budget and the last is cut to it; spans begin at different words. Where one runs into the next,
    the two are one, so a little less than the budget is taken. A span of length 0 takes nothing: it is an insertion, anywhere in the text.
    """

    rate: float = 0.3
    mean: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mean <= 60:
            raise PlumeError(f"PoissonSpans(mean={self.mean}): a span holds more than 0 words on average, and at most 60.")

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        ordinary = ~rows.special
        begins = ordinary & (rows.word_start | first_of_runs(ordinary))
        words = begins.sum(1)
        budget = np.ceil(words * self.rate - 1e-9).astype(np.int64)
        length, spans, empty = self._lengths(budget, draws)
        covered, goes_on, first = _cover(words, length, spans, draws)
        word_of = np.maximum(np.cumsum(begins, axis=1) - 1, 0)
        tokens = ordinary & np.take_along_axis(covered, word_of, axis=1)
        begun = begins & np.take_along_axis(first & ~goes_on, word_of, axis=1)
        start = tokens & (begun | first_of_runs(tokens))
        return Chosen(tokens=tokens, start=start, inserted=_insertions(rows, ~tokens | start, empty, draws))

    def _lengths(self, budget: Ids, draws: Draws) -> tuple[Ids, Ids, Ids]:
        """[B, N] the lengths of the spans that take words, [B] how many they are, and how many more are empty."""
        # So many draws that they fill the budget but with a probability far below 1e-20, and in one call: a second would shift other rows' streams.
        count = math.ceil(2 * int(budget.max(initial=0)) / self.mean) + math.ceil(64 / min(self.mean, 1.0))
        length = np.searchsorted(poisson(self.mean), draws.uniform(count), side="right").astype(np.int64)
        before = np.cumsum(length, axis=1) - length
        length = np.minimum(length, np.maximum(budget[:, None] - before, 0))
        drawn = before < budget[:, None]
        packed, spans = pack(length, drawn & (length > 0), pad=0)
        return packed, spans, (drawn & (length == 0)).sum(1)


def poisson(mean: float) -> NDArray[np.float64]:
    """The cumulative distribution over 0, 1, 2 …, cut where a length is rarer than one in ten million (as fairseq cuts it)."""
    share = [math.exp(-mean)]
    while len(share) < mean or share[-1] >= 1e-7:
        share.append(share[-1] * mean / len(share))
    return np.asarray(np.cumsum(share) / sum(share))


def _cover(words: Ids, length: Ids, spans: Ids, draws: Draws) -> tuple[Flags, Flags, Flags]:
    """[B, W + 1] words inside spans that begin at different, evenly drawn words; words at which a span goes on; words at which one begins."""
    width = int(words.max(initial=0))
    key = np.where(np.arange(width) < words[:, None], draws.uniform(width), 2.0)
    begin = np.argsort(key, axis=1)[:, : length.shape[1]]
    row, turn = np.nonzero(np.arange(begin.shape[1]) < spans[:, None])
    begin, end = begin[row, turn], np.minimum(begin[row, turn] + length[row, turn], width)
    change = np.zeros((len(words), width + 1), np.int64)
    np.add.at(change, (row, begin), 1)
    first = change > 0
    np.add.at(change, (row, end), -1)
    covered = np.cumsum(change, axis=1)
    return covered > 0, covered > first, first


def _insertions(rows: Rows, seen: Flags, count: Ids, draws: Draws) -> Ids:
    """[B, T] `count` masks spread so that every arrangement among the tokens that remain is as likely, never outside the special tokens.

    As add_insertion_noise draws them: of the longer row's places choose `count`; the tokens fill the others.
    """
    place = np.arange(rows.tokens.shape[1])
    first, end = text_bounds(rows)
    closed = (end < rows.length[:, None]).astype(np.int64)  # a special token follows, before which a mask may stand
    gap = (place >= first) & (place < end + closed) & (seen | rows.special)
    places, gaps = pack(np.broadcast_to(place, gap.shape), gap, pad=0)
    slots = gaps + count - closed[:, 0]
    room = int(slots.max(initial=0))
    masks = lowest(draws.uniform(room), count, slots)
    tokens_before = np.cumsum(~masks, axis=1)
    row, slot = np.nonzero(masks)
    inserted = np.zeros(rows.tokens.shape, np.int64)
    before = np.minimum(tokens_before[row, slot], gaps[row] - 1)
    np.add.at(inserted, (row, places[row, before]), 1)
    return inserted
