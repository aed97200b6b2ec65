"""What in a text made a tuned model answer as it did: integrated gradients of labels, tags, answers, choices and numbers.

Labels, tags and answers are measured by their log-odds, log p/(1 − p): they add up where probabilities saturate. Numbers are what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.heads.sentence_classification import SentenceRegressionModule
from plume.tuning.linear.model import LinearModel
from plume.tuning.rows.questions import Questions
from plume.tuning.tuned import TunedModel
from plume.view.recording.answers import WantedOutput, wanted
from plume.view.recording.integrating import Baseline, Integrated, TextPath, usual_baseline
from plume.view.recording.pieces import Piece, shown


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One answer, and what each token adds to it."""

    answer: str
    about: str  # the word that is tagged; empty where the whole text is answered for
    chosen: bool  # is it what the model answers?
    tokens: list[Piece]
    text: list[int]  # of which of the texts each token is; -1: special
    added: NDArray[np.float64]  # [T]
    output: float
    before: float  # for the baseline
    error: float  # of the sum of what was added, as a share of output - before
    steps: int


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why a model answered so, answer by answer, what it chose first."""

    task: str
    unit: str  # log-odds or number
    baseline: Baseline
    answers: list[Explained]


def explain(
    model: TunedModel,
    item: Any,
    *,
    task: str | None = None,
    baseline: Baseline | str | None = None,
    answers: int = 4,
    tolerance: float = 0.05,
    most_steps: int = 512,
) -> Explanation:
    """Of one item as `predict` takes it. `answers` is how many labels, choices or tagged words are explained, those the model chose first.

    Steps are doubled until the error is below the tolerance, or there are `most_steps`; each record says its own.
    """
    if not isinstance(model, TunedModel) or isinstance(model, LinearModel):
        raise PlumeError("Gradients explain the answers of a network that was tuned for a task ('plume tune'); this is none.")
    asked = model.task(task)
    if asked.objective is not None:
        raise PlumeError(f"{asked.called}: this model writes its answers, and gradients explain a task's own head: tune an encoder for it.")
    example = asked.example(item)
    questions, _ = asked.questions([example], model.coder())
    if not len(questions):
        raise PlumeError(f"{asked.called}: there is nothing to answer in this text.")
    start = usual_baseline(model) if baseline is None else _baseline(baseline)
    chosen = wanted(model, asked, questions, example)[:answers]
    paths = {group: TextPath(model, questions, group, start) for group in {one.group for one in chosen}}
    return Explanation(
        task=asked.called,
        unit="number" if isinstance(model.model.head(asked.called), SentenceRegressionModule) else "log-odds",
        baseline=start,
        answers=[
            _explained(model, questions, one, paths[one.group].integrate(one.output, tolerance=tolerance, most=most_steps))
            for one in chosen
        ],
    )


def _baseline(baseline: Baseline | str) -> Baseline:
    try:
        return Baseline(baseline)
    except ValueError:
        raise PlumeError(f"There is no baseline '{baseline}': choose {', '.join(Baseline)}.") from None


def _explained(model: TunedModel, questions: Questions, asked: WantedOutput, found: Integrated) -> Explained:
    """The tokens of all rows of the group, one behind the other."""
    rows = questions.rows
    picked = questions.rows_of(np.array([asked.group]))
    places = np.concatenate([np.arange(rows.bounds[row], rows.bounds[row + 1]) for row in picked])
    added = np.concatenate([one[: rows.length[row]] for one, row in zip(found.added, picked, strict=True)])
    known = model.model.body.vocabulary
    tokens = [model.tokenizer.token(number) if number < known else rows.unseen[number - known] for number in rows.tokens[places].tolist()]
    return Explained(
        answer=asked.answer,
        about=asked.about,
        chosen=asked.chosen,
        tokens=shown(model.tokenizer, tokens),
        text=rows.text[places].tolist(),
        added=added,
        output=found.output,
        before=found.before,
        error=found.error,
        steps=found.steps,
    )
