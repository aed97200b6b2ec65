"""Replies: what a model that was tuned on dialogue says next, for many conversations at once or as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plume.core.errors import PlumeError
from plume.model.use.abilities import Abilities
from plume.model.use.completing import Completer
from plume.model.use.completions import CompletionOptions
from plume.model.use.joint_writer import JointWriter, can_join
from plume.model.use.writers import Writer
from plume.model.use.writing import Begun
from plume.tuning.task import Answering
from plume.tuning.writing.dialogue import Dialogue
from plume.tuning.writing.ways import AfterText, Way


@dataclass(frozen=True, kw_only=True)
class ReplyOptions:
    """How a reply is drawn. A `temperature` of 0 takes the likeliest token each time; `max_tokens` None: as many as training suggests."""

    temperature: float = 0.7
    top_p: float = 0.9
    top_k: int = 0
    max_tokens: int | None = None
    seed: int = 0
    stop: Sequence[str] = ()
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0

    def for_room(self, room: int) -> CompletionOptions:
        """The same for a reply of at most so many tokens."""
        return CompletionOptions(**(vars(self) | {"max_tokens": room}))


@dataclass(frozen=True)
class ByWay:
    """Makes writers for texts that are answered in this way; equal where the way is."""

    way: Way

    def __call__(self, can: Abilities, texts: Sequence[Begun]) -> Writer:
        return self.way.writer(can.model, can.rows([one.prompt if one.source is None else one.source for one in texts]))


@dataclass(frozen=True)
class ByJointWay:
    """The same, where texts of any length go on together."""

    way: Way

    def __call__(self, can: Abilities, texts: Sequence[Begun]) -> JointWriter:
        return JointWriter(can.model, can.model.head(self.way.objective), can.rows([one.prompt for one in texts]))


def begin_replies(model: Answering, task: Dialogue, conversations: Sequence[Any], max_tokens: int | None = None) -> list[Begun]:
    """Each conversation laid out as the model reads it."""
    if not conversations:
        return []
    way, coder, body = task.writes, model.coder(), model.body
    room = task.most(coder) if max_tokens is None else min(max_tokens, way.most(coder))
    rows, _ = task.laid_out([task.example(one) for one in conversations], way.room(coder, room), coder)
    ids = [rows.tokens[begin:end].tolist() for begin, end in zip(rows.bounds[:-1], rows.bounds[1:], strict=True)]
    room += len(way.opening)
    if not isinstance(way, AfterText):
        return [Begun(writer=ByWay(way), spread=way.spread, source=one, room=room) for one in ids]
    joint = ByJointWay(way) if can_join(body.model) else None
    return [Begun(writer=ByWay(way), joint=joint, spread=way.spread, prompt=one, room=room) for one in ids]


def reply(model: Answering, task: Dialogue, messages: Any, options: ReplyOptions) -> Any:
    """A text for one conversation, a list for a list of them."""
    one = is_one(messages)
    begun = begin_replies(model, task, [messages] if one else list(messages), options.max_tokens)
    completer = Completer(model.body.abilities)
    for text in begun:
        completer.add(text, options.for_room(text.room))
    found = [""] * len(begun)
    for event in completer.run():
        found[event.prompt] += event.text
    return found[0].strip() if one else [text.strip() for text in found]


def stream_reply(model: Answering, task: Dialogue, messages: Any, options: ReplyOptions) -> Iterator[str]:
    """The reply in pieces; spaces at its beginning and end are left out."""
    if not is_one(messages):
        raise PlumeError("A stream is the reply to one conversation: give one list of messages.")
    (begun,) = begin_replies(model, task, [messages], options.max_tokens)
    completer = Completer(model.body.abilities)
    completer.add(begun, options.for_room(begun.room))
    return _pieces(completer)


def _pieces(completer: Completer) -> Iterator[str]:
    trimmed = TrimmedText()
    for event in completer.run():
        if piece := trimmed.take(event.text):
            yield piece


class TrimmedText:
    """A text in pieces, without the spaces at its beginning and end: those inside come with what follows them.

    >>> trimmed = TrimmedText()
    >>> [trimmed.take(piece) for piece in ("  ", " a ", "b", " ")]
    ['', 'a', ' b', '']
    """

    def __init__(self) -> None:
        self._held, self._begun = "", False

    def take(self, text: str) -> str:
        """What can be told now."""
        text = self._held + text
        text = text if self._begun else text.lstrip()
        piece = text.rstrip()
        self._held, self._begun = text[len(piece) :], self._begun or bool(piece)
        return piece


def is_one(messages: Any) -> bool:
    """Is it one conversation, and no list of several?"""
    if isinstance(messages, str | Mapping):
        return True
    return (
        isinstance(messages, Sequence) and bool(messages) and all(isinstance(turn, Mapping) and "messages" not in turn for turn in messages)
    )
