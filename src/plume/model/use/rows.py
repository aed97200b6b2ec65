"""Texts as rows of token ids, one batch for all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from plume.core.batch import Batch

Ids = Sequence[int]


def padded(texts: Sequence[Ids], fill: int, device: torch.device | None = None) -> Tensor:
    """[B, T] with `fill` behind the shorter ones."""
    width = max(map(len, texts))
    return torch.tensor([[*ids, *[fill] * (width - len(ids))] for ids in texts], dtype=torch.long, device=device)


def rows(texts: Sequence[Ids], *, pad: int = 0, device: torch.device | None = None) -> Batch:
    """A batch of these texts, with their lengths where they differ.

    >>> rows([[3, 1], [5]]).tokens.tolist(), rows([[3, 1], [5]]).length.tolist(), rows([[3, 1]]).length
    ([[3, 1], [5, 0]], [2, 1], None)
    """
    length = [len(ids) for ids in texts]
    uneven = min(length) < max(length)
    return Batch(tokens=padded(texts, pad, device), length=torch.tensor(length, device=device) if uneven else None)
