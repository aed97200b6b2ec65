"""Held-out loss: the same rows and the same masks every time, so that two measurements can be compared."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from plume.core.batch import Batch
from plume.data.loader import Cursor, Reader
from plume.model.model import Model
from plume.train.distributed import Processes

_STEPS = 16  # batches at most: enough for a stable figure, cheap beside a tenth of the run


def to_device(batch: Batch, device: torch.device) -> Batch:
    return batch.map(lambda array: torch.from_numpy(np.ascontiguousarray(array)).to(device))


@torch.no_grad()
def evaluate(
    model: Model, reader: Reader, *, wrapped: nn.Module | None = None, device: torch.device, processes: Processes
) -> dict[str, float]:
    """Mean loss and accuracy of each objective; for two classes also the loss of guessing by their shares.

    The reader's seed fixes the masks; a generator's samples are fixed too."""
    _, batches = reader.plan(0)
    names = [objective.name for objective in model.recipe.objectives]
    sums = dict.fromkeys([f"{name}{part}" for name in names for part in ("", "/count", "/correct", "/positive")], 0.0)
    was_training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        # Rows are dealt out, not batches: every process then runs as many passes, which sharded parameters need.
        for step in range(min(len(batches), _STEPS)):
            share = slice(processes.rank, None, processes.size)
            _, losses = (wrapped or model)(to_device(reader.batch(Cursor(step=step), share), device), {})
            for name, loss in losses.items():
                sums[name] += float(loss.total)
                sums[f"{name}/count"] += float(loss.count)
                sums[f"{name}/correct"] += float(loss.correct) if loss.correct is not None else 0.0
                sums[f"{name}/positive"] += float(loss.positive) if loss.positive is not None else 0.0
    model.train(was_training)
    summed = dict(zip(sums, processes.sum(list(sums.values())), strict=True))
    result = {}
    for name in names:
        if count := summed[f"{name}/count"]:
            result[name] = summed[name] / count
            result[f"{name}/accuracy"] = summed[f"{name}/correct"] / count
            if 0 < summed[f"{name}/positive"] < count:
                result[f"{name}/guessing"] = _entropy(summed[f"{name}/positive"] / count)
    return result


def _entropy(share: float) -> float:
    """In nats, of two classes: the loss of guessing by their shares."""
    return -share * math.log(share) - (1 - share) * math.log(1 - share)
