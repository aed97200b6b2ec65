"""Exploring: which variants there are, what is kept, what a failure and a kill leave, and that a model's command makes that model."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from plume.cli import app
from plume.compressing.exploring import explore as exploring
from plume.compressing.exploring.frontier import FrontierModel, FrontierRole, read_frontier, with_front
from plume.compressing.exploring.variants import planned
from plume.compressing.job import read_job
from plume.compressing.options import explore_from_options
from plume.core.errors import PlumeError
from plume.model.checkpoint import WEIGHTS, read_weights, save_model
from plume.tuning.options import start_from_options

BUDGET = {"budget": "2steps", "length": 32}


@pytest.fixture(scope="module")
def model(miniature: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A miniature that is not tuned."""
    folder = tmp_path_factory.mktemp("model") / "mini"
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    network = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    network.initialise(0)
    save_model(folder, network, tokenizer)
    return folder


@pytest.fixture(scope="module")
def tuned(model: Path) -> Path:
    """It, tuned on forty rows."""
    file, folder = model.with_name("train.tsv"), model.with_name("tuned")
    file.write_text("".join(f"the cat {word}\t{word}\n" for word in ("warm", "cold") * 20))
    start_from_options(model, task="classification", train=str(file), dev=str(file), out=folder, budget="30steps", rate=3e-3, quiet=True)
    return folder


@pytest.fixture(scope="module")
def explored(tuned: Path) -> exploring.Explored:
    return explore_from_options(tuned, out=tuned.with_name("front"), method="distil,int8", quiet=True, timed=False, **BUDGET)


def test_what_is_planned() -> None:
    """Every distilled student has its control, everything its 8 bits; what costs little comes first."""
    names = [one.name for one in planned(["distil", "int8"], depth=6, labelled=True)]
    students = ["3", "bert-mini", "bert-tiny"]
    assert names[0] == "int8" and set(names[1:7]) == {f"{how}-{one}" for how in ("distil", "direct") for one in students}
    assert names[7:] == [f"distil-{one}+int8" for one in students]
    assert not any("direct" in one.name for one in planned(["distil"], depth=6, labelled=False)), "nothing to train a student on"
    assert [one.name for one in planned(["tinybert"], depth=6, labelled=True)] == ["tinybert", "direct"], "named, so tried as it is"
    assert {"int8", "distil-3", "direct-3"} <= {one.name for one in planned([], depth=6, labelled=True)}


def test_all_are_made_and_kept(explored: exploring.Explored, tuned: Path) -> None:
    models = {one.name: one for one in explored.frontier.models}
    assert [one.role for one in models.values()].count(FrontierRole.CONTROL) == 3 and models["tuned"].role is FrontierRole.BASELINE
    assert not any(one.reason for one in models.values()) and all(0 <= (one.quality or -1) <= 1 for one in models.values())
    assert models["distil-1"].control == "direct-1" and models["distil-1+int8"].bytes < 0.6 * models["distil-1"].bytes
    assert models["distil-1"].parameters == models["direct-1"].parameters < models["tuned"].parameters
    assert read_frontier(explored.folder) == explored.frontier


def test_a_control_learns_as_long_and_from_labels_alone(tuned: Path) -> None:
    text = tuned.with_name("text.txt")
    text.write_text("the cat\nthe old captain paints\n" * 30)
    found = explore_from_options(
        tuned, out=tuned.with_name("texts"), method="distil", text=text, quiet=True, timed=False, epochs=1, batch=8
    )
    folder = found.folder / "models"
    student, control = read_job(folder / "distil-1").settings, read_job(folder / "direct-1").settings
    assert student.text == (str(text),) and student.budget is None and control.text == ()
    assert control.budget == "13steps", "a hundred rows by eight, labelled or not"
    command = next(one.command for one in found.frontier.models if one.name == "direct-1")
    assert "--budget 13steps" in command and "--text" not in command


def test_each_variant_gets_what_says_something_to_it(tuned: Path) -> None:
    """Text is for those that read it, a budget for those that learn: what one refuses must not keep it from being made."""
    text = tuned.with_name("some.txt")
    text.write_text("the cat\nthe old captain paints\n" * 30)
    found = explore_from_options(
        tuned, out=tuned.with_name("all"), method="heads,vocabulary,int8", text=text, quiet=True, timed=False, overrides=("layer_decay=0.9",),
        seed=1, **BUDGET,
    )  # fmt: skip
    made = {one.name: one for one in found.frontier.models}
    assert not any(one.reason for one in made.values())
    assert "--text" not in made["heads-0.5"].command and "--budget 2steps" in made["heads-0.5"].command
    assert "--text" in made["vocabulary"].command and "--budget" not in made["vocabulary"].command
    assert not {"--budget", "--text", "--training"} & set(made["int8"].command.split())


def test_paths_are_kept_as_they_are_found_from_anywhere(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tuned.parent)
    found = explore_from_options(tuned.name, out=Path("anywhere"), method="int8", quiet=True, timed=False)
    kept = exploring.read_explore(found.folder)
    assert kept.model == str(tuned) and str(tuned) in found.frontier.models[-1].command


def test_a_models_command_makes_it(explored: exploring.Explored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in next(one.command for one in explored.frontier.models if one.name == "distil-1+int8").split(" && "):
        words = shlex.split(line)
        assert words.pop(0) == "plume"
        result = CliRunner().invoke(app, [*words, "--quiet", "--no-speed"])
        assert result.exit_code == 0, result.output
    for name in ("distil-1", "distil-1+int8"):
        mine, theirs = (read_weights(folder / name / WEIGHTS) for folder in (tmp_path, explored.folder / "models"))
        assert all(torch.equal(value, theirs[key]) for key, value in mine.items())


def test_one_that_fails_is_shown_and_tried_again(tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = exploring.compress

    def broken(sources: Any, method: Any, folder: Path, **options: Any) -> Any:
        if folder.name == "distil-bert-tiny":
            raise RuntimeError("a mistake\nsomewhere")
        if folder.name == "direct-1":
            raise PlumeError("This cannot be.")
        return real(sources, method, folder, **options)

    monkeypatch.setattr(exploring, "compress", broken)
    found = explore_from_options(tuned, out=tmp_path / "front", method="distil,int8", quiet=True, timed=False, **BUDGET)
    reasons = {one.name: one.reason for one in found.frontier.models if one.reason}
    assert reasons == {"distil-bert-tiny": "RuntimeError: a mistake", "direct-1": "This cannot be."}
    assert not any(one.name == "distil-bert-tiny+int8" for one in found.frontier.models), "there is nothing to make it of"
    monkeypatch.undo()
    before = (found.folder / "models" / "distil-1" / WEIGHTS).stat().st_mtime_ns
    again = exploring.go_on(found.folder, quiet=True, timed=False)
    assert not any(one.reason for one in again.frontier.models)
    assert (found.folder / "models" / "distil-1" / WEIGHTS).stat().st_mtime_ns == before, "what is there stays"


def test_one_that_was_stopped_goes_on(explored: exploring.Explored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "front"
    shutil.copytree(explored.folder, folder)
    shutil.rmtree(folder / "models" / "distil-1")
    monkeypatch.setattr(exploring, "compress", lambda *_, **__: exploring.Compressed(folder=folder, stopped_by="SIGINT"))
    assert exploring.go_on(folder, quiet=True, timed=False).stopped_by == "SIGINT"
    monkeypatch.undo()
    again = exploring.go_on(folder, quiet=True, timed=False)
    assert again.stopped_by is None
    mine, theirs = (read_weights(one / "models" / "distil-1" / WEIGHTS) for one in (folder, explored.folder))
    assert all(torch.equal(value, theirs[key]) for key, value in mine.items())


def test_models_without_a_task_agree_or_not(model: Path) -> None:
    found = explore_from_options(model, out=model.with_name("agreeing"), method="int8", quiet=True, timed=False)
    quality = {one.name: one.quality or 0.0 for one in found.frontier.models}
    assert quality["mini"] == pytest.approx(1) and 0.99 < quality["int8"] < 1 and found.frontier.metric == "cosine"


def test_bad_input(tuned: Path, model: Path, tmp_path: Path) -> None:
    for options, said in (
        ({"keep": 0.5}, "leave out --keep"),
        ({"method": "distill"}, "no method 'distill'"),
    ):
        with pytest.raises(PlumeError, match=said):
            explore_from_options(tuned, out=tmp_path / "front", quiet=True, **options)
    with pytest.raises(PlumeError, match="Name one model"):
        explore_from_options([tuned, model], out=tmp_path / "front")
    for words, said in ((["--language", "fr"], "do not speak 'fr'"), (["--set", "a=1"], "leave out --set")):
        result = CliRunner().invoke(app, ["compress", str(tuned), "--explore", "--out", str(tmp_path / "front"), *words])
        assert result.exit_code != 0 and said in str(result.exception)
    assert not (tmp_path / "front").exists()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=12))
def test_the_front(places: list[tuple[int, int]]) -> None:
    """What is not on it is beaten by one that is; what is on it, by none."""
    models = with_front([FrontierModel(name=str(i), role=FrontierRole.VARIANT, quality=q, latency=ms) for i, (q, ms) in enumerate(places)])
    front = {(one.quality, one.latency) for one in models if one.on_front}
    for quality, latency in places:
        beaten = [(q, ms) for q, ms in front if q >= quality and ms <= latency and (q, ms) != (quality, latency)]
        assert ((quality, latency) in front) == (not beaten)


@pytest.mark.parametrize("option", [("--control",), ("--augment", "masking"), ("--set", "temperature=2")])
def test_options_of_one_method_are_refused(option: tuple[str, ...], tuned: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["compress", str(tuned), "--explore", "--out", str(tmp_path / "front"), *option])
    assert isinstance(result.exception, PlumeError) and f"leave out {option[0]}" in str(result.exception)
    assert not (tmp_path / "front").exists()
