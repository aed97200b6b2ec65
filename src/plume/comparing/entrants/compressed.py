"""A model that was made small: for each task and seed it is made of another entrant's tuned model; and the same student without a teacher."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plume.comparing.cells import Cell, CellKind
from plume.comparing.compress_entries import CompressEntry, read_entry
from plume.comparing.entrants.entrant import Entrant, TuningRun, Unfit
from plume.comparing.results import Control, Origin
from plume.comparing.shown import shown
from plume.comparing.study import Study, tune_options
from plume.compressing.compress import compress, resume
from plume.compressing.job import JOB
from plume.compressing.method import Compression
from plume.compressing.method import method as named
from plume.core.errors import PlumeError, suggest
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.static.recipe import StaticRecipe
from plume.train.metrics import METRICS, read_metrics
from plume.tuning.linear.recipe import TermRecipe
from plume.tuning.task import Task

_OPTIONS = ("epochs", "batch", "rate", "length", "budget")  # of the study's tuning, that a compression takes too


@dataclass(frozen=True, kw_only=True)
class CompressedEntrant(Entrant):
    """`plume compress` of the parent's tuned model, at the settings of tuning that all have."""

    origin = Origin.COMPRESSED

    parent: Entrant
    entry: CompressEntry
    method: Compression
    beside: str = ""  # the entrant that is its student, trained directly
    is_control: bool = False

    @property
    def control(self) -> Control | None:
        return Control.DIRECT if self.is_control else None

    @property
    def has_weights(self) -> bool:
        return False

    @property
    def probed(self) -> bool:
        return False

    @property
    def generation(self) -> int:
        return self.parent.generation + 1

    @property
    def source(self) -> str:
        return self.parent.name

    @property
    def made_from(self) -> str:
        return self.parent.name

    @property
    def direct(self) -> str:
        return self.beside

    @property
    def learns(self) -> bool:
        return self.method.trains

    @property
    def taught_by(self) -> str:
        return self.parent.name if self.beside else ""

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return ()

    def tuned_after(self, seed: int, task: str) -> tuple[str, ...]:
        return (self.parent.cell(CellKind.TUNE, seed, task=task).key,)

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        return self.method.likeness(self.parent.rehearsed(study, scratch, out / "of"), out / "made")

    def cannot(self, task: Task) -> str | None:
        return self.parent.cannot(task) or super().cannot(task)

    def _model(self, folder: Path, cell: Cell) -> Path:
        return folder / self.parent.cell(CellKind.TUNE, cell.seed, task=cell.task).folder

    def _options(self, study: Study) -> dict[str, Any]:
        """Of the study's settings of tuning; what does not train takes none. How long is fixed for student and control alike: without patience."""
        given = tune_options(self.tune(study)) if self.method.trains else {}
        return {name: value for name, value in given.items() if name in _OPTIONS}

    def put_to_task(self, study: Study, folder: Path, cell: Cell) -> TuningRun:
        """What is refused before anything is learned does not fit, and never will."""
        out = folder / cell.folder
        if (out / JOB).exists() and self.method.trains:
            try:
                made = resume(out, quiet=True)
                return TuningRun(stopped_by=made.stopped_by, steps=_steps(out))
            except PlumeError:  # stopped before its first checkpoint
                pass
        shutil.rmtree(out, ignore_errors=True)
        try:
            made = compress(
                [self._model(folder, cell)], self.method, out, quiet=True, timed=False, seed=cell.seed, **self._options(study)
            )  # fmt: skip
        except PlumeError as error:
            if (out / METRICS).exists():
                raise
            raise Unfit(str(error)) from None
        return TuningRun(stopped_by=made.stopped_by, steps=_steps(out))

    def tune_words(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        words = ["plume", "compress", shown(self._model(folder, cell)), "--method", self.entry.method]
        words += [word for name, value in self.entry.settings for word in _option(name, value)]
        words += ["--control"] if self.is_control and not named(self.entry.method).is_direct else []
        words += [word for name, value in self._options(study).items() for word in (f"--{name}", _number(value))]
        return [*words, "--no-speed", "--seed", str(cell.seed)]


def _option(name: str, value: str) -> tuple[str, str]:
    if name == "student":
        return "--student", shown(value) if Path(value).is_absolute() else value
    return "--set", f"{name}={value}"


def _number(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _steps(folder: Path) -> int:
    return max((line.get("step", 0) for line in read_metrics(folder)), default=0)


def compressed(study: Study, others: Sequence[Entrant]) -> list[CompressedEntrant]:
    """Each entry of the study, of the model that it names or of every network that is no control; the distilled with their controls behind them."""
    known = {one.name: one for one in others}
    made: dict[str, CompressedEntrant] = {}
    for text in study.compress:
        entry = read_entry(text)
        chosen = _chosen(text, entry)
        for parent in _parents(text, entry, {**known, **made}):
            for one in _with_control(entry, chosen, parent, made):
                made.setdefault(one.name, one)
    return list(made.values())


def _chosen(text: str, entry: CompressEntry) -> Compression:
    """The method as it is set; every mistake names the entry."""
    try:
        found = _set(entry)
        found.makes(catalog.recipe("bert/tiny"))  # any: a student that is none says so
    except PlumeError as error:
        raise PlumeError(f"--compress {text}: {error}") from None
    if found.by_task:
        raise PlumeError(f"--compress {text}: {entry.method} makes one model of several tasks' models, and a study compares task by task.")
    return found


def _set(entry: CompressEntry) -> Compression:
    student = {name: value for name, value in entry.settings if name == "student"}
    return named(entry.method).having(student).adjusted([f"{name}={value}" for name, value in entry.settings if name not in student])


def _parents(text: str, entry: CompressEntry, known: Mapping[str, Entrant]) -> list[Entrant]:
    if not entry.of:
        return [one for one in known.values() if one.control is None and not one.made_from and isinstance(one.declared, Recipe)]
    if entry.of not in known:
        raise PlumeError(f"--compress {text}: the study has no model '{entry.of}'; {suggest(entry.of, known)}.")
    parent = known[entry.of]
    if isinstance(parent.declared, TermRecipe):
        raise PlumeError(f"--compress {text}: {parent.name} is a linear model of terms, which is small already: name a network.")
    return [parent]


def _with_control(
    entry: CompressEntry, chosen: Compression, parent: Entrant, made: Mapping[str, CompressedEntrant]
) -> list[CompressedEntrant]:
    """What the entry makes of a parent, and behind it its control; entries that differ in their teaching alone share one."""
    assert not isinstance(parent.declared, TermRecipe), "refused before"
    own = CompressedEntrant(
        name=f"{entry.told}@{parent.name}", declared=_declared(chosen, parent.declared), parent=parent, entry=entry, method=chosen,
        is_control=chosen.is_direct,
    )  # fmt: skip
    if (direct := chosen.direct()) is None:
        return [own]
    without = chosen.as_control()
    for one in made.values():
        if one.is_control and one.method == without and one.parent.name == parent.name:
            return [replace(own, beside=one.name)]
    settings = tuple(one for one in entry.settings if _set(replace(entry, settings=_without(entry, one))).as_control() != without)
    name = f"{replace(entry, method=direct, settings=settings).told}@{parent.name}"
    control = replace(own, name=name if name not in made else f"{entry.method}-{name}", method=without, is_control=True)
    return [replace(own, beside=control.name), control]


def _declared(chosen: Compression, parent: Recipe | StaticRecipe) -> Recipe | StaticRecipe:
    """What it makes of the parent; of one that it does not fit, which its rehearsal will say, nothing else is known."""
    try:
        return chosen.makes(parent)
    except PlumeError:
        return parent


def _without(entry: CompressEntry, setting: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(one for one in entry.settings if one != setting)
