"""Public checkpoints in a study: how they are named, how they are tuned by what that takes, and what they brought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.comparing.entrants.continued import ContinuedEntrant, task_texts
from plume.comparing.entrants.lineup import entrants
from plume.comparing.gains import public_gains
from plume.comparing.planning.grid import grid
from plume.comparing.planning.modes import FEATURES, TuningModes, choose_modes, read_modes
from plume.comparing.planning.plan import make_plan
from plume.comparing.planning.rehearsal import Look, Rehearsal
from plume.comparing.results import Comparison, Control, GainOf, ModelGroup, ModelRecord, Origin, Standing, Verdict
from plume.comparing.study import ContinueOn, Study, make_study, make_task
from plume.comparing.study_file import read_study_file, write_study_file
from plume.core.errors import PlumeError
from plume.model.checkpoint import save_model
from plume.model.recipe import Recipe
from plume.tasks.classification import TASK
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import WordPiece
from plume.train.budget import Spent

Make = Callable[..., Study]


@pytest.fixture
def study(tmp_path: Path) -> Make:
    """A study beside two directories: Hugging Face's `theirs`, and plume's `mine` below `runs`."""
    (tmp_path / "a.tsv").write_text("text\tlabel\ngood\tyes\nbad\tno\ngood\tno\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("text\tlabel\nsecret\tyes\n", encoding="utf-8")
    (tmp_path / "corpus.txt").write_text("One.\n", encoding="utf-8")
    recipe = plume.recipe("bert/tiny")
    assert isinstance(recipe, Recipe)
    for one in ("network.width=16", "network.depth=1", "network.feed_forward=32", "embedding.width=16"):
        recipe = recipe.override(one)
    tokenizer = Tokenizer(WordPiece(vocabulary=60).train(iter(["good and bad"] * 9), format=recipe.format), format=recipe.format)
    save_model(tmp_path / "runs" / "mine", recipe.assembly.build(recipe, vocabulary=tokenizer.size), tokenizer)
    plume.export_hf(tmp_path / "runs" / "mine", out=tmp_path / "theirs")
    task = make_task(name="topic", train=str(tmp_path / "a.tsv"), scored=str(tmp_path / "b.tsv"))

    def made(**others: Any) -> Study:
        usual: dict[str, Any] = {
            "recipes": ["bert"], "models": [f"small={tmp_path}/theirs", f"{tmp_path}/runs/mine"], "continued": ["small"], "budget": "100s",
            "seeds": 2, "tune": ["epochs=2"], "threads": 1,
        }  # fmt: skip
        return make_study(corpus=[tmp_path / "corpus.txt"], tasks=[task], **(usual | others))

    return made


def test_models_enter_as_they_are_and_continued(study: Make) -> None:
    found = {one.name: one for one in entrants(study())}
    assert list(found) == ["bert", "small", "mine", "continue:small", "scratch", "fasttext", "tfidf"]
    assert [one.origin for one in found.values()][1:4] == [Origin.HUGGING_FACE, Origin.DIRECTORY, Origin.CONTINUED]
    going_on = found["continue:small"]
    assert isinstance(going_on, ContinuedEntrant) and going_on.continues == "small" and going_on.cells(1)[-1].needs == ("derive-small-0",)
    again = entrants(study(recipes=["bert", "longer=continue:mine"]))
    assert [one.name for one in again][:2] == ["bert", "longer"] and again[1].continues == "mine"
    assert [one.name for one in entrants(study(recipes=[]))][:3] == ["small", "mine", "continue:small"]


def test_a_study_file_names_them_too(study: Make, tmp_path: Path) -> None:
    asked = study(continue_on="tasks")
    (tmp_path / "study.toml").write_text(written := write_study_file(asked, beside=tmp_path), encoding="utf-8")
    assert 'models = ["small=./theirs", "./runs/mine"]\ncontinue = ["small"]\ncontinue_on = "tasks"' in written
    assert read_study_file(tmp_path / "study.toml") == asked and asked.continue_on is ContinueOn.TASKS
    assert {Path(path).name for path in asked.fingerprint()} == {"corpus.txt", "a.tsv", "b.tsv", "theirs", "mine"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"continued": ["smal"]}, "--models names no 'smal'; did you mean small"),
        ({"continued": ["bert"]}, "--models names no 'bert'"),
        ({"continue_on": "test"}, "on the corpus or the tasks, not on 'test'"),
        ({"models": ["small=nowhere"]}, "There is no model directory at"),
        ({"models": ["bert=theirs", "bert=runs/mine"], "continued": []}, "'bert' is there twice"),
        ({"models": ["bert=theirs"], "continued": []}, "would share a directory"),
        ({"recipes": [], "models": [], "continued": []}, "needs families to compare"),
    ],
)
def test_refusals(study: Make, given: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlumeError, match=said):
        entrants(study(**given))


def test_texts_of_tasks_are_those_of_training_without_answers(study: Make) -> None:
    assert task_texts(study()) == '{"text": "good\\nbad"}\n', "each once, nothing of what is scored"


def test_on_tasks_no_order_of_texts_is_asked_about(study: Make) -> None:
    (going_on,) = [one for one in entrants(study(continue_on="tasks")) if isinstance(one, ContinuedEntrant)]
    assert going_on.objectives == ("masked_lm",) and isinstance(going_on.declared, Recipe)
    cell = going_on.cells(0)[-1]
    command = going_on.command(study(continue_on="tasks"), Path("here"), cell)
    assert "--objective masked_lm" in " ".join(command) and "here/models/continue-small/texts.jsonl" in " ".join(command)
    assert command[:3] == ["plume", "pretrain", "--corpus"], "no recipe: it is the directory's"


LOOK = Look(name="topic", task=TASK, examples=[], train=1000, scored=500, characters=30.0)
STEP = Spent(steps=1, tokens=1000, flops=1e9, seconds=0.1)


def rehearsed(small: float, going_on: float = 0.01) -> list[Rehearsal]:
    """`small` takes so many seconds for an example."""
    return [
        Rehearsal(entrant="bert", step=STEP, answering={"topic": 9.0}),
        Rehearsal(entrant="small", answering={"topic": small}),
        Rehearsal(entrant="mine", answering={"topic": 0.01}),
        Rehearsal(entrant="continue:small", step=replace(STEP, seconds=going_on)),
        Rehearsal(entrant="scratch", step=STEP),
        Rehearsal(entrant="fasttext"),
        Rehearsal(entrant="tfidf"),
    ]


def test_what_takes_too_long_is_frozen_and_what_still_does_is_left_out(study: Make, tmp_path: Path) -> None:
    asked = study()
    found = entrants(asked)

    def chosen(*seconds: float) -> TuningModes:
        return choose_modes(asked, found, [LOOK], rehearsed(*seconds))

    # 1,000 examples twice, three passes each, and 1,500 to measure: 7,500 passes; frozen 2,500. Ten minutes are within reason.
    assert chosen(600 / 7500) == TuningModes()
    assert chosen(601 / 7500).mode == {"small": FEATURES} and chosen(600 / 2500).left_out == {}
    slow = chosen(601 / 2500)
    assert slow.mode == {"small": FEATURES} and "frozen features alone it would take about 10m" in slow.left_out["small"]["topic"]
    assert chosen(0.01, 30.0).mode == {"continue:small": FEATURES}, "by its own steps, where it makes some"

    slow.save(tmp_path)
    assert read_modes(tmp_path) == slow and read_modes(tmp_path / "elsewhere") is None
    small = slow.applied(found)[1]
    assert small.tuning() == {"mode": "features"} and slow.told(rehearsed(1.0))[1].cannot == slow.left_out["small"]
    frozen = chosen(601 / 7500).applied(found)
    plan = make_plan(asked, frozen, grid(asked, frozen), [LOOK], rehearsed(0.1), slots=1)
    assert plan.lines[1].mode == FEATURES and plan.lines[1].tuning == pytest.approx(250 + 3)


def test_a_larger_budget_reaches_further(study: Make) -> None:
    asked = study(budget="400s")
    assert choose_modes(asked, entrants(asked), [LOOK], rehearsed(1199 / 7500)) == TuningModes()
    limited = study(tune=["budget=20s"])
    assert choose_modes(limited, entrants(limited), [LOOK], rehearsed(99.0)) == TuningModes(), "the user has set a limit"


def record(name: str, **others: Any) -> ModelRecord:
    return ModelRecord(name=name, family="bert", size="tiny", title="", paper="", **others)


MODELS = [
    record("bert"), record("gpt2"), record("minilm", origin=Origin.HUGGING_FACE),
    record("continue:minilm", origin=Origin.CONTINUED, continues="minilm"), record("soup", origin=Origin.DERIVED),
    record("fasttext", control=Control.STATIC),
]  # fmt: skip


def standing(model: str, quality: float, **others: Any) -> Standing:
    usual: dict[str, Any] = {"per_second": 100.0, "disk": 7, "complete": True}
    return Standing(model=model, quality=quality, low=None, high=None, seconds=1.0, pareto=False, **(usual | others))


STANDINGS = [
    standing("continue:minilm", 0.9, per_second=50.0), standing("fasttext", 0.87), standing("minilm", 0.85, disk=9), standing("gpt2", 0.7),
    standing("bert", 0.6),
]  # fmt: skip


def compared(first: str, second: str, difference: float, verdict: Verdict) -> Comparison:
    ends = {"low": difference - 0.01, "high": difference + 0.02}
    return Comparison(task="topic", first=first, second=second, difference=difference, p=0.5, verdict=verdict, seeds=2, **ends)


def test_groups() -> None:
    assert [one.group for one in MODELS] == [
        ModelGroup.NOTHING, ModelGroup.NOTHING, ModelGroup.PUBLIC, ModelGroup.CONTINUED, ModelGroup.DERIVED, ModelGroup.CONTROL
    ]  # fmt: skip


def test_what_the_corpus_and_what_the_checkpoint_added() -> None:
    comparisons = [
        compared("minilm", "continue:minilm", -0.05, Verdict.SECOND), compared("gpt2", "continue:minilm", -0.2, Verdict.SECOND),
        compared("bert", "minilm", -0.25, Verdict.SECOND),
    ]  # fmt: skip
    corpus, checkpoint = public_gains(MODELS, STANDINGS, comparisons)
    assert (corpus.of, corpus.model, corpus.against) == (GainOf.CORPUS, "continue:minilm", "minilm")
    (topic,) = corpus.tasks
    assert topic.difference == 0.05 and (topic.low, topic.high) == pytest.approx((0.03, 0.06)) and topic.verdict is Verdict.FIRST
    assert corpus.quality == pytest.approx(0.05) and (corpus.per_second, corpus.against_per_second) == (50.0, 100.0)
    assert (corpus.disk, corpus.against_disk) == (7, 9)
    assert (checkpoint.of, checkpoint.model, checkpoint.against) == (GainOf.CHECKPOINT, "continue:minilm", "gpt2")
    assert checkpoint.tasks[0].difference == 0.2


def test_nothing_is_said_of_what_was_not_scored() -> None:
    assert public_gains(MODELS[:2], STANDINGS[3:], []) == ()
    alone = public_gains(MODELS, STANDINGS[:1] + STANDINGS[4:], [compared("continue:minilm", "bert", 0.3, Verdict.SAME)])
    assert [one.of for one in alone] == [GainOf.CHECKPOINT] and alone[0].tasks[0].verdict is Verdict.SAME
    partly = [standing("minilm", 0.9, complete=False), standing("bert", 0.6)]
    (one,) = public_gains(MODELS, partly, [compared("minilm", "bert", 0.3, Verdict.FIRST)])
    assert one.quality is None
