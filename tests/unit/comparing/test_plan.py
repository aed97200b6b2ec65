"""The plan counts what will be run, and small budgets are refused by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plume.comparing.entrants.lineup import entrants
from plume.comparing.planning.grid import grid
from plume.comparing.planning.plan import make_plan
from plume.comparing.planning.rehearsal import Look, Rehearsal, refuse_small_budget
from plume.comparing.study import Study, make_study, make_task
from plume.core.errors import PlumeError
from plume.tasks.classification import TASK
from plume.train.budget import Budget, Spent


@pytest.fixture
def study(tmp_path: Path) -> Study:
    (tmp_path / "a.tsv").write_text("text\tlabel\ngood\tyes\nbad\tno\n", encoding="utf-8")
    (tmp_path / "corpus.txt").write_text("One.\n", encoding="utf-8")
    task = make_task(name="topic", train=str(tmp_path / "a.tsv"), scored=str(tmp_path / "a.tsv"))
    return make_study(corpus=[tmp_path / "corpus.txt"], tasks=[task], recipes=["bert", "cove"], budget="100s", seeds=2, tune=["epochs=2"])


LOOK = Look(name="topic", task=TASK, examples=[], train=1000, scored=500, characters=30.0)  # about 10 tokens
STEP = Spent(steps=1, tokens=1000, flops=1e9, seconds=0.1)


def rehearsals() -> list[Rehearsal]:
    return [
        Rehearsal(entrant="bert", step=STEP, parameters=1_000_000, memory=400 * 2**20, tokens={"topic": 10.0}),
        Rehearsal(entrant="cove", cannot={"": "needs pairs"}),
        Rehearsal(entrant="scratch", step=STEP, parameters=1_000_000, memory=300 * 2**20),
        Rehearsal(entrant="fasttext"),
        Rehearsal(entrant="tfidf"),
    ]


def test_time_memory_and_disk(study: Study) -> None:
    found = entrants(study)
    cells = grid(study, found)
    plan = make_plan(study, found, cells, [LOOK], rehearsals(), slots=1)
    # bert: pre-training twice; tuning: 10 tokens × (1,000 × 2 + 500 × 4) examples at 10,000 tokens a second
    assert plan.seconds["pretrain-bert-1"] == pytest.approx(100 + 2)
    assert plan.seconds["tune-bert-0-topic"] == pytest.approx(4 + 3)
    assert plan.seconds["tune-fasttext-0-topic"] == pytest.approx(10 * 4000 / 20_000 + 3)  # 30 characters, not rehearsed
    assert plan.seconds["pretrain-scratch-0"] == pytest.approx(2)
    assert not any("cove" in key for key in plan.seconds) and plan.cells == 2 + 2 + 1 + 1 + 2 + 2 + 2 + 1 + 6 + 2 + 2
    bert = plan.lines[0]
    assert bert.disk == 4_000_000 * (3 * 2 + 4 * 2) and plan.memory == 400 * 2**20 and bert.tokens_per_second == pytest.approx(10_000)
    tokens = make_plan(study, found, cells, [LOOK], rehearsals(), slots=1)
    assert tokens.left() == pytest.approx(sum(line.seconds for line in tokens.lines))
    two = make_plan(study, found, cells, [LOOK], rehearsals(), slots=2)
    assert two.left(["pretrain-bert-1"]) == pytest.approx((plan.left() - 102) / 2) and two.memory == 800 * 2**20


def test_a_budget_that_buys_no_step(study: Study) -> None:
    refuse_small_budget(Budget.parse("1000tokens"), rehearsals())
    for text, needs in (("900tokens", "1,000 tokens"), ("0.05s", "0.1 s"), ("1e8flops", r"1e\+09 FLOPs")):
        with pytest.raises(PlumeError, match=f"buys no step of bert, which takes about {needs}"):
            refuse_small_budget(Budget.parse(text), rehearsals())
