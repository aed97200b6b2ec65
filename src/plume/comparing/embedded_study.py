"""A study on what plume brings: text and tasks that are there without any file of the user's, sized for ten minutes on two cores."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from plume.comparing.running.run import refuse_foreign
from plume.comparing.study import EMBEDDED, Study, make_study, make_task
from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.embedded.study import write_study

# Two ways to learn from text: blanks and orders. Tokens, not time: the same figures on every machine, busy or not.
_RECIPES = ("bert", "xlnet")
_BUDGET, _SEEDS = "1.3e6tokens", 2
_SETTINGS = ("training.length=64", "training.batch=16")
_TUNING = ("epochs=5", "batch=8")  # many small steps: there are few examples
_TITLES = {"en": "plume on the manuals of its own libraries", "zh": "《人民日报》与书籍、酒店评论上的比较"}


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
        "recipes": _RECIPES, "budget": _BUDGET, "seeds": _SEEDS, "overrides": _SETTINGS, "tune": _TUNING, "threads": 1, "title": _TITLES[language],
        "corpus": [home / written.corpus.name], "corpus_note": written.corpus_note, "tasks": tasks,
    }  # fmt: skip
    return make_study(**(usual | given))
