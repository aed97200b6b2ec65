"""The word about a stuck loss comes when it is stuck, and only then."""

from __future__ import annotations

import pytest

from plume.train.budget import Budget, Spent
from plume.train.progress import Progress


def said(capsys: pytest.CaptureFixture[str], losses: list[float], *, steps: int = 1000) -> int:
    """How often a run with these held-out losses, measured at even distances, is called stuck; frequencies alone cost 6.0."""
    capsys.readouterr()
    progress = Progress(budget=Budget(unit="steps", amount=steps), entropy=6.5, trivial={"masked_lm": 6.0})
    for number, loss in enumerate(losses, start=1):
        progress.measured(Spent(steps=steps * number // len(losses)), {"masked_lm": loss})
    return capsys.readouterr().err.count("is stuck")


def test_a_loss_that_stays_at_the_frequencies_is_called_stuck_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, [6.4, 6.1, 6.0, 5.99, 5.98, 5.98]) == 1


@pytest.mark.parametrize("losses", [[6.9, 6.7, 6.5, 6.3, 6.1, 5.9], [6.4, 6.0, 5.5, 5.49, 5.49, 5.49], [6.0, 5.9, 5.0, 4.0, 3.0, 2.0]])
def test_a_loss_that_moves_or_is_well_below_is_not(capsys: pytest.CaptureFixture[str], losses: list[float]) -> None:
    assert said(capsys, losses) == 0


def test_a_run_of_a_few_steps_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, [6.4, 6.1, 6.0, 5.99, 5.98, 5.98], steps=60) == 0
