"""Entrant: a line of a study. Each kind says which cells make its model directory, how one of them is run, and what the report tells of it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from plume.comparing.cells import Cell, CellKind
from plume.comparing.naming import folder_name
from plume.comparing.results import Control, Origin
from plume.comparing.shown import shown
from plume.comparing.study import Study, tune_options
from plume.core.errors import PlumeError
from plume.model.recipe import Recipe
from plume.static.recipe import StaticRecipe
from plume.train.checkpoint import checkpoints
from plume.train.settings import RUN
from plume.tuning.linear.recipe import TermRecipe
from plume.tuning.options import start_from_options
from plume.tuning.task import Task
from plume.tuning.tune import resume as resume_tuning
from plume.tuning.writing.written import WrittenTask


class Unfit(PlumeError):
    """What an entrant would do to a task cannot be done, however often it is tried."""


@dataclass(frozen=True, kw_only=True)
class TuningRun:
    """How a tuning ended."""

    stopped_by: str | None  # a signal's name
    steps: int


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A model to be tuned on every task with every seed. Records that processes hand to each other: no weights, no open files."""

    origin: ClassVar[Origin]

    name: str  # as the user wrote it; of a path its last part
    declared: Recipe | StaticRecipe | TermRecipe  # with what the study sets
    overrides: tuple[str, ...] = ()  # what it sets: --set
    mode: str = ""  # the way it is put to tasks, where that is not the usual one: planning/modes.py

    @property
    def folder(self) -> str:
        """The name of its directories within the study."""
        return folder_name(self.name)

    @property
    def static(self) -> bool:
        """Is it word vectors, rather than a network?"""
        return isinstance(self.declared, StaticRecipe)

    @property
    def from_scratch(self) -> bool:
        """Does it keep nothing of its directory but shape and tokenizer?"""
        return False

    @property
    def control(self) -> Control | None:
        """What the others are held against, if it is that."""
        return Control.STATIC if self.static else None

    @property
    def has_weights(self) -> bool:
        """Is there a model before any task is known?"""
        return True

    @property
    def probed(self) -> bool:
        """Has it layers that may know something before they are tuned?"""
        return not self.from_scratch

    @property
    def source(self) -> str:
        """What it was made of, in words of the user's: a path, names of other entrants; "" for what is pre-trained here."""
        return ""

    @property
    def continues(self) -> str:
        """The name of the entrant whose pre-training it goes on with, if it does."""
        return ""

    @property
    def made_from(self) -> str:
        """The name of the entrant whose tuned models it is made of, if it is: one that was made small."""
        return ""

    @property
    def direct(self) -> str:
        """The name of the entrant that is the same student, trained directly, if it is a student."""
        return ""

    @property
    def taught_by(self) -> str:
        """The name of the entrant that answers what it learns from, if one does."""
        return ""

    @property
    def learns(self) -> bool:
        """Do its steps take time, or is it only rewritten?"""
        return True

    @property
    def generation(self) -> int:
        """How many tuned models it is made of, one of the other."""
        return 0

    def cell(self, kind: CellKind, seed: int, *, task: str = "", needs: tuple[str, ...] = ()) -> Cell:
        """A cell of its own."""
        return Cell(kind=kind, entrant=self.name, folder_name=self.folder, seed=seed, task=task, needs=needs, line=self)

    def cells(self, seed: int) -> tuple[Cell, ...]:
        """All that the model of this seed comes from, in an order that can be run; the last one makes it. Empty: the directory is there."""
        raise NotImplementedError

    def directory(self, folder: Path, seed: int) -> Path:
        """Its model of this seed, of the study in `folder`."""
        return folder / self.cells(seed)[-1].folder

    def make(self, study: Study, folder: Path, cell: Cell) -> str | None:
        """Run its cell: make the model directory `folder / cell.folder`, or go on with it. Returns the signal that ended it early, if one did."""
        raise NotImplementedError

    def command(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        """The same as a user would type it, but for --out."""
        raise NotImplementedError

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        """A model directory like the one to be made, for a few steps of cost, in `out`; what cannot work says so. `scratch` has a sample of the
        corpus."""
        raise NotImplementedError

    def cannot(self, task: Task) -> str | None:
        """Why it cannot do a task, as far as its kind says it; what only a model can say is found out by trying."""
        return "word vectors cannot write a text" if self.static and isinstance(task, WrittenTask) else None

    def tuned_after(self, seed: int, task: str) -> tuple[str, ...]:
        """Keys of the cells that its tuning on the task needs."""
        return tuple(cell.key for cell in self.cells(seed)[-1:])

    def put_to_task(self, study: Study, folder: Path, cell: Cell) -> TuningRun:
        """Its tuning on the task of the cell: into `folder / cell.folder`, or on from where it was interrupted."""
        out, task = folder / cell.folder, study.task(cell.task)
        if can_go_on(out):
            made = resume_tuning(out, quiet=True)
        else:
            shutil.rmtree(out, ignore_errors=True)
            made = start_from_options(
                self.directory(folder, cell.seed), task=task.kind, train=task.train, dev=task.dev, out=out, text=task.text,
                label=task.label, seed=cell.seed, quiet=True, **tune_options(self.tune(study)), **self.tuning(),
            )  # fmt: skip
        return TuningRun(stopped_by=made.outcome.stopped_by, steps=made.outcome.position.spent.steps)

    def tune_words(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        """The same as a user would type it, but for --out."""
        task, directory = study.task(cell.task), self.directory(folder, cell.seed)
        words = [
            "plume",
            "tune",
            shown(directory) if self.has_weights else str(directory),
            "--task",
            task.kind,
            "--train",
            shown(task.train),
        ]
        words += ["--dev", shown(task.dev)] if task.dev else []
        words += [word for column in task.text for word in ("--text", column)]
        words += ["--label", task.label] if task.label else []
        words += [f"--{assignment}" for assignment in self.tune(study)]
        words += ["--mode", self.mode] if self.mode else []
        words += ["--from-scratch"] if self.from_scratch else []
        return [*words, "--seed", str(cell.seed)]

    def tune(self, study: Study) -> tuple[str, ...]:
        """What it takes of the study's settings of tuning."""
        return study.tune

    def tuning(self) -> dict[str, Any]:
        """Options of `plume tune` that are its own."""
        return {"mode": self.mode} if self.mode else {}


def can_go_on(out: Path) -> bool:
    """Is there a run with a checkpoint?"""
    return (out / RUN).exists() and bool(checkpoints(out))
