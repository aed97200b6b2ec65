"""Labels that nobody trained the model for: `plume predict --task zero-shot`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared, about_tokens
from plume.tasks.zero_shot import TASK
from plume.tuning.task import Prediction
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class ZeroShotAsked:
    """Texts and the labels to choose from, as `ZeroShot.predict` takes them."""

    texts: Sequence[str]
    labels: Sequence[str]
    template: str | None = None
    multi_label: bool = False
    way: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class ZeroShotReady(Prepared):
    """Requests that ask for the same labels in the same way share a batch."""

    asked: ZeroShotAsked


class ZeroShotLabelling(Operation[ZeroShotAsked, ZeroShotReady, list[Prediction]]):
    """By entailment, or by a cloze."""

    name = "zero_shot"
    parallel = True

    def able(self, opened: Opened) -> bool:
        return opened.has(lambda one: one.language_model)

    def characters(self, asked: ZeroShotAsked) -> int:
        return sum(map(len, asked.texts))

    def prepare(self, opened: Opened, asked: ZeroShotAsked) -> ZeroShotReady:
        if not self.able(opened):
            raise BadRequest(f"'{opened.name}' holds no language model that could judge labels.", param="labels")
        cost = sum(about_tokens(text) + 10 for text in asked.texts) * len(asked.labels)
        group = (tuple(asked.labels), asked.template, asked.multi_label, asked.way, asked.language)
        return ZeroShotReady(cost=cost, group=group, asked=asked)

    def run(self, opened: Opened, prepared: Sequence[ZeroShotReady]) -> list[list[Prediction]]:
        model, first = opened.content, prepared[0].asked
        assert isinstance(model, LanguageModel | TunedModel), "it was able to"
        try:
            answers = iter(
                TASK.predict(
                    model,
                    [text for one in prepared for text in one.asked.texts],
                    labels=list(first.labels),
                    template=first.template,
                    multi_label=first.multi_label,
                    way=first.way,
                    language=first.language,
                )
            )
        except PlumeError as error:
            raise BadRequest(str(error), param="labels") from None
        return [list(islice(answers, len(one.asked.texts))) for one in prepared]


OPERATION = ZeroShotLabelling()
