"""Several processes under torchrun, or one. The rest of the loop asks here and need not know which."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.trainable import Trainable
from plume.nn.stack import Sharing, Stack
from plume.recipes import _catalog as catalog


class Processes:
    """Rank and size of the group; opens it when torchrun started us."""

    def __init__(self, device: torch.device) -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.size = int(os.environ.get("WORLD_SIZE", 1))
        self.device = device
        if self.size > 1 and not dist.is_initialized():
            if device.type == "cuda":
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
            timeout = datetime.timedelta(hours=2)  # the first process may be training a tokenizer meanwhile
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timeout)

    @property
    def first(self) -> bool:
        """The one that writes files and speaks."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """Element by element, over all processes."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device if self.device.type == "cuda" else "cpu")
        dist.all_reduce(tensor)
        return tensor.tolist()

    def wait(self) -> None:
        """Until all have come here."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """At the end of all runs of the process."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def wrap(self, model: Trainable, *, shard: bool = False, some_unused: bool = True) -> nn.Module:
        """DDP, or FSDP where each process keeps a part of the parameters. `some_unused`: a batch may leave out some of them."""
        if self.size == 1:
            return model
        if not shard:
            return DistributedDataParallel(model, gradient_as_bucket_view=True, find_unused_parameters=some_unused)
        if (
            isinstance(model, Model) and model.recipe.sharing is Sharing.NONE
        ):  # a shared block runs many times in one pass and cannot be gathered for each
            stacks = [part for part in model.modules() if isinstance(part, Stack)]
            for block in [block for stack in stacks for block in stack.blocks]:
                fully_shard(block)
        fully_shard(model)
        return model


def reshard(model: nn.Module) -> None:
    """After a pass that only measures, FSDP's outermost parameters are whole, and not those that the optimizer knows: put them back."""
    for part in model.modules():
        if isinstance(part, FSDPModule):
            part.reshard()


def some_unused(recipe: Recipe) -> bool:
    """May a batch leave out some parameters? Where kinds of batch take turns, and where a user has exchanged parts of a family."""
    usual = catalog.parent(recipe)
    if len(recipe.kinds) > 1 or usual is None or type(usual.layout) is not type(recipe.layout):
        return True
    return [objective.name for objective in usual.objectives] != [objective.name for objective in recipe.objectives]


def gathered(carried: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What every process carries, under names that say whose it is; every process must call this."""
    found: dict[str, torch.Tensor] = {}
    size = dist.get_world_size() if dist.is_initialized() else 1
    for name, value in carried.items():
        parts = [value] if size == 1 else [torch.empty_like(value) for _ in range(size)]
        if size > 1:
            dist.all_gather(parts, value.contiguous())
        found |= {f"{rank}.{name}": part for rank, part in enumerate(parts)}
    return found


def own_share(saved: dict[str, torch.Tensor], device: torch.device) -> dict[str, torch.Tensor]:
    """This process's part of what `gathered` wrote."""
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    before = 1 + max(int(name.split(".")[0]) for name in saved)
    if before != size:
        raise PlumeError(f"This run's memory was kept by {before} processes and cannot be dealt out to {size}: resume it with {before}.")
    return {name.partition(".")[2]: value.to(device) for name, value in saved.items() if int(name.split(".")[0]) == rank}


def like(value: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """`value` laid out over the processes as `parameter` is."""
    if isinstance(parameter, DTensor):
        return distribute_tensor(value, parameter.device_mesh, parameter.placements)
    return value.to(parameter.device)
