"""Other words for a text, by a model that was trained to find them (SimBERT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from plume.sentences.paraphrasing import paraphrase
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared, about_tokens


@dataclass(frozen=True, kw_only=True)
class ParaphraseAsked:
    """A text, how many others are wanted, and `options` of `LanguageModel.generate`."""

    text: str
    count: int = 5
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ParaphraseReady(Prepared):
    """The same."""

    asked: ParaphraseAsked


class ParaphraseText(Operation[ParaphraseAsked, ParaphraseReady, list[tuple[str, float]]]):
    """One after another: each writes a batch of texts, and compares their vectors."""

    name = "paraphrase"
    field = "paraphrase"

    def able(self, opened: Opened) -> bool:
        return opened.can("generate") and opened.language_model.abilities.after_text() is not None

    def prepare(self, opened: Opened, asked: ParaphraseAsked) -> ParaphraseReady:
        if not self.able(opened):
            raise BadRequest(
                f"'{opened.name}' was not trained to write paraphrases: plume sentences train MODEL --method simbert --text PAIRS --out DIR",
                param="paraphrase",
            )
        can = opened.language_model.abilities
        can.check_length(can.frame(can.tokenizer.encode([asked.text])[0]), asked.text)
        return ParaphraseReady(cost=asked.count * (about_tokens(asked.text) + int(asked.options.get("max_tokens", 50))), asked=asked)

    def run(self, opened: Opened, prepared: Sequence[ParaphraseReady]) -> list[list[tuple[str, float]]]:
        asked = [one.asked for one in prepared]
        return [paraphrase(opened.language_model, one.text, count=one.count, seed=one.seed, **one.options) for one in asked]


OPERATION = ParaphraseText()
