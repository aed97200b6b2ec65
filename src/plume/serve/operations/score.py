"""How likely a model finds texts: `LanguageModel.score`, over all requests that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.model.use.scoring import Score
from plume.model.use.writing import answers
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened, checked_language, checked_verb
from plume.serve.operations._operation import Operation, Prepared, about_tokens, parted


@dataclass(frozen=True, kw_only=True)
class ScoreAsked:
    """Texts; of models that write after reading, with what was read: one source for each."""

    texts: Sequence[str]
    sources: Sequence[str] | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreReady(Prepared):
    """The same."""

    asked: ScoreAsked


class ScoreTexts(Operation[ScoreAsked, ScoreReady, list[Score]]):
    """Exact where a model reads from left to right; else each token is hidden in turn."""

    name = "score"
    field = "inputs"

    def able(self, opened: Opened) -> bool:
        return opened.can(self.name)

    def characters(self, asked: ScoreAsked) -> int:
        return sum(map(len, asked.texts))

    def prepare(self, opened: Opened, asked: ScoreAsked) -> ScoreReady:
        checked_verb(opened, self.name)
        checked_language(opened, asked.language)
        can = opened.language_model.abilities
        alone = can.causal() is not None or can.spans() is not None or can.masked() is not None or can.permuted() is not None
        if asked.sources is None and not alone:
            raise BadRequest(f"'{opened.name}' ({can.name}) writes after reading: say what it read (source).", param="source")
        if asked.sources is not None and not answers(can):
            raise BadRequest(
                f"'{opened.name}' ({can.name}) does not write after reading, as T5 and UniLM do: leave source out.", param="source"
            )
        again = can.masked() is not None and can.causal() is None and asked.sources is None  # a text is read once for each of its tokens
        sizes = [about_tokens(text) for text in (*asked.texts, *(asked.sources or ()))]
        return ScoreReady(cost=sum(size * size if again else size for size in sizes), group=asked.sources is None, asked=asked)

    def run(self, opened: Opened, prepared: Sequence[ScoreReady]) -> list[list[Score]]:
        texts = [text for one in prepared for text in one.asked.texts]
        sources = [text for one in prepared for text in one.asked.sources or ()]
        languages = [one.asked.language for one in prepared for _ in one.asked.texts]
        scores = opened.language_model.score(texts, source=sources or None, language=languages)
        return parted(scores, (len(one.asked.texts) for one in prepared))


OPERATION = ScoreTexts()
