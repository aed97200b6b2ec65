"""The one training loop.

A step is a pure function of (weights, moments, settings, step number): the batch comes from the cursor, and torch's generator is seeded
anew from (seed, step, rank). So a run that is killed and resumed ends with the same bits.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.data.loader import Mixture, Step
from plume.model.recipe import Training
from plume.model.trainable import Trainable, trained_parameters
from plume.nn.stack import Stack
from plume.train.budget import Spent
from plume.train.checkpoint import Position, save_checkpoint
from plume.train.device import Precision, autocast, to_device
from plume.train.distributed import Processes
from plume.train.metrics import MetricsLog
from plume.train.optimizer import set_rate
from plume.train.progress import Progress
from plume.train.settings import RunSettings
from plume.train.signals import watched_signals

_ALL = 2**32 - 1  # in place of a process's number: what all of them draw alike


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended."""

    position: Position
    stopped_by: str | None  # a signal's name, if one ended the run early
    held_out: dict[str, float]  # the last; empty where none of the run's marks was passed


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """What is trained: the stages of the run, and the weight of each loss in each kind of batch."""

    training: Training
    weights: Sequence[Mapping[str, float]]  # by kind of batch, by name of a loss; 1 for those not named
    during: Sequence[tuple[float, float]]  # by kind of batch: its part of the run
    readings: int = 1  # rows that read the same stream stay together: every share of a batch is a multiple of them

    def stages(self) -> list[tuple[float, list[int]]]:
        """Each part of the run: where it ends, and which kinds of batch take turns in it."""
        bounds = sorted({bound for part in self.during for bound in part})
        return [
            (end, [number for number, part in enumerate(self.during) if part[0] <= begin and end <= part[1]])
            for begin, end in itertools.pairwise(bounds)
        ]


class Loop:
    """`measure` takes the held-out figures; `enough` may end the run when they get no better. With `publish` the weights of each checkpoint
    become the run's."""

    def __init__(
        self,
        *,
        settings: RunSettings,
        plan: TrainingPlan,
        model: Trainable,
        wrapped: nn.Module,
        optimizer: torch.optim.Optimizer,
        mixture: Mixture[Any],
        measure: Callable[[Spent], dict[str, float]],
        processes: Processes,
        precision: Precision,
        folder: Path,
        progress: Progress,
        log: MetricsLog | None,
        enough: Callable[[], bool] = lambda: False,
        publish: bool = True,
    ) -> None:
        self.settings, self.plan, self.model, self.optimizer = settings, plan, model, optimizer
        self.mixture, self.folder, self.publish, self._take_measure, self._enough = mixture, folder, publish, measure, enough
        self.processes, self.precision, self.progress, self.log = processes, precision, progress, log
        self.device = processes.device
        self.training = plan.training
        self.wrapped = wrapped
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=precision is Precision.FP16)
        self._last_loss = torch.zeros(())
        self._dropping = [part for part in model.modules() if isinstance(part, Stack) and part.part.layer_drop]
        self._parameters = list(trained_parameters(model).values())
        self._further: dict[str, Any] = {}  # of the last step, what losses say beside themselves

    def run(self, position: Position) -> Outcome:
        """From where the run stands to the end of its budget, measuring and saving on the way."""
        settings, budget = self.settings, self.settings.budget
        saved = position.spent
        held_out: dict[str, float] = {}
        stopping: list[str] = []  # what all processes agree on; a signal to one becomes that with the next exchange
        with watched_signals() as caught:
            for end, active in self.plan.stages():
                steps = self._steps(position, active)
                while budget.progress(position.spent) < end and not stopping and not self._enough():
                    before, began = budget.progress(position.spent), time.perf_counter()
                    position = self._step(next(steps), position, caught, stopping, began=began)
                    after = budget.progress(position.spent)
                    if after >= 1 or passed(before, after, settings.measurements):
                        held_out = self._measure(position.spent)
                    ended = after >= 1 or bool(stopping) or self._enough()
                    if ended or settings.save_every.progress(_since(position.spent, saved)) >= 1:
                        saved = position.spent
                        self._refuse_divergence(position.spent)
                        save_checkpoint(self.folder, self.model, self.optimizer, position, write=self.processes.first, publish=self.publish)
        return Outcome(position=position, stopped_by=stopping[0] if stopping else None, held_out=held_out)

    def _steps(self, position: Position, active: list[int]) -> Iterator[Step]:
        """From where the run stands, among the kinds of this part of it."""
        shares, workers = self._shares(), self.settings.workers
        return self.mixture.steps(position.cursors, step=position.spent.steps, active=active, shares=shares, workers=workers)

    def _shares(self) -> tuple[slice, ...]:
        """Every process takes each n-th row, so that any number of processes and accumulated parts covers the same global batch."""
        accumulate = self.settings.accumulate
        parts = self.processes.size * accumulate
        if self.training.batch % (parts * self.plan.readings):
            raise PlumeError(
                f"A batch of {self.training.batch} rows does not divide over {self.processes.size} processes × {accumulate} parts: "
                f"set training.batch to a multiple of {parts * self.plan.readings}."
            )
        return tuple(slice(self.processes.rank * accumulate + part, None, parts) for part in range(accumulate))

    def _step(self, step: Step, position: Position, caught: list[str], stopping: list[str], *, began: float) -> Position:
        spent = position.spent
        progress = self.settings.budget.progress(spent)
        rate = self.training.peak * self.training.schedule.factor(progress)
        set_rate(self.optimizer, rate, progress)
        self._seed(_step_seed(self.settings.seed, spent.steps, _ALL))
        self.model.before_step(progress)
        for stack in self._dropping:
            stack.drop_layers()
        self._seed(_step_seed(self.settings.seed, spent.steps, self.processes.rank))
        counts, tokens, flops, clock = self._exchange(step.batches, spent, caught, stopping)
        scale = {
            name: torch.tensor(self.plan.weights[step.kind].get(name, 1.0) * self.processes.size / max(n, 1.0), device=self.device)
            for name, n in counts.items()
        }
        sums = self._gradients(step.batches, scale)
        for stack in self._dropping:
            stack.route = None
        self.scaler.unscale_(self.optimizer)
        limit = self.training.clip or float("inf")
        norm = nn.utils.clip_grad_norm_(self._parameters, limit)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.model.after_step(spent.steps + 1)
        # The first process's clock is everyone's: they must agree on when to measure, save and stop.
        seconds = self.processes.sum([clock + time.perf_counter() - began if self.processes.first else 0.0])[0]
        spent = Spent(steps=spent.steps + 1, tokens=spent.tokens + tokens, flops=spent.flops + flops, seconds=seconds)
        self._last_loss = torch.stack(list(sums.values())).sum()
        self._report(spent, counts, sums, rate, norm)
        if self.processes.size == 1 and not stopping:
            stopping += caught[:1]  # alone, there is no one to agree with
        return Position(spent=spent, cursors=step.following)

    def _seed(self, seed: int) -> None:
        """Not torch.manual_seed: on a machine without a GPU that keeps a stack trace of every call, for a GPU that may yet come."""
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def _exchange(
        self, batches: tuple[Batch, ...], spent: Spent, caught: list[str], stopping: list[str]
    ) -> tuple[dict[str, float], int, float, float]:
        """One exchange a step: prediction counts, tokens, FLOPs, the first process's clock, and whether anyone was told to stop."""
        counted = [self.model.counts(batch) for batch in batches]
        names = list(counted[0])
        local = [float(sum(count[name] for count in counted)) for name in names]
        tokens = sum(batch_tokens(batch) for batch in batches)
        flops = float(sum(self.model.flops(batch) for batch in batches))
        clock = spent.seconds if self.processes.first else 0.0
        *counts, tokens_all, flops_all, clock, told = self.processes.sum([*local, tokens, flops, clock, float(bool(caught))])
        if told:
            stopping.append(caught[0] if caught else "another process was told to stop")
        return dict(zip(names, counts, strict=True)), int(tokens_all), flops_all, clock

    def _gradients(self, batches: tuple[Batch, ...], scale: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Accumulate the gradient of all parts; returns each objective's summed loss."""
        sums: dict[str, torch.Tensor] = {}
        self._further = {}
        for number, batch in enumerate(batches):
            last = number == len(batches) - 1
            quiet = isinstance(self.wrapped, DistributedDataParallel) and not last  # gradients are exchanged with the last part
            with self.wrapped.no_sync() if quiet else nullcontext():  # type: ignore[operator]
                with autocast(self.precision, self.device):
                    loss, losses = self.wrapped(to_device(batch, self.device), scale)
                self.scaler.scale(loss).backward()
            for name, part in losses.items():
                sums[name] = sums[name] + part.total.detach() if name in sums else part.total.detach()
                for what, total in part.further.items():
                    self._further[f"{name}/{what}"] = self._further.get(f"{name}/{what}", 0.0) + total.detach()
        return sums

    def _report(self, spent: Spent, counts: dict[str, float], sums: dict[str, torch.Tensor], rate: float, norm: torch.Tensor) -> None:
        if spent.steps % self.settings.log_every and self.settings.budget.progress(spent) < 1:
            return
        self._refuse_divergence(spent)
        totals = self.processes.sum([float(sums[name]) for name in counts])
        losses = {name: total / max(counts[name], 1.0) for name, total in zip(counts, totals, strict=True)}
        beside = list(self._further)
        told = self.processes.sum([float(self._further[name]) for name in beside])
        losses |= {name: total / max(counts[name.partition("/")[0]], 1.0) for name, total in zip(beside, told, strict=True)}
        self.progress.step(spent, losses)
        if self.log is not None:
            self.log.write(
                step=spent.steps, tokens=spent.tokens, flops=spent.flops, seconds=round(spent.seconds, 3), rate=rate,
                gradient_norm=float(norm), **{f"loss/{name}": loss for name, loss in losses.items()},
            )  # fmt: skip

    def _refuse_divergence(self, spent: Spent) -> None:
        """Before anything is reported or saved: weights that have become infinite must not replace good ones."""
        if not math.isfinite(self.processes.sum([float(self._last_loss)])[0]):
            raise PlumeError(
                f"The loss is no longer a number at step {spent.steps}: training has diverged. The last checkpoint is intact. "
                f"Lower the rate, for example {self.settings.lower_rate(self.training.peak / 3)}"
            )

    def _measure(self, spent: Spent) -> dict[str, float]:
        measured = self._take_measure(spent)
        self.progress.measured(spent, measured)
        if self.log is not None:
            self.log.write(step=spent.steps, tokens=spent.tokens, **{f"held_out/{name}": value for name, value in measured.items()})
        return measured


def batch_tokens(batch: Batch) -> int:
    """All that the network reads: the source and what the decoder is shown count alike."""
    own = int(batch.tokens.size if batch.length is None else batch.length.sum())
    return own if batch.source is None else own + batch_tokens(batch.source)


def passed(before: float, after: float, marks: int) -> bool:
    """Is there one of so many equal marks between? It does not depend on where a run was taken up again.

    >>> [passed(step / 30, (step + 1) / 30, 10) for step in range(4)]
    [False, False, True, False]
    """
    return int(after * marks + 1e-9) > int(before * marks + 1e-9)


def _since(spent: Spent, before: Spent) -> Spent:
    return Spent(
        steps=spent.steps - before.steps,
        tokens=spent.tokens - before.tokens,
        flops=spent.flops - before.flops,
        seconds=spent.seconds - before.seconds,
    )


def _step_seed(seed: int, step: int, rank: int) -> int:
    """A seed of its own for every step and process: dropout and samples then need no saved state."""
    return int(np.random.SeedSequence([seed % 2**64, step, rank]).generate_state(1, np.uint64)[0] >> np.uint64(1))
