"""Trying a method within the training examples: each fold is answered by a model that was trained on the others."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json
from plume.prompting.folds import check_folds, folds_of, write_rows
from plume.prompting.job import PromptJob
from plume.prompting.method import method
from plume.train.card import table
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.loaded import load_tuned

FOLDS = 4


@dataclass(frozen=True)
class TriedPrompt:
    """A method with a template, and how many examples it got right that it had not seen; or the sentence that refused it."""

    method: str
    template: str
    right: tuple[int, ...]  # of each fold
    rows: int
    refused: str = ""

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """As it was kept."""
        return cls(**record | {"right": tuple(record["right"])})

    @property
    def share(self) -> float:
        """Of all."""
        return sum(self.right) / self.rows

    @property
    def error(self) -> float:
        """The standard error of the share; where all are right, or none, as if half of one were not."""
        share = min(max(self.share, 0.5 / self.rows), 1 - 0.5 / self.rows)
        return float(np.sqrt(share * (1 - share) / self.rows))


def alone(job: PromptJob, name: str, template: str) -> PromptJob:
    """The job with one method, and one template unless it takes all."""
    chosen = job.settings.method if job.settings.method.name == name else method(name)
    return job.changed(
        method=chosen,
        templates=job.templates if chosen.several else (template,),
        text=job.settings.text if chosen.unlabelled else (),
        words=() if chosen.finds_words else job.settings.words,
    )


def tried_by_folds(job: PromptJob, name: str, template: str, folds: int) -> TriedPrompt | str:
    """What a method gets by folds of the training examples; or the signal that stopped it."""
    check_folds(job.prepared.train, job.prepared.task)
    held = folds_of(job.prepared.train, folds, seed=job.settings.seed)
    right = []
    for number, out in enumerate(held):
        try:
            found = answered_right(job, name, template, number, out)
        except PlumeError as refused:
            return TriedPrompt(name, template, (), sum(map(len, held)), str(refused))
        if isinstance(found, str):
            return found
        right.append(found)
    return TriedPrompt(name, template, tuple(right), sum(map(len, held)))


def answered_right(job: PromptJob, name: str, template: str, number: int, out: list[int]) -> int | str:
    """How many of a fold's examples a model gets right that was trained on the others; or the signal that stopped it."""
    place = job.parts / "folds" / f"{name}-{job.templates.index(template)}-{number}"
    done = place.with_suffix(".json")
    if done.exists():
        return int(read_json(done, "a fold's result")["right"])
    examples, unseen = job.prepared.train, set(out)
    rows = place.with_suffix(".jsonl")
    write_rows(rows, [one for at, one in enumerate(examples) if at not in unseen])
    inner = alone(job, name, template).changed(folder=place, train=(str(rows.absolute()),), dev=(), columns=(), answer=None)
    stopped_by = inner.settings.method.run(inner)
    if stopped_by is not None:
        return stopped_by
    tuned = load_tuned(place)
    asked = [examples[at] for at in out]
    predictions, _ = tuned.answers(tuned.tasks[0], asked)
    right = int(np.sum(tuned.tasks[0].grades(asked, predictions)))
    make_folder(done.parent)
    write_json(done, {"right": right})
    shutil.rmtree(place)
    return right


def refuse_words(job: PromptJob) -> None:
    """What a user has to put right is said before anything is tried, and is no reason to try something else."""
    task = job.prepared.task
    for template in job.templates:
        prompt = job.prompted(template, soft=True).prompt
        if isinstance(task, LabelTask):
            prompt.words_of(task.labels)


def called(one: TriedPrompt) -> str:
    """The method, and its template where it has one."""
    return f'{one.method} "{one.template}"' if method(one.method).prompted else one.method


def told(one: TriedPrompt) -> str:
    """In a line."""
    if one.refused:
        return f"{called(one)}: not possible. {one.refused}"
    folds = ", ".join(map(str, one.right))
    return f"{called(one)}: {sum(one.right)} of {one.rows} right ({one.share:.3f}, standard error {one.error:.3f}; by fold: {folds})"


def verdict(tried: Sequence[TriedPrompt], best: TriedPrompt) -> list[str]:
    """What may be said of the best, and of those that are not told apart from it."""
    close = [one for one in tried if one is not best and not one.refused and best.share - one.share <= best.error]
    lines = [f"best by folds: {called(best)} with {best.share:.3f}, which flatters it: it was chosen by this figure."]
    if close:
        lines.append(f"within one standard error of it, not told apart: {', '.join(map(called, close))}.")
    return lines


def section(tried: Sequence[TriedPrompt], best: TriedPrompt | None = None) -> str:
    """Of the card."""
    rows = [
        (one.method, one.template if method(one.method).prompted else "", one.refused or f"{one.share:.3f} ± {one.error:.3f}",
         ", ".join(map(str, one.right)))
        for one in tried
    ]  # fmt: skip
    shown = table(("method", "template", "share right", "right by fold"), rows)
    what = "Each fold of the training examples was answered by a model trained on the others."
    said = [what] if best is None else [what, *verdict(tried, best)]
    return "\n\n".join(["## By folds of the training examples", shown, " ".join(said)]) + "\n"
