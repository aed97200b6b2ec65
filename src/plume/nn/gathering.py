"""The vectors of all processes, so that each loss sees the whole batch.

A process holds the others' vectors as numbers and its own with their gradient, and takes the loss of the whole batch. Its gradient is then that
of all rows with respect to its own, and the sum over processes that of one process with the whole batch. Nothing is exchanged backward.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor


def joined(parts: Sequence[Tensor], *, dim: int) -> Tensor:
    """In the order of one process: of several each took every n-th row.

    >>> joined([torch.tensor([0, 2]), torch.tensor([1, 3])], dim=0).tolist()
    [0, 1, 2, 3]
    """
    return torch.stack(list(parts), dim=dim + 1).flatten(dim, dim + 1)


def everyones(own: Tensor, *, dim: int) -> Tensor:
    """This process's rows among all others'; as many as it has itself."""
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return own
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own.detach().contiguous())
    parts[dist.get_rank()] = own
    return joined(parts, dim=dim)


def shared(whole: Tensor, *, own: int, rows: int) -> Tensor:
    """A loss of all rows as a process gives it to the loop: with the value of its own share, as the loop adds up, and the gradient of all."""
    return whole - whole.detach() * (1 - own / rows)
