"""How fast this machine trains, and what that buys: a few measured steps, then arithmetic."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from plume.core.batch import Batch, Target
from plume.core.part import replace
from plume.recipes import _catalog as catalog
from plume.train.allocator import keep_freed_memory
from plume.train.budget import Budget
from plume.train.device import to_device
from plume.train.optimizer import make_optimizer

SIZES = ("tiny", "mini", "small", "base")
_MEASURED = ("tiny", "mini", "small")  # the larger are worked out from the FLOP/s of the last
_TOKENS_A_PARAMETER = 20  # below this a smaller model gets further (arXiv:2203.15556, for the parameters outside the embeddings)
_MANY_PASSES = 40  # over the same text: beyond this more time brings little (arXiv:2305.16264)


@dataclass(frozen=True, kw_only=True)
class TrainingSpeed:
    """How fast a size trains on this machine."""

    size: str
    parameters: int  # outside the embeddings
    tokens_a_second: float


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A budget with the size that suits it."""

    budget: str
    size: str
    tokens: float
    passes: float
    enough_text: bool


def measure_speeds(*, family: str = "bert", seconds: float = 1.0) -> list[TrainingSpeed]:
    """Tokens/s of each size on this machine; `seconds` of steps for each size that is measured."""
    keep_freed_memory()
    speeds: list[TrainingSpeed] = []
    flops_a_second = 0.0
    for size in SIZES:
        recipe = catalog.recipe(f"{family}/{size}")
        recipe = replace(recipe, training=replace(recipe.training, length=128, batch=32))
        with torch.device("meta"):
            shape = recipe.assembly.build(recipe, vocabulary=8000)
        parameters = sum(value.numel() for name, value in shape.named_parameters() if not name.startswith("embedding."))
        batch = _batch(recipe.training.batch, recipe.training.length)
        if size in _MEASURED:
            step_seconds = _step_seconds(recipe.assembly.build(recipe, vocabulary=8000), batch, seconds)
            flops_a_second = shape.flops(batch) / step_seconds
        else:
            step_seconds = shape.flops(batch) / flops_a_second
        speeds.append(TrainingSpeed(size=size, parameters=parameters, tokens_a_second=batch.tokens.size / step_seconds))
    return speeds


def _batch(rows: int, length: int) -> Batch:
    generator = np.random.default_rng(0)
    tokens = generator.integers(5, 8000, (rows, length))
    read = np.sort(np.argsort(generator.random((rows, length)), axis=1)[:, : length // 7], axis=1)
    index = (read + np.arange(rows)[:, None] * length).ravel()
    target = Target(index=index, value=tokens.ravel()[index], slot=np.arange(len(index)))
    return Batch(tokens=tokens, read=read, labels={"masked_lm": target})


def _step_seconds(model, batch: Batch, seconds: float) -> float:  # type: ignore[no-untyped-def]
    model.initialise(0)
    optimizer = make_optimizer(model, model.recipe.training)
    moved = to_device(batch, torch.device("cpu"))
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        started = time.perf_counter()
        loss, _ = model(moved, {"masked_lm": torch.tensor(1.0 / len(batch.labels["masked_lm"].value))})
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))


def advise(speeds: list[TrainingSpeed], *, corpus_tokens: int, budgets: tuple[str, ...] = ("10m", "1h", "8h", "3d")) -> list[Advice]:
    """For each budget the largest size that still sees enough tokens."""
    found = []
    for budget in budgets:
        seconds = Budget.parse(budget).amount
        fitting = [speed for speed in speeds if speed.tokens_a_second * seconds >= _TOKENS_A_PARAMETER * speed.parameters]
        chosen = fitting[-1] if fitting else speeds[0]
        tokens = chosen.tokens_a_second * seconds
        passes = tokens / max(corpus_tokens, 1)
        found.append(Advice(budget=budget, size=chosen.size, tokens=tokens, passes=passes, enough_text=passes <= _MANY_PASSES))
    return found
