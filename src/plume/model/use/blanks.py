"""What a model predicts at some places of its rows from both sides of them, where the mask stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Encoded, Order
from plume.heads.head import HeadModule
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities
from plume.nn.block import pick

Array = NDArray[Any]


def tensor(can: Abilities, array: Array) -> Tensor:
    """Where the model is."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(can.device)


def fills(can: Abilities) -> bool:
    """Can it say what stands at a place from both sides of it?"""
    return can.masked() is not None or can.permuted() is not None


def at_blanks(can: Abilities, tokens: Array, length: Array, read: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
    """[B, M, D] states at places where the mask stands, and the head that reads them. Rows are framed texts, [B] of these languages."""
    kind, batch = _with_blanks(can, tokens, length, read, language)
    if kind.noise.target.streams and batch.query is None:  # a query stream would be asked
        return can.head(kind), pick(can.model.encode(replace(batch, read=None)).last, tensor(can, read))
    return can.head(kind), can.model.token_states(batch).last


def probabilities_at_blanks(can: Abilities, tokens: Array, length: Array, read: Array, language: Array | None = None) -> Tensor:
    """[B, M, V] what may stand at those places; of a model that looks things up, with all that it found."""
    kind, batch = _with_blanks(can, tokens, length, read, language)
    if kind.noise.target.streams:
        head, states = at_blanks(can, tokens, length, read, language)
        return head.logits(states).float().softmax(-1)
    return can.model.token_probabilities(batch, can.token_objective(kind))


def layers_at_blanks(
    can: Abilities, tokens: Array, length: Array, read: Array, language: Array | None = None
) -> tuple[HeadModule, dict[int, Encoded]]:
    """The same for each layer, as if the network ended there."""
    kind, batch = _with_blanks(can, tokens, length, read, language)
    where = tensor(can, read)
    if batch.query is not None:
        return can.head(kind), can.model.token_layers(batch)
    layers = can.model.token_layers(replace(batch, read=None))
    return can.head(kind), {number: replace(one, last=pick(one.last, where)) for number, one in layers.items()}


def _with_blanks(can: Abilities, tokens: Array, length: Array, read: Array, language: Array | None) -> tuple[BatchKind, Batch]:
    row, where = tensor(can, tokens), tensor(can, read)
    size = tensor(can, length) if (length < tokens.shape[1]).any() else None
    batch = Batch(tokens=row, length=size, segment=_segments(can, length, language), read=where)
    if kind := can.masked():  # also MPNet's, without its query stream: the masks stand in the text
        return kind, batch
    kind = can.permuted()
    assert kind is not None, "only called for families that fill"
    # Blanks come last in the order: the text does not look at them, nor they at each other (XLNet).
    rank = (row == can.mask).long()
    return kind, replace(batch, order=Order.RANKED, rank=rank, query=torch.full_like(where, can.mask))


def _segments(can: Abilities, length: Array, language: Array | None) -> Tensor | None:
    """[B, T] of framed texts: their languages, or what the format gives special tokens."""
    told = [None] * len(length) if language is None else language.tolist()
    rows = [can.segments([0] * size, one) for size, one in zip(length.tolist(), told, strict=True)]
    found = [row + [0] * (int(length.max()) - len(row)) for row in rows if row is not None]
    return can.tensor(found) if found else None
