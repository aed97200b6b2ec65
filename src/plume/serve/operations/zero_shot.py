"""Labels that nobody trained the model for, by entailment or by a cloze."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.search.index import Index
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared, about_tokens, parted
from plume.static.model import WordModel
from plume.tasks.zero_shot import TASK
from plume.tuning.prompts.label_words import read_words
from plume.tuning.task import Prediction
from plume.tuning.tuned import TunedModel
from plume.tuning.zero_shot.entailment import find_entailment


@dataclass(frozen=True, kw_only=True)
class ZeroShotAsked:
    """As `plume predict --task zero-shot` takes them; labels with what is said for each."""

    texts: Sequence[str]
    labels: tuple[tuple[str, str], ...]
    template: str | None = None
    multi_label: bool = False
    way: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class ZeroShotReady(Prepared):
    """The same."""

    asked: ZeroShotAsked


class ZeroShotLabels(Operation[ZeroShotAsked, ZeroShotReady, list[Prediction]]):
    """Models tuned on entailment, and those that fill blanks or read from left to right."""

    name = "zero_shot"
    field = "inputs"
    parallel = True

    def able(self, opened: Opened) -> bool:
        if isinstance(opened.content, TunedModel) and find_entailment(opened.content) is not None:
            return True
        return opened.can("fill") or opened.can("generate")

    def characters(self, asked: ZeroShotAsked) -> int:
        return sum(map(len, asked.texts))

    def prepare(self, opened: Opened, asked: ZeroShotAsked) -> ZeroShotReady:
        if not self.able(opened):
            raise BadRequest(
                f"'{opened.name}' gives no labels without training: it neither judges entailment nor fills blanks.", param="labels"
            )
        try:
            read_words(dict(asked.labels))
        except PlumeError as error:
            raise BadRequest(str(error), param="labels") from None
        judges = isinstance(opened.content, TunedModel) and find_entailment(opened.content) is not None
        if asked.way == "entailment" and not judges:
            raise BadRequest(f"'{opened.name}' was not tuned to judge entailment: leave way out.", param="way")
        cost = sum(map(about_tokens, asked.texts)) * len(asked.labels)
        return ZeroShotReady(cost=cost, group=(asked.labels, asked.template, asked.multi_label, asked.way, asked.language), asked=asked)

    def run(self, opened: Opened, prepared: Sequence[ZeroShotReady]) -> list[list[Prediction]]:
        how, content = prepared[0].asked, opened.content
        assert not isinstance(content, Index | WordModel), "refused before"
        texts = [text for one in prepared for text in one.asked.texts]
        try:
            answers = TASK.predict(
                content, texts, labels=dict(how.labels), template=how.template, multi_label=how.multi_label, way=how.way, language=how.language
            )  # fmt: skip
        except PlumeError as error:
            raise BadRequest(str(error), param="labels" if how.template is None else "template") from None
        return parted(answers, (len(one.asked.texts) for one in prepared))


OPERATION = ZeroShotLabels()
