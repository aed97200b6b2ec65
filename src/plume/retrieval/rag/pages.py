"""What the writer reads: a question and a passage as a pair, in rows of its own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plume.core.batch import Batch, Target
from plume.tuning.rows.questions import Questions
from plume.tuning.rows.rows import Array, Coder, TextRows, shortened, whole
from plume.tuning.rows.written_rows import Pairs
from plume.tuning.writing.ways import ByDecoder

RAG = "rag"  # the loss, by name


class Pages:
    """Questions and passages as tokens, from which a row of both is laid out for any two of them."""

    def __init__(self, coder: Coder, questions: Sequence[str], passages: Sequence[str]) -> None:
        self.coder = coder
        self.asked, self.told = (whole(coder.cut(list(texts))) for texts in (questions, passages))
        self.asked = shortened(self.asked, max(coder.room(2) // 2, 1))

    def rows(self, questions: Array, passages: Array) -> TextRows:
        """A row for each pair of numbers; of a long passage its beginning."""
        asked = self.asked.of(questions)
        told = shortened(self.told.of(passages), self.coder.room(2) - (asked.end - asked.begin))
        return self.coder.lay_out(asked, told)

    def alone(self, questions: Array) -> TextRows:
        """Questions by themselves: what the writer knows without a passage."""
        return self.coder.lay_out(shortened(self.asked.of(questions), self.coder.room(1)))


def pairs_of(rows: TextRows, targets: TextRows, written: Array) -> Pairs:
    """All of these rows, each with the target of that number."""
    every = np.arange(len(rows))
    return Pairs(
        read=rows.padded(rows.tokens, every, rows.pad), length=rows.length, written=targets.padded(targets.tokens, written, rows.pad),
        size=targets.length[written], pad=rows.pad,
    )  # fmt: skip


def decoder_batch(rows: TextRows, targets: TextRows, written: Array, way: ByDecoder) -> tuple[Batch, Pairs]:
    """For the network, without anything asked; and what is written in it."""
    pairs = pairs_of(rows, targets, written)
    return replace(way.batch(pairs, RAG), labels={}), pairs


@dataclass(frozen=True, kw_only=True)
class RagQuestions(Questions):
    """Questions as what finds reads them. Which passages the writer reads beside them is known only when they are found."""

    size: Array  # [G] tokens of each answer

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        return replace(batch, labels={RAG: Target(index=index, value=self.size[index])})
