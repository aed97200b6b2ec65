"""Reading SQuAD, CMRC 2018, DRCD and JSONL: every answer where it stands, and a word for everything else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.readers.squad import GoldAnswer, read_squad

CONTEXT = "Rome is old. Paris is large. Rome is warm."  # Rome: 0 and 29
MOVED = "answer moved to where it stands"
NOWHERE = "answer does not occur in its context"


def read(path: Path, *, labelled: bool = True) -> tuple[list[Example], Reading]:
    reading = Reading(file=path)
    return list(read_squad(path, reading, labelled=labelled)), reading


def document(*questions: dict[str, Any], context: str = CONTEXT) -> dict[str, Any]:
    return {"version": "v2.0", "data": [{"title": "Cities", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def question(*answers: tuple[str, int], key: Any = "q1", **more: Any) -> dict[str, Any]:
    return {"question": "Which?", "id": key, "answers": [{"text": text, "answer_start": start} for text, start in answers], **more}


@pytest.fixture
def write(tmp_path):
    def write(value: Any, name: str = "dev.json", indent: int | None = None) -> Path:
        path = tmp_path / name
        lines = value if isinstance(value, list) and name.endswith("l") else [value]
        path.write_text("".join(json.dumps(line, ensure_ascii=False, indent=indent) + "\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("indent", [None, 2])
def test_squad_two(write, indent):
    """One line or many; unanswerable questions; numbers as ids; several answers."""
    wrong = [{"text": "Rome", "answer_start": 0}]
    impossible = question(key="q2", is_impossible=True, plausible_answers=wrong)
    path = write(document(question(("Paris", 13), ("old", 8), key=7, is_impossible=False), impossible), indent=indent)
    examples, reading = read(path)
    assert examples == [
        Example(texts=("Which?", CONTEXT), answer=(GoldAnswer("Paris", 13), GoldAnswer("old", 8)), key="7"),
        Example(texts=("Which?", CONTEXT), answer=(), key="q2"),
    ]
    assert reading.lines() == ["dev.json: 2 examples (SQuAD's JSON, version 2.0)"]


def test_other_marks_around_the_json(tmp_path):
    """gzip, a byte order mark, CRLF and blank lines."""
    text = json.dumps(document(question(("Paris", 13))), indent=1).replace("\n", "\r\n")
    path = tmp_path / "dev.json.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf\r\n" + text.encode() + b"\r\n\r\n"))
    assert read(path)[0][0].answer == (GoldAnswer("Paris", 13),)


@pytest.mark.parametrize(
    ("text", "start", "found"),
    [
        ("Rome", 25, GoldAnswer("Rome", 29)),  # 4 away, the other 25
        ("Rome", 14, GoldAnswer("Rome", 0)),  # 14 away, the other 15
        ("Rome", 400, GoldAnswer("Rome", 29)),
        ("Rome", -1, GoldAnswer("Rome", 0)),
        (" Rome\n", 27, GoldAnswer("Rome", 29)),
    ],
)
def test_answers_move_to_the_nearest_place(write, text, start, found):
    examples, reading = read(write(document(question((text, start)))))
    assert examples[0].answer == (found,)
    assert reading.mended == {MOVED: 1} and "paragraphs[0].qas[0], id q1" in reading.where[MOVED] and "'Cities'" in reading.where[MOVED]


def test_an_answer_at_its_start_is_not_moved(write):
    examples, reading = read(write(document(question(("Rome", 29)))))
    assert examples[0].answer == (GoldAnswer("Rome", 29),) and not reading.mended


def test_answers_that_occur_nowhere(write):
    """Not to be learnt; a question with no other answer is left out."""
    path = write(document(question(("Oslo", -1), ("Paris", 13)), question(("Oslo", 3), key="q2")))
    examples, reading = read(path)
    assert [example.answer for example in examples] == [(GoldAnswer("Paris", 13),)]
    assert reading.read == 1 and reading.skipped == {NOWHERE: 1} and reading.where[NOWHERE].endswith("qas[1], id q2")
    assert sum(reading.mended.values()) == 1


def test_jsonl_in_every_style(write):
    base = {"question": "Which?", "context": CONTEXT}
    rows = [
        {**base, "id": "a", "answers": {"text": ["Paris", "old"], "answer_start": [13, 8]}},
        {**base, "answers": [{"text": "Rome", "answer_start": 29}]},
        {**base, "answer": "Rome"},
        {**base, "answer": "Rome", "answer_start": 29},
        {**base, "answers": {"text": [], "answer_start": []}},
        {**base, "answers": {"text": ["Paris"]}},
    ]
    examples, reading = read(write(rows, "dev.jsonl"))
    gold = [[("Paris", 13), ("old", 8)], [("Rome", 29)], [("Rome", 0)], [("Rome", 29)], [], [("Paris", 13)]]
    assert [example.answer for example in examples] == [tuple(GoldAnswer(*pair) for pair in pairs) for pairs in gold]
    assert [example.line for example in examples] == [1, 2, 3, 4, 5, 6] and [example.key for example in examples][:2] == ["a", None]
    assert reading.format == "JSONL" and not reading.mended


def test_contradictions_and_empty_texts_are_counted(write):
    blank = question(("Paris", 13), key="q3") | {"question": " "}
    path = write(document(question(("Rome", 0), is_impossible=True), question(("", -1), key="q2"), blank))
    examples, reading = read(path)
    assert [example.answer for example in examples] == [(), ()]
    assert reading.mended == {"answers to a question marked as impossible ignored": 1, "empty answer ignored": 1}
    assert reading.skipped == {"empty question": 1}


def test_without_labels_answers_are_neither_needed_nor_read(write):
    bare = {"question": "Which?", "id": "q1"}
    examples, reading = read(write(document(bare, question(("Oslo", "x")))), labelled=False)
    assert [example.answer for example in examples] == [None, None] and not reading.skipped


def test_half_characters_do_not_move_answers(write):
    """JSON can hold half a surrogate pair, which no tokenizer takes."""
    path = write({}, "dev.json")
    path.write_text(json.dumps(document(question(("Rome", 3)), context="\ud83d: Rome")))
    (example,), _ = read(path)
    example.texts[1].encode()
    assert example.texts[1][example.answer[0].start :] == "Rome"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (document({"question": "Which?", "id": "q1"}), r"qas\[0\], id q1: no 'answers'"),
        (document({"id": "q1", "answers": []}), r"id q1: no 'question'"),
        (document(question(("Rome", 0)) | {"answers": [{"text": 3}]}), "must be text; found 3"),
        (document(question(("Rome", 0)) | {"answers": [{"text": "Rome", "answer_start": "x"}]}), "'answer_start' must be a number"),
        (document(question(("Rome", 0)) | {"answers": {"text": ["a", "b"], "answer_start": [1]}}), "as many 'answer_start'"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, r"data\[0\].paragraphs\[0\]: no 'context'"),
        ({"data": [{"title": "T", "paragraphs": {}}]}, r"data\[0\]: 'paragraphs' is a dict"),
        ({"data": [{"title": "T"}]}, r"data\[0\]: an object with title. An article has 'paragraphs'"),
        ({"data": {}}, "neither a list"),
        (document("Which?"), r"qas\[0\]: a question is an object"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_named(write, value, words):
    with pytest.raises(PlumeError, match=words):
        read(write(value))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("dev.json", '\n{"data": [\n{"title": \n', "dev.json: not JSON .*line 3"),
        ("dev.jsonl", '{"question": ', "dev.jsonl, line 1: not JSON"),
        ("dev.jsonl", '{"question": "a", "context": "b", "answer": "b"}\n\n{"x"', "dev.jsonl, line 3: not JSON"),
        ("dev.json", '{"data": []}\n{"data": []}\n', "line 2: more text after the end"),
        ("dev.json", "\n \n", "nothing but blank lines"),
    ],
)
def test_broken_files(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(PlumeError, match=words):
        read(path)


def test_jsonl_is_read_as_it_is_asked_for(tmp_path):
    """A later line may be broken without harm to those before it: nothing is read ahead of time but a block."""
    path = tmp_path / "long.jsonl"
    row = json.dumps({"question": "Which?", "context": CONTEXT, "answer": "Rome"}) + "\n"
    path.write_text(row * 3 + "{broken")
    rows = read_squad(path, Reading(file=path), labelled=True)
    assert [next(rows).line for _ in range(3)] == [1, 2, 3]
    with pytest.raises(PlumeError, match="line 4"):
        next(rows)
