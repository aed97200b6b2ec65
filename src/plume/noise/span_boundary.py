"""The span boundary objective's questions (SpanBERT): a span's tokens from the two tokens around it (arXiv:1907.10529 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plume.core.seeds import Draws
from plume.noise.corrupt import Shown
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen
from plume.noise.target import Aim, InPlace, SecondQuestion


@dataclass(frozen=True, kw_only=True)
class InPlaceWithBoundaries(InPlace):
    """In place, and `ends`: each token by the two boundaries of its span, the positions before and after, and its place inside it (0, 1, 2 …).

    As in the authors' code only the first `longest` tokens of a span are asked for (--max-pair-targets 15; spans that touched may be
    longer), and only of spans with an ordinary token on both sides.
    """

    questions: ClassVar[tuple[str, ...]] = ("ends",)
    longest: int = 15

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        aim = super().__call__(rows, chosen, shown, draws, alphabet)
        width = rows.tokens.shape[1]
        place = np.arange(width)
        first = np.maximum.accumulate(np.where(chosen.start, place, 0), axis=1)
        closed = np.where(chosen.start | ~chosen.tokens, place, width)  # a span ends before the next of these
        after = np.full(rows.tokens.shape, width)
        after[:, :-1] = np.minimum.accumulate(closed[:, :0:-1], axis=1)[:, ::-1]
        ordinary = np.pad(~rows.special, ((0, 0), (1, 1)))  # nothing stands before the row or behind it
        row = np.arange(len(first))[:, None]
        asked = chosen.tokens & (place - first < self.longest) & ordinary[row, first] & ordinary[row, after + 1]
        context = np.stack([first - 1, after], axis=-1)
        ends = SecondQuestion(
            where=asked,
            what=rows.tokens,
            context=np.where(asked[..., None], context, 0),
            feature=np.where(asked, place - first, 0),
        )
        return replace(aim, others=aim.others | {"ends": ends})
