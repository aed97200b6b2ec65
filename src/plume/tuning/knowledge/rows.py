"""Situations as rows of tokens: a question beside each way on, and what is counted of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.readers.example import Example
from plume.text.pieces import bounds
from plume.tuning.kinds.labelling import lay_out_texts
from plume.tuning.knowledge.opened import OpenedKB
from plume.tuning.knowledge.situations import Situation, asked_text, counts_of, crossings_of
from plume.tuning.rows.questions import ChoiceQuestions
from plume.tuning.rows.rows import Array, Coder


@dataclass(frozen=True, kw_only=True)
class MatchQuestions(ChoiceQuestions):
    """Which of a group's rows goes on rightly."""

    counts: NDArray[np.float32]  # [R, counts and crossings]

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        made = super()._asked(batch, index, picked)
        return replace(made, labels={self.name: replace(made.labels[self.name], feature=self.counts[picked])})


def as_rows(name: str, known: OpenedKB, situations: Sequence[Situation], right: Sequence[int] | None, coder: Coder) -> MatchQuestions:
    """A group a situation; `right` are the numbers of the right ways."""
    ways = [(one.question, way) for one in situations for way in one.ways]
    pairs = [Example(texts=(asked_text(question, way.topic), known.said(way.path, ended=way.ended))) for question, way in ways]
    rows, _ = lay_out_texts(pairs, coder)
    return MatchQuestions(
        name=name,
        rows=rows,
        groups=bounds(len(one.ways) for one in situations),
        column=coder.summary(rows),
        value=None if right is None else np.array(right, np.int64),
        counts=np.array(
            [(*counts, *crossings_of(known, *one)) for counts, one in zip(counts_of(known, ways), ways, strict=True)], np.float32
        ),
    )
