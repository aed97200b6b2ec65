"""A study on what plume brings: text and tasks that are there without any file of the user's, sized for a few minutes on two cores."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from plume.comparing.run import refuse_foreign
from plume.comparing.study import EMBEDDED, Study, make_study, make_task
from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.embedded.study import write_study

RECIPES = ("bert", "electra", "gpt2", "spanbert")
_BUDGET, _SEEDS = "40s", 2
_SETTINGS = ("training.length=64", "training.batch=16")  # many small steps: the budget is small
_TITLES = {"en": "plume on the manuals of its own libraries", "zh": "《人民日报》与书评影评上的比较"}


def embedded_study(folder: Path, *, language: str, **given: Any) -> Study:
    """Its files lie in the study's directory, which must be free for it or hold the same study: nothing that is there is written over."""
    refuse_foreign(folder)
    home = folder / EMBEDDED
    with tempfile.TemporaryDirectory() as scratch:
        written = write_study(language, Path(scratch))
        files = sorted(Path(scratch).iterdir())
        for file in files:
            there = home / file.name
            if there.exists() and there.read_bytes() != file.read_bytes():
                raise PlumeError(f"{there} is there already, and is of another study: choose another --out.")
        for file in files:
            write_atomic(home / file.name, lambda target, file=file: shutil.copyfile(file, target))  # type: ignore[misc]
    tasks = [
        make_task(name=one.name, kind=one.kind, train=str(home / one.train.name), scored=str(home / one.test.name), note=one.note)
        for one in written.tasks
    ]
    usual: dict[str, Any] = {
        "recipes": RECIPES, "budget": _BUDGET, "seeds": _SEEDS, "overrides": _SETTINGS, "title": _TITLES[language],
        "corpus": [home / written.corpus.name], "corpus_note": written.corpus_note, "tasks": tasks,
    }  # fmt: skip
    return make_study(**(usual | given))
