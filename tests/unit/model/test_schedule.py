"""Schedules against transformers' own, at every step of a budget in steps."""

from __future__ import annotations

import pytest
import torch
import transformers

from plume.core.errors import PlumeError
from plume.model.schedule import Constant, Cosine, CosineRestarts, InverseSquareRoot, Linear, Polynomial, Schedule
from plume.train.budget import Budget, Spent

STEPS, WARM = 40, 7
WARMUP = WARM / STEPS


@pytest.mark.parametrize(
    ("schedule", "name", "options"),
    [
        (Constant(), "constant", {}),
        (Constant(warmup=WARMUP), "constant_with_warmup", {}),
        (Linear(warmup=WARMUP), "linear", {}),
        (Linear(), "linear", {}),
        (Cosine(warmup=WARMUP), "cosine", {}),
        (CosineRestarts(warmup=WARMUP, cycles=3), "cosine_with_restarts", {"num_cycles": 3}),
        (CosineRestarts(cycles=1), "cosine_with_restarts", {"num_cycles": 1}),
        (Polynomial(warmup=WARMUP, power=2.0, end=0.01), "polynomial", {"power": 2.0, "lr_end": 0.01}),
        (Polynomial(warmup=WARMUP, power=1.0), "polynomial", {"power": 1.0, "lr_end": 0.0}),
        (InverseSquareRoot(warmup=WARMUP), "inverse_sqrt", {}),
    ],
)
def test_factors_are_those_of_transformers(schedule: Schedule, name: str, options: dict[str, float]) -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = transformers.get_scheduler(
        name,
        optimizer,
        num_warmup_steps=WARM if schedule.warmup else 0,
        num_training_steps=STEPS,
        scheduler_specific_kwargs=options or None,
    )
    budget = Budget.parse(f"{STEPS}steps")
    for step in range(STEPS + 1):
        ours = schedule.factor(budget.progress(Spent(steps=step)))
        assert ours == pytest.approx(theirs.get_last_lr()[0], abs=1e-12), f"step {step}"
        optimizer.step()
        theirs.step()


@pytest.mark.parametrize("warmup", [-0.1, 1.0, 2.0])
def test_a_warm_up_is_a_share_of_the_run(warmup: float) -> None:
    with pytest.raises(PlumeError, match="not a share of the run"):
        Linear(warmup=warmup)


def test_the_inverse_square_root_is_that_of_the_paper() -> None:
    """arXiv:1706.03762, equation 3: width^-0.5 · min(step^-0.5, step · warm-up^-1.5), over 100,000 steps of which 4,000 warm up."""
    schedule = InverseSquareRoot(warmup=0.04)
    peak = 512**-0.5 * 4000**-0.5
    for step in (1, 400, 3999, 4000, 4001, 16_000, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert peak * schedule.factor(step / 100_000) == pytest.approx(expected, rel=1e-12), step
    with pytest.raises(PlumeError, match="units of its warm-up"):
        InverseSquareRoot(warmup=0.0)
