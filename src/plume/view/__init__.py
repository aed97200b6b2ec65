"""Looking inside a model: pages that open offline, and show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume.tuning.tuned import TunedModel
from plume.view.attending import attention_page, importance_page
from plume.view.inside import gradients_page, layers_page, predictions_page, senses_page
from plume.view.page import Page
from plume.view.recording.importance import TaskHeads
from plume.view.recording.subject import Subject, Viewed, open_subject, opened, subject_of

__all__ = ["Page", "attention", "gradients", "heads", "layers", "predictions", "senses"]


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


def predictions(model: str | Path | Viewed, text: str, **how: Any) -> Page:
    """What every layer guesses of each token (`how`: written, top, said, language)."""
    return predictions_page(_loaded(model), text, **how)


def gradients(model: str | Path | TunedModel, item: Any, **how: Any) -> Page:
    """Which tokens made a fine-tuned model answer as it does (`how`: task, baseline, answers, language)."""
    return gradients_page(_loaded(model), item, **how)


def senses(model: str | Path | Viewed, word: str, file: str | Path, **how: Any) -> Page:
    """A word's vectors in the sentences of a file, layer by layer (`how`: most, label, text, said, language)."""
    return senses_page(_loaded(model), word, file, **how)


def layers(model: str | Path | Viewed, tasks: Sequence[str] = (), **how: Any) -> Page:
    """What each layer knows; tasks as on the command line: "pos=train.conll,dev.conll" (`how`: most, seed, language)."""
    return layers_page(_loaded(model), tasks, **how)


def _loaded(model: Any) -> Any:
    """The pages refuse what they cannot show, in their own words."""
    return opened(Path(model)) if isinstance(model, str | Path) else model


def _subject(model: str | Path | Viewed) -> Subject:
    return open_subject(model) if isinstance(model, str | Path) else subject_of(model)
