"""Study: what is compared with what, on which text, at which budget. Everything that a run of it needs, and nothing of the machine."""

from __future__ import annotations

import enum
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from plume.comparing import naming
from plume.comparing.compress_entries import absolute_entry, read_entry
from plume.comparing.guess import guess_kind
from plume.comparing.results import MARGIN
from plume.core import catalog
from plume.core.errors import PlumeError, suggest
from plume.core.machine import cores
from plume.core.part import Part
from plume.train.budget import Budget
from plume.tuning.options import check_numbers

_TRAIN = "train"  # in a model directory: what its run needs to go on, which is no part of the model
EMBEDDED = "data"  # in the directory of a study on what plume brings: its corpus and tasks
TUNE_OPTIONS = {"epochs": float, "batch": int, "rate": float, "length": int, "patience": int, "budget": str}


class Tokenizing(enum.StrEnum):
    """How text is cut: alike for all families that read pieces of words, or by each paper's own tokenizer."""

    SHARED = "shared"
    OWN = "own"


class ContinueOn(enum.StrEnum):
    """What models go on with: the study's corpus (domain-adaptive), or the texts of its training examples (task-adaptive; arXiv:2004.10964)."""

    CORPUS = "corpus"
    TASKS = "tasks"


@dataclass(frozen=True, kw_only=True)
class StudyTask(Part):
    """A task with its files. Nothing is chosen by `scored`: where `dev` is not given, a tenth of the training examples is held out to choose by."""

    name: str
    kind: str
    train: str
    scored: str
    dev: str | None = None
    text: tuple[str, ...] = ()  # columns, where plume shall not find out
    label: str | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Study(Part):
    """Entrants, tasks, budget and seeds, as study.json and study.toml hold them."""

    corpus: tuple[str, ...]
    tasks: tuple[StudyTask, ...]
    recipes: tuple[str, ...]  # the entrants, as `comparing/naming.py` reads them
    models: tuple[str, ...] = ()  # directories, which enter as they are: NAME=PATH or PATH
    continued: tuple[str, ...] = ()  # names of directories that also enter with their pre-training continued
    continue_on: ContinueOn = ContinueOn.CORPUS
    compress: tuple[str, ...] = ()  # what is made small of the entrants, as `comparing/compress_entries.py` reads it
    budget: Budget
    seeds: int = 3
    size: str = "tiny"  # of recipes that are named without one
    tokenizer: Tokenizing = Tokenizing.SHARED
    static: str = "fasttext"  # the word vectors that stand beside the networks, if the recipes name none
    tfidf: bool = False  # TF-IDF + linear beside them; off in studies of before there was one, on in new ones
    overrides: tuple[str, ...] = ()  # of every network's pre-training
    tune: tuple[str, ...] = ()  # of every tuning run: epochs=3
    threads: int = 1
    probes: bool = True
    title: str = ""
    corpus_note: str = ""
    margin: float = MARGIN  # points of quality that a cheaper model may lose and still be recommended; no run depends on it

    def __post_init__(self) -> None:
        if not self.corpus:
            raise PlumeError("A study needs a text to pre-train on: --corpus my.txt")
        if not self.tasks:
            raise PlumeError("A study needs something to be measured by: --task ner=train.conll,dev.conll")
        if not self.recipes and not self.models:
            raise PlumeError("A study needs families to compare: --recipes bert,electra,gpt2 (see 'plume recipes').")
        for what, names in (
            ("task", [task.name for task in self.tasks]),
            ("recipe", list(self.recipes)),
            ("model", self._called()),
            ("way to make models small", list(self.compress)),
        ):
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise PlumeError(f"The {what} '{twice}' is there twice: name each once.")
        for name in self.continued:
            if name not in self._called():
                raise PlumeError(f"--continue {name}: --models names no '{name}'; {suggest(name, self._called())}.")
        self._refuse_measured_in_corpus()
        if self.seeds < 1 or self.threads < 1:
            raise PlumeError(f"A study needs at least one seed and one thread, not {self.seeds} and {self.threads}.")
        if not 0 <= self.margin <= 100:
            raise PlumeError(f"The margin is a number of points from 0 to 100, not {self.margin:g}.")
        if self.budget.unit == "steps":
            raise PlumeError("A step of one family is not a step of another: give a budget of time, tokens or FLOPs.")
        check_numbers(tune_options(self.tune))

    def _refuse_measured_in_corpus(self) -> None:
        for task in self.tasks:
            for path in (task.scored, task.dev):
                if path is not None and (corpus := _holds(self.corpus, path)):
                    raise PlumeError(f"{path}, on which '{task.name}' is measured, is part of the corpus {corpus}: take it out of there.")

    def _called(self) -> list[str]:
        """The names of the directories that enter as they are."""
        return [naming.called(one) for one in self.models]

    def task(self, name: str) -> StudyTask:
        """By its name."""
        return next(task for task in self.tasks if task.name == name)

    def fingerprint(self) -> dict[str, str]:
        """What the files hold: a study goes on only with what it began with."""
        paths = [*map(naming.path_in, (*self.recipes, *self.models)), *(read_entry(one).path for one in self.compress)]
        named = [path for path in paths if path is not None]
        models = [path for path in named if not naming.is_recipe_file(path.name)]
        files = [*self.corpus, *(str(path) for path in named if path not in models)]
        files += [path for task in self.tasks for path in (task.train, task.scored, task.dev) if path]
        return {path: _digest(Path(path)) for path in files} | {str(path): _digest(path, beside=_TRAIN) for path in models}


def _holds(corpus: Sequence[str], path: str | Path) -> str | None:
    """The part of the corpus that the file, or folder, is or lies in."""
    real = Path(path).resolve()
    return next((one for one in corpus if real.is_relative_to(Path(one).resolve())), None)


def refuse_within(study: Study, folder: Path) -> None:
    """What a study writes must not become part of what it reads."""
    if (corpus := _holds(study.corpus, folder)) is not None:
        raise PlumeError(f"{folder} lies within the corpus {corpus}, which would grow by what the study writes: choose another --out.")


def _digest(path: Path, *, beside: str | None = None) -> str:
    """Of a file, or of all in a folder; `beside` a part of it that does not count."""
    if not path.exists():
        raise PlumeError(
            f"{path}, which the study reads, is missing: restore it (a study and its files must stay where they were at its start)."
        )
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    if beside is not None:
        files = [one for one in files if one.relative_to(path).parts[0] != beside]
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def tune_options(assignments: Sequence[str]) -> dict[str, Any]:
    """`epochs=3` as an option of `plume tune`.

    >>> tune_options(["epochs=3", "budget=20s"])
    {'epochs': 3.0, 'budget': '20s'}
    """
    found: dict[str, Any] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        if name not in TUNE_OPTIONS:
            raise PlumeError(f"'{assignment}' is no setting of tuning: {suggest(name, TUNE_OPTIONS)}.")
        try:
            found[name] = TUNE_OPTIONS[name](value)
        except ValueError:
            raise PlumeError(f"'{assignment}': a number is expected.") from None
    return found


def parse_task(text: str) -> StudyTask:
    """`ner=train.conll,dev.conll`, `topic:classification=train.tsv,test.tsv`, or with three files: train, dev, test.

    Two files are what is learned from and what is scored on; a third, between them, says which checkpoint is best.
    """
    what, equals, files = text.partition("=")
    paths = [path.strip() for path in files.split(",") if path.strip()]
    if not equals or len(paths) not in (2, 3):
        raise PlumeError(f"'{text}' is no task with its files: write ner=train.conll,test.conll, or ner=train.conll,dev.conll,test.conll.")
    name, colon, kind = what.strip().partition(":")
    return make_task(name=name, kind=kind if colon else "", train=paths[0], scored=paths[-1], dev=paths[1] if len(paths) == 3 else None)


def make_task(*, name: str, kind: str = "", train: str, scored: str, dev: str | None = None, **others: Any) -> StudyTask:
    """Files must be there; a kind that is not said is the name, if there is such a task, or is found in the file."""
    if not re.fullmatch(r"[\w-]+", name):
        raise PlumeError(f"A task cannot be called '{name}': use letters, digits, _ and -, as in topic:classification=train.tsv,test.tsv.")
    for path in (train, scored, *([dev] if dev else [])):
        if not Path(path).is_file():
            raise PlumeError(f"The task '{name}' names {path}, and there is no such file.")
    known = catalog.names("tasks")
    kind = kind.replace("_", "-")
    if kind and kind not in known:
        raise PlumeError(f"The task '{name}' is said to be '{kind}', which plume does not know: {suggest(kind, known)}.")
    if not kind:
        kind = name.replace("_", "-") if name.replace("_", "-") in known else guess_kind(name, Path(train))
    train, scored, dev = (None if path is None else os.path.abspath(path) for path in (train, scored, dev))  # type: ignore[assignment]
    return StudyTask(name=name, kind=kind, train=train, scored=scored, dev=dev, **others)


def make_study(
    *,
    corpus: Sequence[str | Path],
    tasks: Sequence[StudyTask],
    recipes: Sequence[str],
    budget: str | Budget,
    **others: Any,
) -> Study:
    """A study from what a user writes, on the command line, in a file or in Python. Of `others`, `models` are directories."""
    for path in corpus:
        if not Path(path).exists():
            raise PlumeError(f"There is no corpus at {path}.")
    known = {field.name for field in fields(Study)}
    if unknown := next((name for name in others if name not in known), None):
        raise PlumeError(f"A study has no '{unknown}': {suggest(unknown, known)}.")
    return Study(
        corpus=tuple(os.path.abspath(path) for path in corpus),
        tasks=tuple(tasks),
        recipes=tuple(map(naming.absolute, recipes)),
        budget=budget if isinstance(budget, Budget) else Budget.parse(budget),
        **_typed({"threads": cores(), "tfidf": True} | others),
    )


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Words become what the study's fields are."""
    made = dict(values)
    if (way := made.get("tokenizer")) is not None:
        if way not in list(Tokenizing):
            raise PlumeError(f"The tokenizer is {' or '.join(Tokenizing)}, not '{way}'.")
        made["tokenizer"] = Tokenizing(way)
    if "margin" in made:
        made["margin"] = float(made["margin"])
    if (on := made.get("continue_on")) is not None:
        if on not in list(ContinueOn):
            raise PlumeError(f"Models are continued on the {' or the '.join(ContinueOn)}, not on '{on}'.")
        made["continue_on"] = ContinueOn(on)
    if "models" in made:
        made["models"] = tuple(naming.absolute(one, directory=True) for one in made["models"])
    if "continued" in made:
        made["continued"] = tuple(dict.fromkeys(made["continued"]))
    if "compress" in made:
        made["compress"] = tuple(map(absolute_entry, made["compress"]))
    if "overrides" in made:
        made["overrides"] = tuple(made["overrides"])
    if "tune" in made:  # one way to write a number, so that equal studies are equal
        found = tune_options(made["tune"])
        made["tune"] = tuple(f"{name}={value if isinstance(value, str) else f'{value:.12g}'}" for name, value in found.items())
    return made
