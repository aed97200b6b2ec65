"""Rows in which a stretch of text varies between tokens that do not, and what a model predicts at some of their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel
from plume.tuning.rows.rows import Array
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


def at_blanks(can: Abilities, tokens: Array, length: Array, read: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
    """[B, M, D] states at places where the mask stands, and the head that reads them. Rows are framed texts, [B] of these languages."""
    row, where = tensor(can, tokens), tensor(can, read)
    size = tensor(can, length) if (length < tokens.shape[1]).any() else None
    batch = Batch(tokens=row, length=size, segment=_segments(can, length, language))
    if kind := can.masked():
        if kind.noise.target.streams:  # MPNet: no query stream, the masks stand in the text
            states = can.model.encode(batch).last
            return can.head(kind), states.gather(1, where[:, :, None].expand(-1, -1, states.shape[2]))
        return can.head(kind), can.model.token_states(replace(batch, read=where)).last
    kind = can.permuted()
    assert kind is not None, "only called for families that fill"
    # Blanks come last in the order: the text does not look at them, nor they at each other (XLNet).
    rank = (row == can.mask).long()
    query = torch.full_like(where, can.mask)
    batch = replace(batch, order=Order.RANKED, rank=rank, read=where, query=query)
    return can.head(kind), can.model.encode(batch).last


def _segments(can: Abilities, length: Array, language: Array | None) -> Tensor | None:
    """[B, T] of framed texts: their languages, or what the format gives special tokens."""
    told = [None] * len(length) if language is None else language.tolist()
    rows = [can.segments([0] * size, one) for size, one in zip(length.tolist(), told, strict=True)]
    found = [row + [0] * (int(length.max()) - len(row)) for row in rows if row is not None]
    return can.tensor(found) if found else None


def left_to_right(can: Abilities, tokens: Array, length: Array, read: Array, segment: Array | None = None) -> tuple[HeadModule, Tensor]:
    """[B, M, D] states from which a causal model predicts what comes after those places."""
    kind = can.causal()
    assert kind is not None, "only called for families that read left to right"
    size = tensor(can, length) if (length < tokens.shape[1]).any() else None
    told = None if segment is None else tensor(can, segment)
    batch = Batch(tokens=tensor(can, tokens), length=size, order=Order.CAUSAL, segment=told, read=tensor(can, read))
    return can.head(kind), can.model.encode(batch).last
