"""What follows a text, by beam search: many ways to go on are compared, so nothing is known before the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plume.model.use.sampling import Sampling
from plume.model.use.searching import Finish
from plume.model.use.streaming import Telling
from plume.model.use.writing import written
from plume.serve.models.opened import Opened
from plume.serve.operations._completing import Completed, CompletionReady, WrittenChoice, completed, ready
from plume.serve.operations._operation import Operation
from plume.serve.operations.generate import GenerateAsked, characters, prompts


@dataclass(frozen=True, kw_only=True)
class BeamsAsked:
    """What is generated; of its options only `max_tokens`, `stop`, `echo` and the penalty for repetition count."""

    generate: GenerateAsked
    beams: int


class BeamSearch(Operation[BeamsAsked, CompletionReady, Completed]):
    """All families that write."""

    name = "beam_search"
    field = "prompt"

    def able(self, opened: Opened) -> bool:
        return opened.can("generate")

    def characters(self, asked: BeamsAsked) -> int:
        return characters(asked.generate)

    def prepare(self, opened: Opened, asked: BeamsAsked) -> CompletionReady:
        made = ready(prompts(opened, asked.generate))
        return replace(made, cost=made.cost * asked.beams, group=(asked.beams, asked.generate.options.repetition_penalty))

    def run(self, opened: Opened, prepared: Sequence[CompletionReady]) -> list[Completed]:
        can, (beams, penalty) = opened.language_model.abilities, _group(prepared[0])
        texts = [prompt for one in prepared for prompt in one.prompts]
        tellings = [Telling(can.tokenizer, begun.text, stops=options.stop) for begun, options in texts]
        choices = [WrittenChoice() for _ in texts]
        sampling = Sampling(beams=beams, repetition_penalty=penalty)
        for number, token in written(can, [begun for begun, _ in texts], sampling=sampling, seeds=[0] * len(texts)):
            if not tellings[number].stopped:
                tellings[number].add(token)
                choices[number].written += 1
        for (begun, options), telling, choice in zip(texts, tellings, choices, strict=True):
            telling.close()
            full = choice.written == min(begun.room, options.max_tokens) and not telling.stopped
            choice.finish = Finish.LENGTH if full else Finish.STOP
            choice.text = (can.tokenizer.decode(begun.text) if options.echo else "") + telling.text
        remaining = iter(choices)
        return [completed(one, [[next(remaining)] for _ in one.prompts]) for one in prepared]


def _group(one: CompletionReady) -> tuple[int, float]:
    assert isinstance(one.group, tuple)
    beams, penalty = one.group
    return beams, penalty


OPERATION = BeamSearch()
