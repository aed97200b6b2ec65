"""A study whose entrants are a recipe, a model directory, one continued from it, word vectors that are there, and a kind of derivation that only
this file knows: the mean of several models' weights (arXiv:2203.05482). It needs two cells at once."""

from __future__ import annotations

import os
import pickle
import random
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import plume
from plume.comparing.cells import Cell
from plume.comparing.compare import Compared, compare
from plume.comparing.entrants import lineup
from plume.comparing.entrants.derived import DerivedEntrant
from plume.comparing.entrants.directories import HuggingFaceDirectory, ModelDirectory
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.lineup import entrants, make_entrant
from plume.comparing.planning import rehearsal
from plume.comparing.planning.grid import grid
from plume.comparing.results import Origin, Results, Status
from plume.comparing.running import work
from plume.comparing.running.engine import State
from plume.comparing.running.run import read_states
from plume.comparing.shown import shown
from plume.comparing.study import ContinueOn, Study, make_study, parse_task
from plume.comparing.study_file import read_study_file, write_study_file
from plume.core.errors import PlumeError
from plume.core.files import write_json
from plume.core.part import replace
from plume.model.checkpoint import WEIGHTS, load_model, read_weights, save_model
from plume.report import write_report
from plume.report.words import Wording
from plume.static.exchange import import_vectors
from plume.train import runs

SMALL = (
    "network.width=16", "network.depth=1", "network.heads=2", "network.feed_forward=32", "embedding.width=16", "training.batch=8",
    "training.length=16", "tokenizer.vocabulary=200",
)  # fmt: skip
SOUP = "derive-soup-mine-0"


@dataclass(frozen=True, kw_only=True)
class SoupEntrant(DerivedEntrant):
    """Of the directory and of every seed of a recipe; one for all seeds of tuning."""

    seeds: int

    def inputs(self, seed: int) -> tuple[tuple[Entrant, int], ...]:
        directory, recipe = self.parents
        return ((directory, 0), *((recipe, number) for number in range(self.seeds)))

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return super().cells(0)

    def derive(self, study: Study, models: Sequence[Path], out: Path, *, seed: int) -> None:
        model, tokenizer = load_model(models[0])
        states = [read_weights(path / WEIGHTS) for path in models]
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.stack([state[name] for state in states]).mean(0))
        save_model(out, model, tokenizer)

    def command(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        return ["plume", "soup", *map(str, self.models(folder, cell.seed))]


def soup(name: str, study: Study, parent: Entrant) -> SoupEntrant:
    return SoupEntrant(name=name, declared=parent.declared, parents=(parent, make_entrant("bert", study)), seeds=study.seeds)


class Here:
    """Cells in this process, handed over as to another one."""

    slots = 1

    def __init__(self, failing: str = "") -> None:
        self.ran: list[str] = []
        self.failing = failing

    def submit(self, folder: Path, cell: Cell) -> Future[State]:
        self.ran.append(cell.key)
        future: Future[State] = Future()
        if cell.key == self.failing:
            write_json(cell.state(folder), {"status": "failed", "reason": "the loss is no number"})
            future.set_result(None)
        else:
            future.set_result(work.run_cell(folder, pickle.loads(pickle.dumps(cell))))
        return future

    def stop(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a task, a model of that corpus and word vectors."""
    folder, draw = tmp_path_factory.mktemp("home"), random.Random(0)

    def sentence() -> str:
        return " ".join(
            draw.choice(words) for words in (("Ann", "Bob", "Eva"), ("loves", "hates", "sees", "knows"), ("Rome", "Oslo", "Lima"))
        )

    text = "\n\n".join(". ".join(sentence() for _ in range(6)) + "." for _ in range(40))
    (folder / "corpus.txt").write_text(text + "\n", encoding="utf-8")
    for name, count in (("train", 24), ("test", 16)):
        rows = [(line := sentence()) + f"\t{'feeling' if 'love' in line or 'hate' in line else 'fact'}" for _ in range(count)]
        (folder / f"kind.{name}.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    (folder / "words.txt").write_text("\n".join(f"{word} 0.1 0.{n} 0.3" for n, word in enumerate(("Ann", "loves", "Rome"))) + "\n")
    import_vectors(folder / "words.txt", folder / "words")
    recipe = make_entrant("bert", study_of(folder, ["bert"]))
    runs.start(
        "bert/tiny", corpus=folder / "corpus.txt", out=folder / "mine", budget="4steps", overrides=recipe.overrides, seed=9, quiet=True
    )
    return folder


def study_of(home: Path, recipes: Sequence[str]) -> Study:
    return make_study(
        corpus=[home / "corpus.txt"], tasks=[parse_task(f"kind:classification={home}/kind.train.tsv,{home}/kind.test.tsv")], recipes=recipes,
        budget="1500tokens", seeds=2, threads=1, overrides=SMALL, tune=["epochs=1"], probes=False,
    )  # fmt: skip


def every(home: Path) -> Study:
    return study_of(home, ["bert", f"{home}/mine", f"soup:{home}/mine", f"continue:{home}/mine", f"{home}/words"])


Run = Callable[..., tuple[Compared, Here]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Studies in this process, so that the kind of this file is known there, with rehearsals and timings as short as can be."""
    for name in ("PLUME_CACHE", "RAYON_NUM_THREADS", "PLUME_WORKERS"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))

    def apart(*given: Any) -> rehearsal.Rehearsal:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PLUME_CACHE", os.environ["PLUME_CACHE"])
            return rehearsal.rehearse(*given)

    monkeypatch.setitem(lineup.KINDS, "soup", soup)
    monkeypatch.setattr(rehearsal, "_apart", apart)
    monkeypatch.setattr(work, "_TIMING", 0.001)

    def ran(study: Study, folder: Path, *, failing: str = "", **options: Any) -> tuple[Compared, Here]:
        engine = Here(failing)
        made = compare(study, folder, engine=engine, quiet=True, **options)
        assert made is not None
        return made, engine

    return ran


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_weights(folder / WEIGHTS)


def check_results(results: Results, home: Path) -> None:
    origins = {model.name: model.origin for model in results.models}
    assert origins == {
        "bert": Origin.RECIPE, "mine": Origin.DIRECTORY, "soup:mine": Origin.DERIVED, "continue:mine": Origin.CONTINUED,
        "words": Origin.DIRECTORY, "scratch": Origin.RECIPE, "tfidf": Origin.RECIPE,
    }  # fmt: skip
    assert {one.status for one in (*results.scores, *results.pretraining)} == {Status.DONE} and len(results.scores) == 7 * 2
    assert {one.model for one in results.pretraining} == {"bert", "soup:mine", "continue:mine"}
    assert all(model.parameters for model in results.models) and {one.model for one in results.standings} == set(origins)
    assert results.title == "5 families on corpus.txt"
    assert f"--init {shown(str(home / 'mine'))}" in results.commands["pretrain-continue-mine-1"]
    assert f"tune {shown(str(home / 'mine'))} --task" in results.commands["tune-mine-0-kind"]


def test_a_derived_model_is_made_of_two_runs_and_a_directory_and_anew_with_either(home: Path, tmp_path: Path, run: Run) -> None:
    study, out = every(home), tmp_path / "study"
    made, engine = run(study, out)
    cells = {cell.key: cell for cell in grid(study, entrants(study))}
    assert cells[SOUP].needs == ("pretrain-bert-0", "pretrain-bert-1") and cells["tune-soup-mine-1-kind"].needs == (SOUP,)
    assert cells["tune-mine-0-kind"].needs == () and not any(
        cell.kind.makes for cell in cells.values() if cell.entrant in ("mine", "words")
    )
    assert engine.ran == list(cells), "in the order of the grid"
    assert all(engine.ran.index(key) < engine.ran.index(cell.key) for cell in cells.values() for key in cell.needs)
    check_results(made.results, home)
    assert "derived (" in write_report(made.results, out).read_text(encoding="utf-8")

    parts = [weights(home / "mine"), *(weights(out / "models" / "bert" / str(seed)) for seed in (0, 1))]
    mean = {name: torch.stack([part[name] for part in parts]).mean(0) for name in parts[0]}
    assert all(torch.equal(value, mean[name]) for name, value in weights(out / "models" / "soup-mine" / "0").items())
    assert not torch.equal(*(part["embedding.token.weight"] for part in parts[:2]))

    again, engine = run(study, out, resume=True, again=["bert:1"])
    assert [key for key in engine.ran if not key.startswith("speed")] == [
        "pretrain-bert-1", SOUP, "tune-soup-mine-0-kind", "tune-soup-mine-1-kind", "tune-bert-1-kind"
    ]  # fmt: skip
    assert {key.split("-")[1] for key in engine.ran} == {"bert", "soup"}, "what has nothing to do with it stays"
    assert [one.scores for one in again.results.scores] == [one.scores for one in made.results.scores]

    path = home / "mine" / WEIGHTS
    kept = path.read_bytes()
    try:
        path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
        with pytest.raises(PlumeError, match="mine has changed since"):
            run(study, out, resume=True)
    finally:
        path.write_bytes(kept)


def test_what_needs_a_run_that_failed_is_not_run(home: Path, tmp_path: Path, run: Run) -> None:
    study, out = study_of(home, ["bert", f"soup:{home}/mine", f"{home}/words"]), tmp_path / "study"
    _, engine = run(study, out, failing="pretrain-bert-1")
    states = read_states(out, grid(study, entrants(study)))
    failed = {key for key, state in states.items() if state["status"] == Status.FAILED}
    assert failed == {"pretrain-bert-1", "tune-bert-1-kind", SOUP, "tune-soup-mine-0-kind", "tune-soup-mine-1-kind"}
    assert states["tune-soup-mine-0-kind"]["reason"] == "the loss is no number" and SOUP not in engine.ran


def test_directories_are_told_apart_and_written_down(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plume.export_hf(home / "mine", out=tmp_path / "theirs")
    monkeypatch.chdir(tmp_path)
    study = study_of(home, ["theirs", "continue:./theirs", "bert", str(home / "mine")])
    theirs, going_on, _, mine, *_ = entrants(study)
    assert isinstance(theirs, HuggingFaceDirectory) and isinstance(mine, ModelDirectory) and theirs.declared.name == "bert"
    (imported,) = theirs.cells(1)
    assert [cell.key for cell in going_on.cells(1)] == ["derive-theirs-0", "pretrain-continue-theirs-1"]
    assert going_on.cells(1)[-1].needs == (imported.key,) and "network.width=16" not in going_on.overrides
    theirs.make(study, tmp_path / "study", imported)
    got, given = weights(theirs.directory(tmp_path / "study", 1)), weights(home / "mine")
    assert all(torch.equal(value, given[name]) for name, value in got.items())
    (tmp_path / "study" / "study.toml").write_text(written := write_study_file(study, beside=tmp_path / "study"), encoding="utf-8")
    assert '"../theirs", "continue:../theirs", "bert"' in written and read_study_file(tmp_path / "study" / "study.toml") == study


def test_what_is_no_model_is_refused(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "mine", tmp_path / "bert")
    for recipes, said in (
        ([str(tmp_path)], "holds no model: neither plume's recipe.json nor the config.json"),
        ([f"{tmp_path}/none"], "There is no model directory at"),
        ([f"continue:{home}/words"], "word vectors cannot be continued"),
        ([f"contineu:{home}/mine"], "no kind of model 'contineu'; did you mean continue"),
        (["bert", f"{tmp_path}/bert"], "would share a directory"),
    ):
        with pytest.raises(PlumeError, match=said):
            entrants(study_of(home, recipes))


def test_a_public_model_is_compared_as_it_is_and_continued(home: Path, tmp_path: Path, run: Run) -> None:
    """A Hugging Face directory without a head, on the texts of the task; killed in between, the study says how it tunes as it did before."""
    model, tokenizer = load_model(home / "mine")
    bare = replace(model.recipe, objectives=())
    without = bare.assembly.build(bare, vocabulary=model.vocabulary)
    without.load_state_dict({name: value for name, value in model.state_dict().items() if name in without.state_dict()})
    save_model(tmp_path / "bare", without, tokenizer)
    plume.export_hf(tmp_path / "bare", out=tmp_path / "theirs")
    study = replace(
        study_of(home, ["bert"]), models=(f"small={tmp_path}/theirs",), continued=("small",), continue_on=ContinueOn.TASKS, seeds=1
    )
    out = tmp_path / "study"
    made, _ = run(study, out)
    results = made.results
    assert {one.status for one in (*results.scores, *results.pretraining)} == {Status.DONE}
    assert {one.name: one.group.name for one in results.models} == {
        "bert": "NOTHING", "small": "PUBLIC", "continue:small": "CONTINUED", "scratch": "CONTROL", "fasttext": "CONTROL", "tfidf": "CONTROL"
    }  # fmt: skip
    corpus, checkpoint = results.gains
    assert (corpus.model, corpus.against, checkpoint.against) == ("continue:small", "small", "bert")
    texts = (out / "models" / "continue-small" / "texts.jsonl").read_text(encoding="utf-8")
    assert all(line.split("\t")[0] in texts for line in (home / "kind.train.tsv").read_text(encoding="utf-8").splitlines()[1:])
    for language, said in (("en", "What your corpus added"), ("zh", "你的语料带来了什么")):
        page = write_report(results, out, language=language).read_text(encoding="utf-8")
        assert said in page and Wording(language)("group_public") in page and Wording(language)("group_continued") in page
    assert '"gains"' in (out / "results.json").read_text(encoding="utf-8")

    assert (out / "modes.json").exists()
    write_json(out / "modes.json", {"mode": {"small": "features"}, "left_out": {}})
    frozen, engine = run(study, out, resume=True, again=["small:0"])
    assert "tune-small-0-kind" in engine.ran and "--mode features" in frozen.results.commands["tune-small-0-kind"]
    assert next(one.mode for one in frozen.results.models if one.name == "small") == "features"
    assert "frozen features" in write_report(frozen.results, out).read_text(encoding="utf-8")
