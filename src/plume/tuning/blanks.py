"""Rows in which a stretch of text varies between tokens that do not, and what a model predicts at some of their places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.abilities import Abilities
from plume.model.language_model import LanguageModel
from plume.static.model import WordModel
from plume.tuning.rows import Array
from plume.tuning.tuned import TunedModel

LONGEST = 512  # tokens of a row, where a family's positions set no bound
_TOKENS, _ROWS = 8192, 128  # of a batch, at most


def language_model(model: object, what: str) -> LanguageModel:
    """What predicts tokens: the model itself, or what lies below the heads of a tuned one."""
    if isinstance(model, TunedModel):
        return model.body
    if isinstance(model, LanguageModel):
        return model
    advice = (
        "measure word vectors with plume eval --similarity or --analogy" if isinstance(model, WordModel) else "load one with plume.load"
    )
    raise PlumeError(f"{what} needs a model that predicts tokens, not a {type(model).__name__}: {advice}.")


def wrapped(ids: Array, begin: Array, end: Array, *, before: Array, after: Array, pad: int) -> tuple[Array, Array]:
    """[B, T] rows of `before`, a stretch of `ids`, `after`; and [B] how long they are."""
    size = end - begin
    length = len(before) + size + len(after)
    place = np.arange(int(length.max())) - len(before)
    inside = (place >= 0) & (place < size[:, None])
    source = np.append(ids, pad)[np.clip(begin[:, None] + place, 0, len(ids))]
    tokens = np.where(inside, source, pad)
    tokens[:, : len(before)] = before
    np.put_along_axis(tokens, (length - len(after))[:, None] + np.arange(len(after)), after[None].repeat(len(tokens), 0), 1)
    return tokens, length


def batches_by_length(size: Array, extra: int) -> Iterator[Array]:
    """Rows of like length together, as many as fit a batch; each holds `extra` tokens besides."""
    order = np.argsort(size, kind="stable")
    first = 0
    while first < len(order):
        widths = size[order[first : first + _ROWS]] + extra
        count = max(1, int((widths * np.arange(1, len(widths) + 1) <= _TOKENS).sum()))
        yield order[first : first + count]
        first += count


def rows_for(width: int) -> int:
    """How many rows of one width make a batch."""
    return max(1, min(_ROWS, _TOKENS // width))


def tensor(can: Abilities, array: Array) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(can.device)


def fills(can: Abilities) -> bool:
    """Can it say what stands at a place from both sides of it?"""
    return can.masked() is not None or can.permuted() is not None


def at_blanks(can: Abilities, tokens: Array, length: Array, read: Array) -> tuple[HeadModule, Tensor]:
    """[B, M, D] states at places where the mask stands, and the head that reads them."""
    row, where = tensor(can, tokens), tensor(can, read)
    size = tensor(can, length) if (length < tokens.shape[1]).any() else None
    if kind := can.masked():
        if kind.noise.target.streams:  # MPNet: no query stream, the masks stand in the text
            states = can.model.encode(Batch(tokens=row, length=size)).last
            return can.head(kind), states.gather(1, where[:, :, None].expand(-1, -1, states.shape[2]))
        return can.head(kind), can.model.token_states(Batch(tokens=row, length=size, read=where)).last
    kind = can.permuted()
    assert kind is not None, "only called for families that fill"
    # Blanks come last in the order: the text does not look at them, nor they at each other (XLNet).
    rank = (row == can.mask).long()
    query = torch.full_like(where, can.mask)
    batch = Batch(tokens=row, length=size, order=Order.RANKED, rank=rank, read=where, query=query)
    return can.head(kind), can.model.encode(batch).last


def left_to_right(can: Abilities, tokens: Array, length: Array, read: Array) -> tuple[HeadModule, Tensor]:
    """[B, M, D] states from which a causal model predicts what comes after those places."""
    kind = can.causal()
    assert kind is not None, "only called for families that read left to right"
    size = tensor(can, length) if (length < tokens.shape[1]).any() else None
    batch = Batch(tokens=tensor(can, tokens), length=size, order=Order.CAUSAL, read=tensor(can, read))
    return can.head(kind), can.model.encode(batch).last
