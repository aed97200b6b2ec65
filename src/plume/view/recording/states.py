"""The states of stretches of text, at every layer: of a word that occurs, of a phrase that is labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from plume.model.use.abilities import Said
from plume.model.use.language_model import LanguageModel
from plume.model.use.text_batches import TextBatches

Floats = NDArray[np.float32]
_ROWS = 32  # at once: all layers of all their tokens are held


@dataclass(frozen=True, kw_only=True)
class Stretches:
    """Of N stretches that a model could read whole: their states, a layer after the other, 0 the embedding."""

    kept: NDArray[np.int64]  # [N] which ones of those that were asked for
    mean: list[Floats]  # [N, D] of all their tokens
    first: list[Floats]  # [N, D]
    last: list[Floats]  # [N, D]


@torch.inference_mode()
def stretches(model: LanguageModel, texts: Sequence[str], places: Sequence[tuple[int, int, int]], *, language: Said = None) -> Stretches:
    """`places` say which text, and from which character to which. Those that the model does not read, or has no token for, are left out."""
    read = TextBatches(model.abilities, texts, [language] * len(texts))
    before, after = _specials(model)
    pieces = model.tokenizer.encode_pieces(texts)
    asked: dict[int, list[int]] = {}
    columns: dict[int, NDArray[np.int64]] = {}
    for number, (text, start, end) in enumerate(places):
        there = np.flatnonzero((pieces[text].end > start) & (pieces[text].start < end)) + before
        if len(there) and there[-1] < len(read.framed[text].tokens) - after:
            asked.setdefault(text, []).append(number)
            columns[number] = there
    kept = np.array(sorted(columns), np.int64)
    slot = {number: place for place, number in enumerate(kept.tolist())}
    found: list[list[Floats]] = []
    for rows, made in read.batches(rows=_ROWS):
        layers = [layer.float().cpu().numpy() for layer in model.model.encode(made, keep_layers=True).layers]
        found = found or [[np.zeros((len(kept), layer.shape[-1]), np.float32) for _ in range(3)] for layer in layers]
        for place, row in enumerate(rows.tolist()):
            for number in asked.get(row, ()):
                for (mean, first, last), layer in zip(found, layers, strict=True):
                    own = layer[place, columns[number]]
                    mean[slot[number]], first[slot[number]], last[slot[number]] = own.mean(0), own[0], own[-1]
    return Stretches(kept=kept, mean=[one[0] for one in found], first=[one[1] for one in found], last=[one[2] for one in found])


def _specials(model: LanguageModel) -> tuple[int, int]:
    """How many tokens a family puts before a text, and behind it."""
    mark = -1
    framed = model.abilities.frame([mark])
    return framed.index(mark), len(framed) - 1 - framed.index(mark)
