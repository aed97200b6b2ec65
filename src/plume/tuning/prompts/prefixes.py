"""Rows that begin alike, as those with the same demonstrations do: what they begin with is read once, and its keys and values are kept."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch, Order
from plume.core.batching import by_length
from plume.heads.head import precise
from plume.model.use.abilities import Abilities
from plume.tuning.prompts.questions import PromptQuestions
from plume.tuning.rows.questions import Floats
from plume.tuning.rows.rows import Array, runs

_NEVER = -1e4  # score of a label that an example does not have


@torch.inference_mode()
def table_by_prefixes(can: Abilities, questions: PromptQuestions) -> Floats:
    """[G, L] what `LabelScores` says of these questions to a model that reads left to right."""
    owner = np.repeat(np.arange(len(questions)), np.diff(questions.groups))
    wide = questions.value.shape[1]
    total, there = np.zeros(len(questions) * wide), np.zeros(len(questions) * wide)
    for rows, prefix in _alike(questions):
        cache = can.model.new_cache()
        can.model.encode(_batch(can, prefix[None], _segments(questions, rows[:1], 0, len(prefix))), cache=cache)
        for index in by_length(questions.rows.length[rows] - len(prefix)):
            picked = rows[index]
            said, readings, place = _said(can, questions, picked, len(prefix), deepcopy(cache))
            cell = owner[place] * wide + readings[:, 2]
            np.add.at(total, cell, said / readings[:, 3])
            np.add.at(there, cell, 1)
    return np.where(there > 0, total, _NEVER).reshape(len(questions), wide).astype(np.float32)


def _alike(questions: PromptQuestions) -> Iterator[tuple[Array, Array]]:
    """Rows that share what is shown before them, and that without its last token: a row may ask what follows it."""
    found: dict[bytes, list[int]] = {}
    assert questions.shared is not None, "only called where something is shown"
    for row, count in enumerate(questions.shared.tolist()):
        found.setdefault(_start(questions, row, count).tobytes(), []).append(row)
    for rows in found.values():
        yield np.array(rows), _start(questions, rows[0], int(questions.shared[rows[0]]))


def _start(questions: PromptQuestions, row: int, count: int) -> Array:
    begin = questions.rows.bounds[row]
    return questions.rows.tokens[begin : begin + max(count - 1, 0)]


def _said(
    can: Abilities, questions: PromptQuestions, picked: Array, prefix: int, cache: list
) -> tuple[NDArray[np.float64], Array, Array]:  # fmt: skip
    """The log-probability of each token that is read off these rows, what it is, and its row."""
    for held in cache:
        held.reorder(torch.zeros(len(picked), dtype=torch.long, device=can.device))
    rows = questions.rows
    tokens = rows.padded(rows.tokens, picked, rows.pad)[:, prefix:]
    encoded = can.model.encode(_batch(can, tokens, _segments(questions, picked, prefix, tokens.shape[1])), cache=cache)
    counts = np.diff(questions.place_bounds)[picked]
    flat = questions.places[runs(questions.place_bounds[picked], counts)] - prefix
    row = np.repeat(np.arange(len(picked)), counts)
    many = np.diff(questions.reading_bounds)[picked]
    readings = questions.readings[runs(questions.reading_bounds[picked], many)]
    first = np.repeat(np.cumsum(counts) - counts, many) + readings[:, 0]
    states = encoded.last[torch.from_numpy(row).to(can.device), torch.from_numpy(flat).to(can.device)]
    said = precise(can.model.head(questions.blank.objective).logits(states)).log_softmax(-1).double().cpu().numpy()
    return said[first, readings[:, 1]], readings, np.repeat(picked, many)


def _segments(questions: PromptQuestions, picked: Array, start: int, wide: int) -> Array | None:
    segment = questions.rows.segment
    return None if segment is None else questions.rows.padded(segment, picked, 0)[:, start : start + wide]


def _batch(can: Abilities, tokens: Array, segment: Array | None) -> Batch:
    told = None if segment is None else torch.from_numpy(segment).to(can.device)
    return Batch(tokens=torch.from_numpy(tokens).to(can.device), order=Order.CAUSAL, segment=told)
