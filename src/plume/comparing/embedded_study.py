"""A study on what plume brings: text and tasks that are there without any file of the user's, sized for a few minutes on two cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plume.comparing.study import EMBEDDED, Study, make_study, make_task
from plume.core.errors import PlumeError
from plume.embedded.study import write_study

RECIPES = ("bert", "electra", "gpt2", "spanbert")
_BUDGET, _SEEDS = "40s", 2
_SETTINGS = ("training.length=64", "training.batch=16")  # many small steps: the budget is small
_TITLES = {"en": "plume on the manuals of its own libraries", "zh": "《人民日报》与书评影评上的比较"}


def embedded_study(folder: Path, *, language: str, **given: Any) -> Study:
    """Its files are written into the study's directory, which must be free for it or hold the same study."""
    if folder.exists() and not (folder / EMBEDDED).exists() and any(folder.iterdir()):
        raise PlumeError(f"{folder} exists already and holds no study: choose another --out.")
    written = write_study(language, folder / EMBEDDED)
    tasks = [make_task(name=one.name, kind=one.kind, train=str(one.train), scored=str(one.test), note=one.note) for one in written.tasks]
    usual: dict[str, Any] = {
        "recipes": RECIPES, "budget": _BUDGET, "seeds": _SEEDS, "overrides": _SETTINGS, "title": _TITLES[language],
        "corpus": [written.corpus], "corpus_note": written.corpus_note, "tasks": tasks,
    }  # fmt: skip
    return make_study(**(usual | given))
