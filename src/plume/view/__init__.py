"""Looking inside a model: pages that open offline, and show themselves in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plume.view.attending import attention_page, importance_page
from plume.view.page import Page
from plume.view.recording.importance import TaskHeads
from plume.view.recording.subject import Subject, Viewed, open_subject, subject_of

__all__ = ["Page", "attention", "heads"]


def attention(model: str | Path | Viewed, text: str, *, against: str | Path | Viewed | None = None, **how: Any) -> Page:
    """What every head looks at in a text, of one model or of two: a page that shows itself in a notebook, and can be written.

    `how` is as on the command line: pair, target, before, view, task, said (the text's language), language (the page's).
    """
    return attention_page([_subject(one) for one in (model, against) if one is not None], text, **how)


def heads(
    model: str | Path | Viewed, file: str | Path, *, task: str | None = None, examples: int = 256, quick: bool = False, language: str = "en"
) -> Page:
    """Which heads matter for a labelled file; `quick`: by gradients alone."""
    found = TaskHeads(_subject(model), file, task=task, examples=examples).importance(without_each=not quick)
    return importance_page(found, language=language)


def _subject(model: str | Path | Viewed) -> Subject:
    return open_subject(model) if isinstance(model, str | Path) else subject_of(model)
