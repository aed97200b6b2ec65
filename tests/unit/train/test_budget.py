"""Budgets: every form a user may write, and how much of one is spent."""

from __future__ import annotations

import pytest

from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.train.budget import Budget, Spent


@pytest.mark.parametrize(
    ("text", "unit", "amount"),
    [
        ("90s", "seconds", 90),
        ("10m", "seconds", 600),
        ("2h", "seconds", 7200),
        ("1.5h", "seconds", 5400),
        ("1h30m", "seconds", 5400),
        ("1d2h3m4s", "seconds", 93784),
        (" 10 M ", "seconds", 600),
        ("500steps", "steps", 500),
        ("1step", "steps", 1),
        ("500 steps", "steps", 500),
        ("1_000steps", "steps", 1000),
        ("5e6tokens", "tokens", 5e6),
        ("5E+6 Tokens", "tokens", 5e6),
        ("1token", "tokens", 1),
        ("1e14flops", "flops", 1e14),
        ("2.5e14flop", "flops", 2.5e14),
        ("1e3s", "seconds", 1000),
    ],
)
def test_every_form_is_read(text: str, unit: str, amount: float) -> None:
    assert Budget.parse(text) == Budget(unit=unit, amount=amount)


@pytest.mark.parametrize(
    "text", ["", "10", "m", "ten minutes", "10x", "-5m", "1h30", "5e6", "steps", "10mm5", "1e14flopss", "nan steps", "infs"]
)
def test_what_is_no_budget_is_answered_with_examples(text: str) -> None:
    with pytest.raises(PlumeError, match="is not a budget: write 10m, 2h, 500steps"):
        Budget.parse(text)


@pytest.mark.parametrize("text", ["0m", "0steps", "0.5steps", "0.0h0m", "0tokens"])
def test_a_budget_must_buy_something(text: str) -> None:
    with pytest.raises(PlumeError, match="buys nothing"):
        Budget.parse(text)


def test_a_budget_without_end_is_refused() -> None:
    with pytest.raises(PlumeError):
        Budget.parse("1e400tokens")


def test_progress_is_the_share_spent_of_its_own_unit() -> None:
    spent = Spent(steps=5, tokens=200, flops=3e9, seconds=30.0)
    assert [Budget.parse(text).progress(spent) for text in ("10steps", "100tokens", "6e9flops", "2m")] == [0.5, 2.0, 0.5, 0.25]
    assert Budget.parse("10m").progress(Spent()) == 0.0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("90s", "1m30s"),
        ("2h", "2h"),
        ("1d", "24h"),
        ("0.25s", "0.25s"),
        ("500steps", "500 steps"),
        ("5e6tokens", "5,000,000 tokens"),
        ("1e14flops", "1e+14 flops"),
    ],
)
def test_a_budget_is_shown_as_one_would_say_it(text: str, shown: str) -> None:
    budget = Budget.parse(text)
    assert str(budget) == shown
    assert Budget.parse(str(budget)) == budget
    assert part_from_json(budget.to_json()) == budget
