"""Conversations in the shapes that people have them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.readers.conversations import Role, Turn, read_conversations, turns_before, turns_of
from plume.readers.example import TOGETHER, Example, Reading

SAID = [
    Turn(Role.SYSTEM, "Be kind."),
    Turn(Role.USER, "Hi"),
    Turn(Role.ASSISTANT, "Hello!"),
    Turn(Role.USER, "你好吗？"),
    Turn(Role.ASSISTANT, "好。"),
]
OPENAI = [{"role": turn.role.value, "content": turn.content} for turn in SAID]
SHAREGPT = [{"from": {"system": "system", "user": "human", "assistant": "gpt"}[turn.role], "value": turn.content} for turn in SAID]


def read(path: Path, *, labelled: bool = True, fields: Any = None) -> tuple[list[Example], Reading]:
    reading = Reading(file=path)
    return list(read_conversations([path], reading, labelled=labelled, fields=fields)), reading


@pytest.fixture
def wrote(tmp_path: Path) -> Any:
    def write(name: str, *lines: Any) -> Path:
        path = tmp_path / name
        path.write_text(
            "\n".join(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines) + "\n", encoding="utf-8"
        )
        return path

    return write


@pytest.mark.parametrize(
    "record",
    [
        {"messages": OPENAI},
        {"id": 7, "conversations": SHAREGPT},
        {"messages": [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in OPENAI]},
        {"system": "Be kind.", "dialogue": OPENAI[1:]},
        OPENAI,
        SHAREGPT,
    ],
    ids=["openai", "sharegpt", "parts", "system beside", "list", "sharegpt list"],
)
def test_every_turn_of_the_assistant_is_learned_after_all_before_it(wrote: Any, record: Any) -> None:
    examples, reading = read(wrote("turns.jsonl", record, record))
    assert [turns_before(one) for one in examples] == [SAID[:2], SAID[:4]] * 2
    assert [one.answer for one in examples] == ["Hello!", "好。"] * 2
    assert [one.line for one in examples] == [1, 1, 2, 2] and reading.read == 4
    assert len({one.named[TOGETHER] for one in examples}) == 2, "turns of one conversation stay on one side of a split"
    (waiting, _), _ = read(wrote("open.jsonl", record, record), labelled=False)
    assert turns_before(waiting) == SAID[:4] and waiting.answer is None


def test_turns_without_names_are_the_users_and_the_assistants(wrote: Any) -> None:
    examples, _ = read(wrote("turns.jsonl", ["Hi", "Hello!", "Bye", "See you."], ["a", "b"]))
    assert [(one.texts, one.answer) for one in examples] == [(("Hi",), "Hello!"), (("Hi", "Hello!", "Bye"), "See you."), (("a",), "b")]
    assert [turn.role for turn in turns_before(examples[1])] == [Role.USER, Role.ASSISTANT, Role.USER]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("qa.tsv", ["question\tanswer", "Who?\tMe."]),
        ("qa.tsv", ["Who?\tMe."]),
        ("qa.csv", ["question,answer", "Who?,Me."]),
        ("qa.jsonl", [{"question": "Who?", "answer": "Me."}]),
        ("qa.jsonl", [{"prompt": "Who?", "completion": "Me."}]),
        ("qa.jsonl", [{"instruction": "Who?", "input": "", "output": "Me."}]),
        ("qa.json", ["[", {"问题": "Who?", "回答": "Me."}, "]"]),
    ],
)
def test_questions_with_answers(wrote: Any, name: str, lines: list[Any]) -> None:
    ((one,), reading) = read(wrote(name, *lines))
    assert (turns_before(one), one.answer, reading.read) == ([Turn(Role.USER, "Who?")], "Me.", 1)


def test_named_fields_and_an_instruction_with_its_input(wrote: Any) -> None:
    ((one,), _) = read(wrote("own.jsonl", {"frage": "Who?", "antwort": "Me."}), fields=("frage", "antwort"))
    assert (one.texts, one.answer) == (("Who?",), "Me.")
    ((one,), _) = read(wrote("alpaca.jsonl", {"instruction": "Translate", "input": "猫", "output": "cat"}))
    assert one.texts == ("Translate\n猫",)


def test_what_is_left_out_is_counted(wrote: Any) -> None:
    lines = [
        {"messages": OPENAI},
        {"messages": [{"role": "tool", "content": "42"}, *OPENAI]},
        {"messages": [{"role": "user", "content": " "}, OPENAI[2]]},
        {"messages": OPENAI[:2]},
    ]
    examples, reading = read(wrote("turns.jsonl", *lines))
    assert len(examples) == 2 and sum(reading.skipped.values()) == 3
    assert "'tool' is none of system, user, assistant" in reading.where["a turn by somebody else"]
    assert reading.where["no turn of the assistant"] == "turns.jsonl, line 4"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"messages": [{"role": "user"}]}, "turns.jsonl, line 1, turn 1: a turn has a role and a content"),
        ({"messages": []}, "a conversation is a list of turns"),
        ({"foo": 1}, "keys found: foo"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "the content is no text"),
        ('["Hi", "Hello"]\n["Hi"', "line 2: not JSON"),
    ],
)
def test_what_is_no_conversation_is_named(wrote: Any, line: Any, words: str) -> None:
    with pytest.raises(PlumeError, match=words):
        read(wrote("turns.jsonl", line))


def test_in_python_too() -> None:
    assert turns_of(OPENAI) == turns_of(SHAREGPT) == turns_of(SAID) == SAID
    with pytest.raises(PlumeError, match="a list of turns"):
        turns_of("Hi")
