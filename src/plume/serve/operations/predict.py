"""Answers of a fine-tuned model, for any task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.serve.errors import BadRequest, Unreadable
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared, about_tokens
from plume.tuning.task import Prediction, Task


@dataclass(frozen=True, kw_only=True)
class PredictAsked:
    """Items as `TunedModel.predict` takes them: texts, pairs, or what the task reads."""

    items: Sequence[Any]
    task: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class PredictReady(Prepared):
    """Examples of one task."""

    task: Task
    examples: list[Example]


class Predict(Operation[PredictAsked, PredictReady, list[Prediction]]):
    """Every task of `plume.tasks` that a model is tuned for."""

    name = "predict"
    field = "inputs"
    parallel = True

    def able(self, opened: Opened) -> bool:
        return opened.has(lambda one: one.tuned)

    def characters(self, asked: PredictAsked) -> int:
        return sum(len(str(item)) for item in asked.items)

    def prepare(self, opened: Opened, asked: PredictAsked) -> PredictReady:
        tuned = opened.tuned
        try:
            task = tuned.task(asked.task)
        except PlumeError as error:
            known = ", ".join(one.called for one in tuned.tasks)
            raise BadRequest(f"'{opened.name}' was tuned for {known}: say which as task.", param="task") from error
        examples: list[Example] = []
        for place, item in enumerate(asked.items):
            try:
                examples += tuned.told([task.example(item)], asked.language)
            except PlumeError as error:
                raise Unreadable(str(error), param=f"inputs.{place}") from None
        cost = sum(about_tokens(text) for example in examples for text in example.texts)
        return PredictReady(cost=cost, group=task.called, task=task, examples=examples)

    def run(self, opened: Opened, prepared: Sequence[PredictReady]) -> list[list[Prediction]]:
        answers, _ = opened.tuned.answers(prepared[0].task, [example for one in prepared for example in one.examples])
        found, first = [], 0
        for one in prepared:
            found.append(answers[first : first + len(one.examples)])
            first += len(one.examples)
        return found


OPERATION = Predict()
