"""Questions to a knowledge base with their answers: JSONL, TSV, and the files of NLPCC, MetaQA, WebQuestions and SimpleQuestions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.lines import read_lines
from plume.readers.example import Example, Reading
from plume.readers.json_rows import read_objects

READS = "JSONL or JSON: question, answers, topic, path; TSV: question, answers parted by |; NLPCC's blocks; MetaQA, SimpleQuestions"
_QUESTIONS, _ANSWERS = ("question", "qText", "utterance", "text"), ("answers", "answer")
_TAG = re.compile(r"<(question|triple|answer) id=([^>]*)>\s*(.*)")
_QID = re.compile(r"Q\d+")
_ADVICE = 'Write {"question": "…", "answers": ["…"]} in a line.'


@dataclass(frozen=True, kw_only=True)
class KnownAnswers:
    """What a file says of a question. Topic and path are found by the answers where it does not say them."""

    answers: tuple[str, ...]
    topic: str | None = None  # by name or key
    path: tuple[tuple[str, bool], ...] = ()  # relations from the topic, by name or key, and whether each is followed back


def read_kb_questions(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    """The format is found by the first line. Where nothing is asked of the answers, plain lines are questions too."""
    first = next((line for _, line in read_lines(path, longest=None) if line.strip()), "").lstrip("\ufeff ")
    if first.startswith(("{", "[{")) or first.strip() == "[":
        yield from _from_json(path, reading, labelled=labelled)
        return
    kind = "NLPCC's blocks" if _TAG.match(first) else _kind_of_table(first)
    reading.format = kind
    if _TAG.match(first):
        yield from _from_blocks(path, reading, labelled=labelled)
        return
    cut: Callable[[list[str]], tuple[str, KnownAnswers]] = _quadruple if kind == "SimpleQuestions" else _row
    for number, line in read_lines(path, longest=None):
        cells = [cell.strip() for cell in line.rstrip("\r").lstrip("\ufeff").split("\t")]
        if not cells[0]:
            reading.skip("empty question", f"{path}, line {number}")
        elif len(cells) == 1 and labelled:
            raise PlumeError(f"{path}, line {number}: a question without its answers; put them behind it, after a tab, with | between.")
        else:
            yield from _made(*cut(cells if len(cells) > 1 else [*cells, ""]), reading, labelled=labelled, line=number)


def _kind_of_table(line: str) -> str:
    cells = line.split("\t")
    if len(cells) == 4 and _QID.fullmatch(cells[0]):
        return "SimpleQuestions"
    return "plain lines" if len(cells) == 1 else "TSV; question, answers"


def _row(cells: list[str]) -> tuple[str, KnownAnswers]:
    """MetaQA puts the topic into brackets, which a user's question has not."""
    question, topic = cells[0], None
    found = re.search(r"\[(.+)\]", question)
    if found:
        topic = found.group(1)
        question = question[: found.start()] + topic + question[found.end() :]
    return question, KnownAnswers(answers=tuple(dict.fromkeys(one.strip() for one in cells[1].split("|") if one.strip())), topic=topic)


def _quadruple(cells: list[str]) -> tuple[str, KnownAnswers]:
    if len(cells) != 4:
        return (cells[-1] or cells[0]), KnownAnswers(answers=())
    subject, relation, object, question = cells
    inverse = relation.startswith("R")
    return question, KnownAnswers(answers=(object,), topic=subject, path=((f"P{relation[1:]}" if inverse else relation, inverse),))


def _from_blocks(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    held: dict[str, tuple[int, str]] = {}

    def block() -> Iterator[Example]:
        if "question" not in held:
            return
        line, question = held["question"]
        if labelled and "answer" not in held:
            raise PlumeError(f"{path}, line {line}: this question has no <answer id=…>.")
        triple = [one.strip() for one in held.get("triple", (0, ""))[1].split("|||")]
        known = len(triple) == 3 and all(triple)
        answer = held.get("answer", (0, ""))[1]
        yield from _made(
            question,
            KnownAnswers(answers=(answer,) if answer else (), topic=triple[0] if known else None, path=((triple[1], False),) if known else ()),
            reading, labelled=labelled, line=line,
        )  # fmt: skip

    for number, line in read_lines(path, longest=None):
        found = _TAG.match(line.strip("\r\ufeff "))
        if found:
            if found.group(1) == "question":
                yield from block()
                held = {}
            held[found.group(1)] = (number, found.group(3).strip())
        elif line.strip() and not set(line.strip()) <= {"="}:
            raise PlumeError(f"{path}, line {number}: no <question id=…>, <triple id=…> or <answer id=…>, as the lines before have.")
    yield from block()


def _from_json(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    reading.format = "JSON objects; question, answers"
    for number, record in read_objects(path, advice=_ADVICE):
        place = f"{path}, line {number}"
        question = next((record[name] for name in _QUESTIONS if isinstance(record.get(name), str)), None)
        if question is None:
            raise PlumeError(f"{place}: there is no question. {_ADVICE}")
        if not question.strip():
            reading.skip("empty question", place)
            continue
        given = next((record[name] for name in _ANSWERS if name in record), None)
        if given is None and labelled:
            raise PlumeError(f"{place}: there are no answers. {_ADVICE}")
        yield from _made(question.strip(), _said(given, record, place), reading, labelled=labelled, line=number)


def _said(given: Any, record: Mapping[str, Any], place: str) -> KnownAnswers:
    listed = [given] if isinstance(given, str) else given or []
    if not isinstance(listed, list) or not all(isinstance(one, str | int | float) for one in listed):
        raise PlumeError(f"{place}: the answers are no list of texts. {_ADVICE}")
    path = record.get("path", [])
    if isinstance(record.get("triple"), list) and len(record["triple"]) == 3:
        record = {"topic": record["triple"][0], **record}
        path = path or [record["triple"][1]]
    steps = [one if isinstance(one, list) else [one, False] for one in path]
    if not all(len(one) == 2 and isinstance(one[0], str) and isinstance(one[1], bool) for one in steps):
        steps = []  # ids of somebody else's: the path is found by the answers
    topic = record.get("topic")
    return KnownAnswers(
        answers=tuple(dict.fromkeys(str(one).strip() for one in listed if str(one).strip())),
        topic=topic if isinstance(topic, str) and topic.strip() else None,
        path=tuple((name, inverse) for name, inverse in steps),
    )


def _made(question: str, said: KnownAnswers, reading: Reading, *, labelled: bool, line: int) -> Iterator[Example]:
    if labelled and not said.answers:
        reading.skip("no answer", f"{reading.file}, line {line}")
        return
    reading.read += 1
    yield Example(texts=(question,), answer=said if labelled else None, line=line)
