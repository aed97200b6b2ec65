"""What matters where nobody says so: a block without which the reader's loss rises (CogLTX §2.3, unsupervised)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plume.tuning.long_texts.buffers import Buffers, JudgedQuestions
from plume.tuning.rows.rows import Array

UP, DOWN = 0.2, -0.05  # by so much the loss rises without a block that matters, or falls short of it: one vote for it, or against it


def span_losses(table: NDArray[np.float32], questions: JudgedQuestions) -> NDArray[np.float64]:
    """[R] the reader's loss on each row."""
    assert questions.value is not None
    every = np.arange(len(questions.rows))
    losses = np.zeros(len(every))
    for side in (0, 1):
        flat = table[:, side].astype(np.float64)
        most = np.maximum.reduceat(flat, questions.rows.bounds[:-1])
        total = np.add.reduceat(np.exp(flat - np.repeat(most, questions.rows.length)), questions.rows.bounds[:-1])
        losses += np.log(total) + most - flat[questions.rows.bounds[:-1] + questions.value[:, side]]
    return losses / 2


def each_hidden(buffers: Buffers) -> tuple[Buffers, Array, Array]:
    """Every row once for each of its blocks; with the row that it is, and which block it is to hide."""
    count = np.diff(buffers.bounds)
    row = np.repeat(np.arange(len(count)), count)
    rows = [(int(buffers.owner[one]), buffers.block[buffers.bounds[one] : buffers.bounds[one + 1]].tolist()) for one in row.tolist()]
    return Buffers.of(rows), row, buffers.block


def votes(change: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each block that was hidden: +1, -1 or nothing.

    >>> votes(np.array([0.3, 0.0, -0.2])).tolist()
    [1.0, 0.0, -1.0]
    """
    return (change > UP).astype(np.float64) - (change <= DOWN)


def voted(state: NDArray[np.float64], pooled: Sequence[dict[int, int]], owner: Array, block: Array, vote: NDArray[np.float64]) -> NDArray:
    """The state of each pooled block after the votes; `pooled` says of each question which place a block has in it."""
    found = state.copy()
    for number, one, change in zip(owner.tolist(), block.tolist(), vote.tolist(), strict=True):
        place = pooled[number].get(one)
        if place is not None:
            found[place] = np.clip(found[place] + change, -3, 3)
    return found
