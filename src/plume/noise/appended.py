"""GLM's target (arXiv:2103.10360 §2.1, §2.2): the blanks, filled in one after another behind the text."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Shown
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select
from plume.noise.target import Aim, TargetRule


@dataclass(frozen=True, kw_only=True)
class AppendedSpans(TargetRule):
    """Part A, the text with one mask for each span, sees itself; part B, the spans in a random order, reads left to right after it.

    A span is fed as [start] and its tokens, and answered by its tokens and [end]. Its tokens' position is that of its mask; `within` counts
    1, 2 … inside the span and is 0 in part A. Every span closes with [end], also one that reaches the row's end.

    The text may be as long as the input should be, as with the authors, although part B makes it longer (by itself and twice the number of
    spans, less what A lost): no position in it goes beyond the text's.
    """

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        if alphabet.start is None or alphabet.end is None:
            raise PlumeError(
                "AppendedSpans begins and ends each span with a token of its own, and this tokenizer names none: give it both."
            )
        kept = (~chosen.tokens | chosen.start) & (np.arange(rows.tokens.shape[1]) < rows.length[:, None])
        mask_place = np.cumsum(kept, axis=1) - 1  # [B, T] where part A shows each token or its span's mask
        if (kept.sum(1) != shown.length).any():
            raise PlumeError("AppendedSpans needs a corruption that leaves one mask for each span.")
        spans = _Spans(chosen, draws)
        length = shown.length + spans.total
        size = (len(rows.tokens), int(length.max()))
        row, token = np.nonzero(chosen.tokens)
        begin = shown.length[row] + spans.begin[row, token]  # of its span in the input: the place of [start]
        inside = spans.inside[row, token]
        last_row, last = np.nonzero(chosen.tokens & spans.last)
        closing = shown.length[last_row] + spans.begin[last_row, last] + spans.inside[last_row, last] + 1  # where [end] is the answer

        def written(first: NDArray[np.int64], rest: int) -> NDArray[np.int64]:
            whole = np.full(size, rest, np.int64)
            width = min(size[1], first.shape[1])
            whole[:, :width] = np.where(np.arange(width) < shown.length[:, None], first[:, :width], rest)
            return whole

        tokens, what = written(shown.tokens, alphabet.pad), np.full(size, alphabet.pad, np.int64)
        tokens[row, begin + inside + 1] = rows.tokens[row, token]
        first_row, first = np.nonzero(chosen.start)
        tokens[first_row, shown.length[first_row] + spans.begin[first_row, first]] = alphabet.start
        what[row, begin + inside] = rows.tokens[row, token]
        what[last_row, closing] = alphabet.end
        place = np.arange(size[1])
        where = (place >= shown.length[:, None]) & (place < length[:, None])
        position = written(np.broadcast_to(place, size), 0)
        within = np.zeros(size, np.int64)
        position[row, begin + inside], within[row, begin + inside] = mask_place[row, token], inside + 1
        position[last_row, closing] = mask_place[last_row, last]
        within[last_row, closing] = spans.inside[last_row, last] + 2
        segment = None
        if rows.segment is not None:
            segment = np.zeros(size, np.int64)
            kept_row, kept_token = np.nonzero(kept)
            segment[kept_row, mask_place[kept_row, kept_token]] = rows.segment[kept_row, kept_token]
            segment[where] = np.take_along_axis(segment, position, axis=1)[where]
        return Aim(
            shown=tokens,
            length=length,
            where=where,
            what=what,
            rank=np.where(where, place - shown.length[:, None] + 1, 0),
            position=position,
            within=within,
            segment=segment,
        )

    def closes(self, select: Select) -> bool:
        """Every span does."""
        return True

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """One answer in each span is its [end], which is a token of its own, and frequent where spans are short.

        >>> from plume.noise.blanks import PoissonBlanks
        >>> from plume.noise.infilling import OneMask
        >>> round(AppendedSpans().trivial_loss(8.0, PoissonBlanks(), OneMask()), 2)
        6.63
        """
        loss = corrupt.trivial_loss(entropy)
        mean = getattr(select, "mean", None)
        if mean is None:  # long spans: hardly any ends
            return loss
        ends = 1 / (mean / -math.expm1(-mean) + 1)  # no span is empty, so that they are a little longer than the mean
        return (1 - ends) * loss - ends * math.log(ends) - (1 - ends) * math.log(1 - ends)


class _Spans:
    """Where each selected token's span begins among the spans in their random order, each with one place for its [start]."""

    def __init__(self, chosen: Chosen, draws: Draws) -> None:
        batch, width = chosen.tokens.shape
        number = np.maximum(np.cumsum(chosen.start, axis=1) - 1, 0)  # [B, T] which span
        count = int(number.max(initial=0)) + 1
        flat = (number + np.arange(batch)[:, None] * count)[chosen.tokens]
        size = np.bincount(flat, minlength=batch * count).reshape(batch, count)
        size = np.where(size > 0, size + 1, 0)
        order = np.argsort(np.where(size > 0, draws.uniform(count), 2.0), axis=1)
        shuffled = np.take_along_axis(size, order, axis=1)
        begin = np.zeros_like(size)
        np.put_along_axis(begin, order, np.cumsum(shuffled, axis=1) - shuffled, axis=1)
        self.total = size.sum(1)
        self.begin = np.take_along_axis(begin, number, axis=1)  # [B, T]
        place = np.arange(width)
        self.inside = place - np.maximum.accumulate(np.where(chosen.start, place, 0), axis=1)
        self.last = np.ones(chosen.tokens.shape, bool)
        self.last[:, :-1] = chosen.start[:, 1:] | ~chosen.tokens[:, 1:]
