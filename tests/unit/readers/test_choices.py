"""Multiple choice: fields known by the names that data sets use, answers as number, letter or text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.readers.choices import read_choices
from plume.readers.example import Example, Reading


def read(tmp_path: Path, *records: Any, labelled: bool = True) -> tuple[list[Example], Reading]:
    reading = Reading(file=tmp_path / "a.jsonl")
    reading.file.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return list(read_choices(reading.file, reading, labelled=labelled)), reading


CHID = {"id": 1500, "candidates": ["画蛇添足", "脸红耳赤", "雪中送炭"], "content": "有时候我给你#idiom#,但你却愿我家破人亡?", "answer": 2}
ASK = {"context": "He fell.", "question": "Why?", "choices": ["ice", "B", "wind"]}


@pytest.mark.parametrize(
    ("record", "texts", "answer"),
    [
        (CHID, ("有时候我给你#idiom#,但你却愿我家破人亡?", "画蛇添足", "脸红耳赤", "雪中送炭"), 2),
        ({"article": "Rain.", "question": "Wet?", "options": ["no", "yes"], "answer": "B"}, ("Rain. Wet?", "no", "yes"), 1),
        (
            {"premise": "He ran.", "choice1": "late", "choice2": "lazy", "question": "cause", "label": 1},
            ("He ran. cause", "late", "lazy"),
            1,
        ),
        ({"ctx": "He", "endings": ["sat", "ran"], "label": "1"}, ("He", "sat", "ran"), 1),
        ({"sent1": "He came.", "sent2": "Then he", "ending0": "sat", "ending1": "ran", "label": 0}, ("He came. Then he", "sat", "ran"), 0),
        (
            {
                "question": {"stem": "Where?", "choices": [{"label": "A", "text": "here"}, {"label": "B", "text": "there"}]},
                "answerKey": "B",
            },
            *(("Where?", "here", "there"), 1),
        ),
        (
            {"question": "Where?", "choices": {"text": ["here", "there"], "label": ["1", "2"]}, "answerKey": "1"},
            ("Where?", "here", "there"),
            0,
        ),
        (
            {"question": "Where?", "options": {"A": "here", "B": "there"}, "answer": "there", "answer_idx": "A"},
            ("Where?", "here", "there"),
            1,
        ),
        (
            {"question": "Next?", "options": {"A": "B", "B": "A"}, "answer": "A"},
            ("Next?", "B", "A"),
            0,
        ),  # the file's own letters before a text
        ({"passage": "p", "B": "two", "A": "one", "C": "three", "answer": "c"}, ("p", "one", "two", "three"), 2),
        ({"context": ["A: Hi.", "B: No."], "choices": ["x", "y"], "answer": [1]}, ("A: Hi. B: No.", "x", "y"), 1),
        ({"passage": "他跌倒了。", "question": "为什么？", "choices": ["冰", "风"], "answer": "风"}, ("他跌倒了。为什么？", "冰", "风"), 1),
        (ASK | {"answer": "B"}, ("He fell. Why?", "ice", "B", "wind"), 1),  # its text before its letter
        (ASK | {"answer": "(C)"}, ("He fell. Why?", "ice", "B", "wind"), 2),
    ],
)
def test_fields_are_known_by_name(record: dict[str, Any], texts: tuple[str, ...], answer: int, tmp_path: Path) -> None:
    (example,), reading = read(tmp_path, record)
    assert (example.texts, example.answer) == (texts, answer) and reading.read == 1
    (unknown,), _ = read(tmp_path, record, labelled=False)
    assert (unknown.texts, unknown.answer) == (texts, None)


def test_the_account_says_what_was_found(tmp_path: Path) -> None:
    examples, reading = read(tmp_path, CHID, CHID | {"content": " "}, CHID | {"candidates": ["", "b"]}, CHID | {"answer": 0})
    assert [(e.line, e.key, e.answer) for e in examples] == [(1, "1500", 2), (4, "1500", 0)]
    assert reading.format == "JSON objects; context: content; answer: answer; choices: candidates"
    assert reading.skipped == {"empty text": 1, "empty choice": 1} and reading.where["empty choice"].endswith("a.jsonl, line 3")


def test_an_array_is_read_like_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([CHID, CHID | {"answer": 1}], indent=2), encoding="utf-8")
    found = list(read_choices(path, Reading(file=path), labelled=True))
    assert [e.answer for e in found] == [2, 1] and [e.line for e in found] == [2, 12]
    path.write_text('[{"question": "a", "choices": ["b", "c"], "answer": 0},\n {"question"', encoding="utf-8")
    with pytest.raises(PlumeError, match=r"line 2: an item of the list is not JSON .* cut short"):
        list(read_choices(path, Reading(file=path), labelled=True))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (ASK | {"answer": 3}, r"line 2: the answer \('answer'\) is 3, but the 3 choices are counted from 0 to 2. Subtract 1"),
        (ASK | {"answer": -1}, "is -1, but the 3 choices"),
        (ASK | {"answer": "rain"}, r"'rain': neither a number from 0, nor a letter, nor the text of a choice \(ice \| B \| wind\)"),
        (ASK | {"answer": "D"}, "'D': neither"),
        (ASK | {"answer": True}, "'True': neither"),
        (ASK | {"answer": None}, "'None': neither"),
        (ASK, "line 2: no answer among the fields context, question, choices"),
        (ASK | {"choices": ["ice"], "answer": 0}, "line 2: 1 choices in 'choices', where at least two are needed"),
        (ASK | {"choices": "ice", "answer": 0}, "'choices' holds 'ice', which is no list"),
        (ASK | {"choices": [["ice"], {"a": 1}], "context": {"a": 1}, "answer": 0}, "'context' holds .* no text"),
        ({"question": "Why?", "answer": 0}, "line 2: 0 choices, where"),
        ({"choices": ["a", "b"], "answer": 0}, "neither a context nor a question among the fields choices, answer"),
        (["a"], "line 2: a JSON list, not an object"),
    ],
)
def test_bad_records_are_errors_that_name_the_line(record: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=message):
        read(tmp_path, ASK | {"answer": 0}, record)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=r"a.jsonl is empty: write one object a line"):
        read(tmp_path)
