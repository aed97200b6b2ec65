"""What follows a text, token after token: `plume.model.use.completing.Completer` over all requests, which join while others are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plume.model.use.completions import CompletionOptions
from plume.model.use.writing import Begun, answers, begin, inserts
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened, checked_language, checked_verb
from plume.serve.operations._completing import Completing, CompletionReady, check_bias, ready, warm_up


@dataclass(frozen=True, kw_only=True)
class GenerateAsked:
    """Prompts, as texts or token ids, or sources that are answered; with rules for all. Choice i of all is drawn with the options' seed + i."""

    prompts: Sequence[str | Sequence[int]] = ("",)
    options: CompletionOptions
    keep: int | None = None  # of each prompt's choices so many, the likeliest
    sources: Sequence[str] | None = None  # one for each prompt
    suffix: str = ""
    code: str | None = None
    language: str | None = None


class Generate(Completing[GenerateAsked]):
    """Families that write. GPT and its kin write all texts as one batch; those of others go on in groups as they came."""

    name = "generate"
    field = "prompt"

    def able(self, opened: Opened) -> bool:
        return opened.can(self.name)

    def characters(self, asked: GenerateAsked) -> int:
        return characters(asked)

    def prepare(self, opened: Opened, asked: GenerateAsked) -> CompletionReady:
        return ready(prompts(opened, asked), keep=asked.keep)

    def warm_up(self, opened: Opened) -> None:
        warm_up(opened, lambda: begin(opened.language_model.abilities, "a", room=1))


def characters(asked: GenerateAsked) -> int:
    """Of all texts that are read."""
    return sum(map(len, asked.prompts)) + sum(map(len, asked.sources or ())) + len(asked.suffix)


def prompts(opened: Opened, asked: GenerateAsked) -> list[tuple[Begun, CompletionOptions]]:
    """Each as the model reads it, with rules of its own."""
    checked_verb(opened, "generate")
    checked_language(opened, asked.language)
    can, options = opened.language_model.abilities, asked.options
    if asked.suffix and not inserts(can):
        raise BadRequest(
            f"'{opened.name}' ({can.name}) does not write between two texts, as GLM and T5 do: leave suffix out.", param="suffix"
        )
    if asked.sources is not None and not answers(can):
        raise BadRequest(
            f"'{opened.name}' ({can.name}) does not write after reading, as T5 and UniLM do: leave source out.", param="source"
        )
    check_bias(opened, options)
    found = []
    for number, prompt in enumerate(asked.prompts):
        source = None if asked.sources is None else asked.sources[number]
        begun = begin(
            can, prompt, room=options.max_tokens, code=asked.code, source=source, language=asked.language, suffix=asked.suffix,
            place=f"prompt {number + 1}" if len(asked.prompts) > 1 else "",
        )  # fmt: skip
        found.append((begun, replace(options, seed=options.seed + number * options.n)))
    return found


OPERATION = Generate()
