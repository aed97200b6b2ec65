"""What belongs in the blanks of a text: `LanguageModel.fill`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.model.use.filling import Blank
from plume.serve.models.opened import Opened, checked_language, checked_verb
from plume.serve.operations._operation import Operation, Prepared, about_tokens

Fillings = list[list[Blank]]  # for each blank the likeliest


@dataclass(frozen=True, kw_only=True)
class FillAsked:
    """Texts with blanks: the family's mask token, or ___."""

    texts: Sequence[str]
    top: int = 5
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class FillReady(Prepared):
    """The same."""

    asked: FillAsked


class Fill(Operation[FillAsked, FillReady, list[Fillings]]):
    """Families that predict what is hidden. Texts are filled one by one: families differ in how, and texts in how many blanks they have."""

    name = "fill"
    field = "inputs"

    def able(self, opened: Opened) -> bool:
        return opened.can(self.name)

    def characters(self, asked: FillAsked) -> int:
        return sum(map(len, asked.texts))

    def prepare(self, opened: Opened, asked: FillAsked) -> FillReady:
        checked_verb(opened, self.name)
        checked_language(opened, asked.language)
        return FillReady(cost=sum(map(about_tokens, asked.texts)), asked=asked)

    def run(self, opened: Opened, prepared: Sequence[FillReady]) -> list[list[Fillings]]:
        model = opened.language_model
        return [[model.fill(text, top=one.asked.top, language=one.asked.language) for text in one.asked.texts] for one in prepared]


OPERATION = Fill()
