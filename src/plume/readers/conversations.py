"""Conversations: OpenAI's messages, ShareGPT's, lists of turns, questions with answers. Which of them a file is, is found in the file."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.documents import clean
from plume.data.lines import read_lines
from plume.readers.example import TOGETHER, Example, Reading
from plume.readers.json_rows import read_objects
from plume.readers.named_pairs import Fields
from plume.readers.table_rows import first_line
from plume.readers.text_pairs import read_text_pairs

ROLES = "roles"  # of an example: who said each of its texts
ADVICE = 'write one conversation a line, as {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}'


class Role(enum.StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True)
class Turn:
    """What one of them says."""

    role: Role
    content: str


# Names in public data sets.
_ROLES = {
    **dict.fromkeys(("system", "developer"), Role.SYSTEM),
    **dict.fromkeys(("user", "human", "prompter", "customer", "question", "q", "用户", "问"), Role.USER),
    **dict.fromkeys(
        ("assistant", "gpt", "chatgpt", "bot", "bing", "bard", "model", "ai", "agent", "answer", "a", "助手", "答"), Role.ASSISTANT
    ),
}
_LISTS = ("messages", "conversations", "conversation", "dialogue", "dialog", "turns")
_SPEAKERS, _CONTENTS = ("role", "from", "speaker"), ("content", "value", "text")
_PAIRS: tuple[Fields, ...] = (
    ("question", "answer"),
    ("prompt", "response"),
    ("prompt", "completion"),
    ("instruction", "output"),
    ("instruction", "response"),
    ("query", "response"),
    ("query", "answer"),
    ("input", "output"),
    ("input", "target"),
    ("source", "target"),
    ("问题", "答案"),
    ("问题", "回答"),
)


class UnknownRole(PlumeError):
    """A turn by somebody who is none of the three."""


def turns_of(given: Any, *, where: str = "messages") -> list[Turn]:
    """A list of messages, as OpenAI or ShareGPT write them, or of what user and assistant say in turn.

    >>> [turn.role.value for turn in turns_of([{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}])]
    ['user', 'assistant']
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or not given:
        raise PlumeError(f"{where}: a conversation is a list of turns, not {str(given)[:40]!r}; {ADVICE}.")
    if all(isinstance(turn, str) for turn in given):
        return [Turn((Role.USER, Role.ASSISTANT)[place % 2], clean(turn)) for place, turn in enumerate(given)]
    return [_turn(turn, f"{where}, turn {number}") for number, turn in enumerate(given, 1)]


def _turn(given: Any, where: str) -> Turn:
    if isinstance(given, Turn):
        return given
    found = given if isinstance(given, Mapping) else {}
    speaker = next((found[name] for name in _SPEAKERS if name in found), None)
    content = next((found[name] for name in _CONTENTS if name in found), None)
    if not isinstance(speaker, str) or content is None:
        raise PlumeError(f"{where}: a turn has a role and a content, and this is {str(given)[:60]!r}; {ADVICE}.")
    if speaker.strip().lower() not in _ROLES:
        raise UnknownRole(f"{where}: the role '{speaker[:30]}' is none of {', '.join(Role)}.")
    return Turn(_ROLES[speaker.strip().lower()], clean(_text(content, where)))


def _text(content: Any, where: str) -> str:
    """Text, or OpenAI's list of parts, which are texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    if not all(isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str) for part in parts):
        raise PlumeError(f"{where}: the content is no text: {str(content)[:60]!r}.")
    return "".join(part["text"] for part in parts)


def read_conversations(paths: Sequence[Path], reading: Reading, *, labelled: bool, fields: Fields | None = None) -> Iterator[Example]:
    """An example for each turn of the assistant, after all turns before it. Without `labelled`, one for each conversation, which awaits it."""
    if not all(map(_is_json, paths)):
        for one in read_text_pairs(paths, reading, labelled=labelled, fields=fields):
            yield replace(one, named={ROLES: (Role.USER,)})
        return
    for path in paths:
        for line, given in _records(path):
            yield from _examples(given, path, line, reading, labelled=labelled, fields=fields)


def _is_json(path: Path) -> bool:
    return first_line(path).startswith(("{", "["))


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """Objects, or lines that are lists of turns."""
    try:
        first = json.loads(first_line(path))
    except (json.JSONDecodeError, RecursionError):
        first = None  # an array over several lines
    turn = first[0] if isinstance(first, list) and first else None
    if not (isinstance(turn, str) or (isinstance(turn, dict) and turn.keys() & set(_SPEAKERS))):
        yield from read_objects(path, advice=ADVICE)
        return
    for number, line in read_lines(path, longest=None):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise PlumeError(f"{path}, line {number}: not JSON ({error}); {ADVICE}.") from None


def _examples(given: Any, path: Path, line: int, reading: Reading, *, labelled: bool, fields: Fields | None) -> Iterator[Example]:
    where = f"{path}, line {line}"
    try:
        turns = _found(given, where, reading, labelled=labelled, fields=fields)
    except UnknownRole as error:
        reading.skip("a turn by somebody else", str(error))
        return
    if any(not turn.content.strip() for turn in turns):
        reading.skip("an empty turn", f"{path.name}, line {line}")
        return
    ends = [place for place, turn in enumerate(turns) if turn.role is (Role.ASSISTANT if labelled else Role.USER)]
    if not ends:
        reading.skip("no turn of the assistant" if labelled else "no turn of the user", f"{path.name}, line {line}")
        return
    key = str(given["id"]) if isinstance(given, Mapping) and isinstance(given.get("id"), str | int) else None
    for end in ends if labelled else [ends[-1] + 1]:
        reading.read += 1
        answer = turns[end].content if labelled else None
        yield replace(example_of(turns[:end]), answer=answer, key=key, line=line, named={ROLES: roles(turns[:end]), TOGETHER: where})


def _found(given: Any, where: str, reading: Reading, *, labelled: bool, fields: Fields | None) -> list[Turn]:
    if isinstance(given, list):
        _say(reading, "JSON lists of turns")
        return turns_of(given, where=where)
    before = [Turn(Role.SYSTEM, clean(given["system"]))] if isinstance(given.get("system"), str) and given["system"].strip() else []
    name = next((name for name in _LISTS if isinstance(given.get(name), list)), None)
    if name is not None and fields is None:
        _say(reading, f"JSON; conversations: {name}")
        return before + turns_of(given[name], where=where)
    pair = fields or next((pair for pair in _PAIRS if pair[0] in given and (pair[1] in given or not labelled)), None)
    if pair is None or pair[0] not in given or (labelled and pair[1] not in given):
        raise PlumeError(
            f"{where}: no conversation; keys found: {', '.join(list(given)[:10]) or 'none'}. Name two, --text and --label, or {ADVICE}."
        )
    _say(reading, f"JSON; user: {pair[0]}; assistant: {pair[1]}")
    more = given.get("input") if pair[0] == "instruction" else None  # Alpaca's
    asked = _text(given[pair[0]], where) + (f"\n{more}" if isinstance(more, str) and more.strip() else "")
    answer = [Turn(Role.ASSISTANT, clean(_text(given[pair[1]], where)))] if labelled else []
    return [*before, Turn(Role.USER, clean(asked)), *answer]


def _say(reading: Reading, words: str) -> None:
    if words not in reading.format:
        reading.format += f" and {words}" if reading.format else words


def roles(turns: Sequence[Turn]) -> tuple[Role, ...]:
    """Who said each."""
    return tuple(turn.role for turn in turns)


def example_of(turns: Sequence[Turn]) -> Example:
    """A conversation that awaits its next turn."""
    return Example(texts=tuple(turn.content for turn in turns), named={ROLES: roles(turns)})


def turns_before(example: Example) -> list[Turn]:
    """The conversation again; texts of which nobody said who speaks are the user's."""
    spoken = example.named.get(ROLES) or (Role.USER,) * len(example.texts)
    return [Turn(role, text) for role, text in zip(spoken, example.texts, strict=True)]
