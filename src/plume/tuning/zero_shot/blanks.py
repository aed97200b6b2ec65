"""Rows in which a stretch of text varies between tokens that do not, and what a model predicts at some of their places."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.batching import ROWS, TOKENS
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import tensor
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel
from plume.tuning.rows.rows import Array
from plume.tuning.tuned import TunedModel

LONGEST = 512  # tokens of a row, where a family's positions set no bound


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


def rows_for(width: int) -> int:
    """How many rows of one width make a batch."""
    return max(1, min(ROWS, TOKENS // width))


def left_to_right(can: Abilities, tokens: Array, length: Array, read: Array, segment: Array | None = None) -> tuple[HeadModule, Tensor]:
    """[B, M, D] states from which a causal model predicts what comes after those places."""
    kind = can.causal()
    assert kind is not None, "only called for families that read left to right"
    size = tensor(can, length) if (length < tokens.shape[1]).any() else None
    told = None if segment is None else tensor(can, segment)
    batch = Batch(tokens=tensor(can, tokens), length=size, order=Order.CAUSAL, segment=told, read=tensor(can, read))
    return can.head(kind), can.model.encode(batch).last
