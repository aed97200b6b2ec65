"""From a model, few examples and a prompt to a tuned model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, removed_if_refused, write_json, write_text
from plume.hf.importing import check_free
from plume.prompting.job import PromptJob, PromptSettings, read_job
from plume.prompting.method import method as named
from plume.prompting.method import names
from plume.prompting.trying import FOLDS, TriedPrompt, section, told, tried_by_folds
from plume.prompting.usual import refuse_kind
from plume.train.card import CARD
from plume.tuning.best import BEST_SCORE
from plume.tuning.declared import is_tuned

_BY_FOLDS = Path("train") / "by_folds.json"


@dataclass(frozen=True, kw_only=True)
class PromptOutcome:
    """A prompt that was used: its model, and its scores on dev, or the signal that stopped it."""

    folder: Path
    scores: dict[str, float] = field(default_factory=dict)
    on: str = "dev"  # what they were measured on, in words
    stopped_by: str | None = None


def prompt(settings: PromptSettings, folder: Path, *, quiet: bool = False) -> PromptOutcome:
    """Into a directory that does not exist yet or is empty."""
    check_free(folder)
    method = settings.method
    refuse_kind(settings.task)
    if settings.text and not method.unlabelled:
        raise PlumeError(f"--method {method.name} learns from the labelled examples alone: leave out --text, or take {_taking_text()}.")
    if not method.prompted and (settings.templates or settings.words):
        given = " and ".join(option for option, said in (("--template", settings.templates), ("--labels", settings.words)) if said)
        raise PlumeError(f"--method {method.name} is a control and uses no prompt: leave out {given}.")
    if settings.by_folds and settings.dev:
        raise PlumeError("--dev-by-folds measures within the training examples, and --dev on a file: leave one of them out.")
    job = PromptJob(settings=settings, folder=folder, quiet=quiet)
    with removed_if_refused(folder, unless=lambda: any(folder.rglob("metrics.jsonl"))):
        job.save()
        return _finish(job)


def go_on(folder: Path, *, quiet: bool = False) -> PromptOutcome:
    """With one that was stopped."""
    return _finish(read_job(folder, quiet=quiet))


def _finish(job: PromptJob) -> PromptOutcome:
    tried = _by_folds(job)
    stopped_by = tried if isinstance(tried, str) else job.settings.method.run(job)
    if stopped_by is not None:
        return PromptOutcome(folder=job.folder, stopped_by=stopped_by)
    assert is_tuned(job.folder), "a method leaves a model"
    if isinstance(tried, TriedPrompt):
        write_text(job.folder / CARD, (job.folder / CARD).read_text(encoding="utf-8") + "\n" + section([tried]))
        job.clear_parts()
    known: dict[str, Any] = read_json(job.folder / BEST_SCORE, "the run keeps its scores there")
    usual = "dev" if job.prepared.held_out else "the training examples"
    return PromptOutcome(folder=job.folder, scores=known["scores"], on=known.get("on", usual))


def _by_folds(job: PromptJob) -> TriedPrompt | str | None:
    """What the method gets within the training examples, if that was asked for; or the signal that stopped it."""
    method, file = job.settings.method, job.folder / _BY_FOLDS
    if not job.settings.by_folds or method.by_folds:
        return None
    if file.exists():  # a run that goes on does not measure twice
        return TriedPrompt.of(read_json(file, "what the folds said"))
    tried = tried_by_folds(job, method.name, job.templates[0] if method.several else job.template, FOLDS)
    if isinstance(tried, str):
        return tried
    if tried.refused:
        raise PlumeError(tried.refused)
    make_folder(file.parent)
    write_json(file, vars(tried))
    job.say(told(tried))
    return tried


def _taking_text() -> str:
    """The methods that look at texts without a label."""
    return ", ".join(name for name in names() if named(name).unlabelled)
