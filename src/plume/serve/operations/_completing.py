"""Writing for many requests at once, which come and leave between two tokens: what `generate` and `chat` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from plume.core.errors import PlumeError
from plume.model.use.completing import Completer
from plume.model.use.completions import CompletionEvent, CompletionOptions, TokenLogprob
from plume.model.use.searching import Finish
from plume.model.use.writing import Begun
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import BatchPlace, Operation, Prepared
from plume.tuning.writing.replying import TrimmedText

Asked = TypeVar("Asked", contravariant=True)


@dataclass(frozen=True, kw_only=True)
class CompletionReady(Prepared):
    """Prompts as the model reads them, each with its rules."""

    prompts: tuple[tuple[Begun, CompletionOptions], ...]
    keep: int | None = None  # of each prompt's choices so many, the likeliest; None: all
    trims: bool = False  # spaces at both ends


@dataclass(kw_only=True)
class WrittenChoice:
    """One text that was written; changed only while it grows."""

    text: str = ""
    tokens: list[TokenLogprob] = field(default_factory=list)  # none unless probabilities were asked for
    written: int = 0  # tokens
    finish: Finish | None = None

    @property
    def mean(self) -> float:
        """Of its tokens' log-probabilities."""
        found = [one.log_probability for one in self.tokens if one.log_probability is not None]
        return sum(found) / len(found) if found else 0.0


@dataclass(frozen=True, kw_only=True)
class Completed:
    """For each prompt its choices; tokens that were read and written, of choices that were not kept too."""

    prompts: list[list[WrittenChoice]]
    read: int
    written: int


class Completing(Operation[Asked, CompletionReady, Completed]):
    """Tells `CompletionEvent`s, whose `prompt` is the place in the request, and answers with all of it."""

    def work(
        self,
        opened: Opened,
        places: Sequence[BatchPlace[CompletionReady, Completed]],
        more: Callable[[], Sequence[BatchPlace[CompletionReady, Completed]]],
    ) -> None:
        completer = Completer(opened.language_model.abilities)
        going: dict[int, _Request] = {}  # by the completer's number
        new = places
        while True:
            for place in new:
                going |= _added(completer, place)
            for number in [number for number, one in going.items() if one.place.gone]:
                completer.cancel(number)
                del going[number]
            if completer.idle:
                return
            for event in completer.step():
                if going[event.prompt].hear(event):
                    del going[event.prompt]
            new = more()


def ready(prompts: Sequence[tuple[Begun, CompletionOptions]], *, keep: int | None = None, trims: bool = False) -> CompletionReady:
    """What it costs: tokens that are read, and all that may be written."""
    cost = sum(_read(begun) + options.n * min(begun.room, options.max_tokens) for begun, options in prompts)
    return CompletionReady(cost=max(1, cost), prompts=tuple(prompts), keep=keep, trims=trims)


def check_bias(opened: Opened, options: CompletionOptions) -> None:
    """Refuse tokens that the model does not have."""
    size = opened.language_model.model.vocabulary
    if wrong := [token for token in options.logit_bias if not 0 <= token < size]:
        raise BadRequest(f"logit_bias: there is no token {wrong[0]}; those of '{opened.name}' are 0 to {size - 1}.", param="logit_bias")


def warm_up(opened: Opened, begin: Callable[[], Begun]) -> None:
    """Write a token; a family that must be told more is left cold."""
    try:
        completer = Completer(opened.language_model.abilities)
        completer.add(begin(), CompletionOptions(max_tokens=1))
        for _ in completer.run():
            pass
    except PlumeError:
        pass


def completed(one: CompletionReady, prompts: list[list[WrittenChoice]]) -> Completed:
    """With what was read and written."""
    written = sum(choice.written for choices in prompts for choice in choices)
    if one.keep is not None:
        prompts = [sorted(choices, key=lambda choice: -choice.mean)[: one.keep] for choices in prompts]
    return Completed(prompts=prompts, read=sum(_read(begun) for begun, _ in one.prompts), written=written)


def _read(begun: Begun) -> int:
    return len(begun.prompt) + len(begun.source or ())


class _Request:
    """One place of the batch, as its texts grow."""

    def __init__(self, place: BatchPlace[CompletionReady, Completed]) -> None:
        self.place, prepared = place, place.prepared
        self.numbers: dict[int, int] = {}  # of the completer: which prompt of the request
        self.choices = [[WrittenChoice() for _ in range(options.n)] for _, options in prepared.prompts]
        self.trims = {(prompt, choice): TrimmedText() for prompt, choice in self._each()} if prepared.trims else {}
        self._open = sum(len(choices) for choices in self.choices)

    def _each(self) -> Iterator[tuple[int, int]]:
        return ((prompt, choice) for prompt, choices in enumerate(self.choices) for choice in range(len(choices)))

    def hear(self, event: CompletionEvent) -> bool:
        """Is that prompt done?"""
        prompt = self.numbers[event.prompt]
        trimmed = self.trims.get((prompt, event.choice))
        text = event.text if trimmed is None else trimmed.take(event.text)
        choice = self.choices[prompt][event.choice]
        choice.text += text
        choice.tokens += event.tokens
        choice.written, choice.finish = event.written, event.finish
        if text or event.tokens or event.finish is not None:
            self.place.tell(replace(event, prompt=prompt, text=text))
        if event.finish is not None:
            self._open -= 1
            if not self._open:
                self.place.answer(completed(self.place.prepared, self.choices))
        return all(one.finish is not None for one in self.choices[prompt])


def _added(completer: Completer, place: BatchPlace[CompletionReady, Completed]) -> dict[int, _Request]:
    """The numbers of its prompts; none, if it cannot be done."""
    request = _Request(place)
    try:
        for prompt, (begun, options) in enumerate(place.prepared.prompts):
            request.numbers[completer.add(begun, options)] = prompt
    except PlumeError as error:
        for number in request.numbers:
            completer.cancel(number)
        place.fail(BadRequest(str(error), param="echo"))  # what else it refuses was refused before
        return {}
    return dict.fromkeys(request.numbers, request)
