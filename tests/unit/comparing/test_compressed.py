"""Models that are made small in a study: how entries are read, what they are made of, what stands beside them, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plume.comparing.compress_entries import absolute_entry, read_entry, relative_entry
from plume.comparing.entrants.compressed import CompressedEntrant
from plume.comparing.entrants.lineup import entrants
from plume.comparing.gains import small_gains
from plume.comparing.planning.again import cells_again
from plume.comparing.planning.commands import cell_command
from plume.comparing.planning.grid import grid
from plume.comparing.planning.plan import make_plan
from plume.comparing.planning.rehearsal import Look, Rehearsal
from plume.comparing.results import Comparison, Control, GainOf, ModelGroup, ModelRecord, Origin, Standing, Verdict
from plume.comparing.study import Study, make_study, make_task
from plume.comparing.study_file import read_study_file, write_study_file
from plume.core.errors import PlumeError
from plume.tasks.classification import TASK

Make = Callable[..., Study]


@pytest.fixture
def study(tmp_path: Path) -> Make:
    (tmp_path / "a.tsv").write_text("text\tlabel\ngood\tyes\nbad\tno\ngood\tno\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("text\tlabel\nsecret\tyes\n", encoding="utf-8")
    (tmp_path / "corpus.txt").write_text("One.\n", encoding="utf-8")
    task = make_task(name="topic", train=str(tmp_path / "a.tsv"), scored=str(tmp_path / "b.tsv"))

    def made(*compress: str, **others: Any) -> Study:
        usual: dict[str, Any] = {
            "recipes": ["bert", "gpt2"],
            "budget": "100s",
            "seeds": 2,
            "tune": ["epochs=2", "patience=3"],
            "threads": 1,
        }
        return make_study(corpus=[tmp_path / "corpus.txt"], tasks=[task], compress=compress, **(usual | others))

    return made


def small(study: Study) -> dict[str, CompressedEntrant]:
    return {one.name: one for one in entrants(study) if isinstance(one, CompressedEntrant)}


def test_an_entry_is_for_every_network_that_is_no_control(study: Make) -> None:
    found = entrants(study("distil:bert/mini", "int8"))
    assert [one.name for one in found] == [
        "bert", "gpt2", "distil:bert/mini@bert", "direct:bert/mini@bert", "distil:bert/mini@gpt2", "direct:bert/mini@gpt2", "int8@bert",
        "int8@gpt2", "scratch", "fasttext", "tfidf",
    ]  # fmt: skip
    made = small(study("distil:bert/mini", "int8"))
    assert {one.origin for one in made.values()} == {Origin.COMPRESSED}
    distilled, direct, eight = made["distil:bert/mini@bert"], made["direct:bert/mini@bert"], made["int8@bert"]
    assert (distilled.control, direct.control, eight.control) == (None, Control.DIRECT, None)
    assert (distilled.direct, direct.direct, eight.direct) == ("direct:bert/mini@bert", "", "")
    assert direct.method == distilled.method.as_control() and distilled.declared.size == "mini" and eight.declared.name == "bert"
    assert not distilled.cells(0) and not distilled.probed and not eight.learns and direct.made_from == "bert"


def test_one_model_or_one_that_is_small_already(study: Make) -> None:
    assert list(small(study("int8@gpt2"))) == ["int8@gpt2"]
    chain = small(study("distil:bert/mini@bert", "int8@distil:bert/mini@bert"))
    assert list(chain) == ["distil:bert/mini@bert", "direct:bert/mini@bert", "int8@distil:bert/mini@bert"]
    assert chain["int8@distil:bert/mini@bert"].generation == 2
    assert list(small(study("int8@scratch"))) == ["int8@scratch"], "a control is made small only where it is named"


def test_what_is_pruned_learns_again_unless_it_is_told_not_to(study: Make) -> None:
    again, as_it_is = small(study("heads:keep=0.5@bert", "heads:keep=0.5:recover=false@bert")).values()
    assert (again.learns, as_it_is.learns) == (True, False) and not again.direct
    cells = {cell.key: cell for cell in grid(study("int8"), [again, as_it_is]) if cell.task}
    assert "--epochs 2" in cell_command(Path("here"), study("int8"), cells["tune-heads-keep=0.5@bert-0-topic"])
    assert "--epochs" not in cell_command(Path("here"), study("int8"), cells["tune-heads-keep=0.5-recover=false@bert-0-topic"])


def test_students_that_differ_in_their_teaching_alone_share_a_control(study: Make) -> None:
    found = small(study("distil:depth=1@bert", "patient:depth=1@bert", "distil:depth=1:temperature=9@bert", "distil:temperature=9@bert"))
    assert [(one.name, one.direct) for one in found.values()] == [
        ("distil:depth=1@bert", "direct:depth=1@bert"),
        ("direct:depth=1@bert", ""),
        ("patient:depth=1@bert", "direct:depth=1@bert"),
        ("distil:depth=1:temperature=9@bert", "direct:depth=1@bert"),
        ("distil:temperature=9@bert", "direct@bert"),
        ("direct@bert", ""),
    ]
    named = small(study("direct:depth=1@bert", "distil:depth=1@bert"))
    assert [one.control for one in named.values()] == [Control.DIRECT, None] and named[
        "distil:depth=1@bert"
    ].direct == "direct:depth=1@bert"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("distill:bert/tiny", "--compress distill:bert/tiny: There is no method 'distill'"),
        ("distil:brt/tiny", "--compress distil:brt/tiny: "),
        ("distil:word2vec", "word2vec makes word vectors"),
        ("int8:keep=0.5", "has no setting 'keep'"),
        ("int8:bert/tiny", "has no setting 'student'"),
        ("distil:temperature=hot", "temperature"),
        ("int8@brt", "the study has no model 'brt'; did you mean bert"),
        ("int8@tfidf", "tfidf is a linear model of terms"),
        ("bam", "task by task"),
        ("distil:", "names nothing to make small by"),
        ("int8@", "names nothing to make small by"),
        ("distil:depth=1:depth=2", "says depth twice"),
    ],
)
def test_refusals(study: Make, entry: str, says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        entrants(study(entry))


def test_the_same_entry_twice(study: Make) -> None:
    with pytest.raises(PlumeError, match="'int8' is there twice"):
        study("int8", "int8")


def test_a_study_file_names_them_too(study: Make, tmp_path: Path) -> None:
    (tmp_path / "little").mkdir()
    asked = study(f"distil:{tmp_path}/little:temperature=4@bert", "int8")
    (tmp_path / "study.toml").write_text(written := write_study_file(asked, beside=tmp_path), encoding="utf-8")
    assert 'compress = ["distil:./little:temperature=4@bert", "int8"]' in written
    assert read_study_file(tmp_path / "study.toml") == asked
    assert "little" in {Path(path).name for path in asked.fingerprint()}, "what a student holds is part of the study"


@pytest.mark.parametrize("text", ["int8", "heads:keep=0.5@bert/mini", "distil:bert/tiny:temperature=4", "distil:../x@continue:minilm"])
def test_an_entry_is_the_same_from_anywhere(text: str, tmp_path: Path) -> None:
    whole = absolute_entry(text, beside=tmp_path)
    assert relative_entry(whole, beside=tmp_path) == text and absolute_entry(whole) == whole
    assert read_entry(whole).of == read_entry(text).of


def test_cells_need_the_parents_tuning_of_the_same_task_and_seed(study: Make) -> None:
    asked = study("distil:bert/mini@bert", "int8@distil:bert/mini@bert")
    cells = grid(asked, entrants(asked))
    by_key = {cell.key: cell for cell in cells}
    assert by_key["tune-distil-bert-mini@bert-1-topic"].needs == ("tune-bert-1-topic",)
    assert by_key["tune-int8@distil-bert-mini@bert-0-topic"].needs == ("tune-distil-bert-mini@bert-0-topic",)
    seen: set[str] = set()
    for cell in cells:
        assert seen.issuperset(cell.needs), "none stands before one that it needs"
        seen.add(cell.key)
    own = [cell.kind.value for cell in cells if cell.entrant == "distil:bert/mini@bert"]
    assert own == ["tune", "tune", "speed", "speed"], "neither pre-training nor probe"
    anew = {cell.key for cell in cells_again(cells, ["bert:1"])}
    assert {"tune-distil-bert-mini@bert-1-topic", "tune-int8@distil-bert-mini@bert-1-topic"} <= anew


def test_commands_are_those_of_plume_compress(study: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = study("distil:bert/mini:temperature=4@bert", "int8@bert")
    by_key = {cell.key: cell_command(Path("here"), asked, cell) for cell in grid(asked, entrants(asked)) if cell.task}
    student = "--method distil --student bert/mini --set temperature=4"
    assert by_key["tune-distil-bert-mini-temperature=4@bert-1-topic"] == (
        f"OMP_NUM_THREADS=1 plume compress here/tuned/bert/1/topic {student} --epochs 2 --no-speed --seed 1 --out "
        "here-again/tuned/distil-bert-mini-temperature=4@bert/1/topic && plume eval "
        "here-again/tuned/distil-bert-mini-temperature=4@bert/1/topic --data b.tsv"
    ), "patience is no setting of what has a fixed number of steps"
    assert f"{student} --control --epochs 2" in by_key["tune-direct-bert-mini@bert-0-topic"]
    assert "plume compress here/tuned/bert/0/topic --method int8 --no-speed --seed 0" in by_key["tune-int8@bert-0-topic"]


def test_the_plan_counts_students_and_their_teachers(study: Make) -> None:
    asked = study("distil:bert/mini@bert", "int8@bert")
    found = entrants(asked)
    look = Look(name="topic", task=TASK, examples=[], train=1000, scored=0, characters=30.0)
    rehearsals = [Rehearsal(entrant=one.name, answering={"topic": 0.1 if one.name == "bert" else 0.01}) for one in found]
    plan = make_plan(asked, found, grid(asked, found), [look], rehearsals, slots=1)
    taken = {line.entrant: line.tuning for line in plan.lines}
    fixed = taken["int8@bert"]
    assert fixed < 10, "nothing is learned"
    assert taken["direct:bert/mini@bert"] - fixed == pytest.approx(0.01 * (3 * 2000 + 1000))
    assert taken["distil:bert/mini@bert"] - taken["direct:bert/mini@bert"] == pytest.approx(0.1 * 1000)


def record(name: str, **more: Any) -> ModelRecord:
    return ModelRecord(name=name, family="bert", size="tiny", title="", paper="", **more)


MODELS = [
    record("bert"),
    record("distil@bert", origin=Origin.COMPRESSED, made_from="bert", direct="direct@bert"),
    record("direct@bert", origin=Origin.COMPRESSED, made_from="bert", control=Control.DIRECT),
]


def test_groups() -> None:
    assert [one.group for one in MODELS] == [ModelGroup.NOTHING, ModelGroup.SMALL, ModelGroup.SMALL]
    assert record("scratch", control=Control.SCRATCH).group is ModelGroup.CONTROL


def test_what_making_small_cost_and_what_the_teacher_added() -> None:
    usual: dict[str, Any] = {"low": None, "high": None, "seconds": 1.0, "pareto": False, "complete": True}
    standings = [
        Standing(model=one.name, quality=quality, per_second=speed, disk=disk, **usual)
        for one, quality, speed, disk in zip(MODELS, (0.9, 0.85, 0.84), (10.0, 50.0, 50.0), (9, 3, 3), strict=True)
    ]
    same = Comparison(
        task="topic", first="bert", second="distil@bert", difference=0.05, low=0.01, high=0.09, p=0.01, verdict=Verdict.FIRST, seeds=2
    )
    taught = replace(same, first="direct@bert", difference=-0.01, low=-0.03, high=0.01, verdict=Verdict.SAME)
    cost, gained = small_gains(MODELS, standings, [same, replace(taught, second="distil@bert")])
    assert (cost.of, cost.model, cost.against) == (GainOf.SMALL, "distil@bert", "bert")
    assert cost.tasks[0].verdict is Verdict.SECOND and cost.quality == pytest.approx(-0.05) and (cost.disk, cost.against_disk) == (3, 9)
    assert (gained.of, gained.against, gained.tasks[0].verdict) == (GainOf.TEACHER, "direct@bert", Verdict.SAME)
    assert gained.tasks[0].difference == pytest.approx(0.01)
    assert small_gains(MODELS, standings[:1], []) == ()
