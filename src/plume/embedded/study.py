"""A corpus and three tasks in one language, written as files: what `plume compare` runs on when it is given nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.core.files import write_text
from plume.embedded.chinese import chinese_material
from plume.embedded.english import english_material
from plume.embedded.material import Material, TaskMaterial

_LANGUAGES: dict[str, Callable[[], Material]] = {"en": english_material, "zh": chinese_material}


@dataclass(frozen=True, kw_only=True)
class EmbeddedTask:
    """A task's files."""

    name: str
    kind: str  # as `plume tune --task` calls it
    train: Path
    test: Path
    note: str  # how it came about


@dataclass(frozen=True, kw_only=True)
class EmbeddedStudy:
    """A corpus file and the tasks' files, written to a folder."""

    language: str
    corpus: Path
    corpus_note: str
    tasks: tuple[EmbeddedTask, ...]


def write_study(language: str, folder: Path) -> EmbeddedStudy:
    """Write corpus.txt and the tasks' files. The same packages give the same bytes."""
    if language not in _LANGUAGES:
        raise PlumeError(f"There is no embedded study in '{language}'; there is one in {' and in '.join(sorted(_LANGUAGES))}.")
    material = _LANGUAGES[language]()
    corpus = folder / "corpus.txt"
    write_text(corpus, material.corpus)
    tasks = tuple(_written(task, folder) for task in material.tasks)
    return EmbeddedStudy(language=language, corpus=corpus, corpus_note=material.corpus_note, tasks=tasks)


def _written(task: TaskMaterial, folder: Path) -> EmbeddedTask:
    train, test = folder / f"{task.name}.train{task.suffix}", folder / f"{task.name}.test{task.suffix}"
    write_text(train, task.train)
    write_text(test, task.test)
    return EmbeddedTask(name=task.name, kind=task.kind, train=train, test=test, note=task.note)
