"""How many of a question's words a block has, by BM25 within its text: where a judge starts that has seen no labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plume.tuning.rows.rows import Array

K, B = 1.2, 0.75  # as everyone has them


def word_scores(question: Array, blocks: list[Array]) -> NDArray[np.float64]:
    """[blocks] BM25 of each block, given as token ids, for a question's tokens; how rare a token is, is counted in these blocks.

    >>> int(word_scores(np.array([1, 2]), [np.array([1, 3]), np.array([2, 2]), np.array([4, 4])]).argmax())
    1
    """
    if not blocks:
        return np.zeros(0)
    asked = np.unique(question)
    length = np.array([len(one) for one in blocks])
    owner = np.repeat(np.arange(len(blocks)), length)
    ids = np.concatenate(blocks)
    place = np.minimum(np.searchsorted(asked, ids), max(len(asked) - 1, 0))
    there = asked[place] == ids if len(asked) else np.zeros(len(ids), bool)
    count = np.zeros((len(blocks), max(len(asked), 1)))
    np.add.at(count, (owner[there], place[there]), 1.0)
    having = (count > 0).sum(0)
    rarity = np.log1p((len(blocks) - having + 0.5) / (having + 0.5))
    norm = K * (1 - B + B * length / max(length.mean(), 1.0))
    scores: NDArray[np.float64] = (count * (K + 1) / (count + norm[:, None]) * rarity).sum(1)
    return scores
