"""Questions about a passage whose answers stand in it: SQuAD's JSON, which CMRC 2018, DRCD and XQuAD write too, and JSONL.

SQuAD 1.1 (arXiv:1606.05250) has an answer to every question, 2.0 (arXiv:1806.03822) marks those without one as `is_impossible`;
its `plausible_answers` are wrong answers, and left alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import JSONL, clean, read_record, suffix
from plume.data.lines import read_lines
from plume.readers.example import Example, Reading
from plume.readers.row_languages import row_languages
from plume.readers.squad_answers import GoldAnswer, given_answers, place_answers

__all__ = ["GoldAnswer", "read_squad"]

_ADVICE = 'write one question a line, as {"question": "…", "context": "…", "answers": [{"text": "…", "answer_start": 17}]}'


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A question where it stands in the file."""

    record: Mapping[str, Any]
    context: str
    place: str
    line: int


def read_squad(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    """Texts are the question and its context; the answer is a tuple of GoldAnswers, of which () says that there is none.

    An answer that its context does not hold cannot be learnt, and is left out.
    """
    for node, place, line in _nodes(path, reading):
        for asked in _questions(node, place, line):
            question = _text(asked.record, "question", asked.place)
            if not question.strip() or not asked.context.strip():
                reading.skip("empty question" if asked.context.strip() else "empty context", asked.place)
                continue
            answer: tuple[GoldAnswer, ...] | None = None
            if labelled:
                given = given_answers(asked.record, asked.place, reading)
                answer = place_answers(given, asked.context, asked.place, reading)
                if answer is None:
                    reading.skip("answer does not occur in its context", asked.place)
                    continue
            reading.read += 1
            languages = row_languages(asked.record, ("question", "context"))
            yield Example(texts=(question, asked.context), answer=answer, key=_key(asked.record), line=asked.line, languages=languages)


def _nodes(path: Path, reading: Reading) -> Iterator[tuple[Any, str, int]]:
    """The articles, paragraphs or questions that the file is a list of, each with its place and, in JSONL, its line."""
    rows = read_lines(path, longest=None)
    number, line = next((row for row in rows if row[1].strip()), (0, ""))
    if not number:
        raise PlumeError(f"{path}: nothing but blank lines. Give SQuAD's JSON, or {_ADVICE}.")
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        if suffix(path) in JSONL:
            read_record(line, file=path, number=number, advice=_ADVICE)  # raises, and says why
        value = _whole(path, "\n" * (number - 1) + "\n".join([line, *(text for _, text in rows)]))
        number = 0
    if isinstance(value, dict) and "data" not in value and number:
        reading.format = "JSONL"
        yield value, f"{path}, line {number}", number
        for number, line in rows:
            if line.strip():
                yield read_record(line, file=path, number=number, advice=_ADVICE), f"{path}, line {number}", number
        return
    if number and (more := next((number for number, line in rows if line.strip()), 0)):
        raise PlumeError(f"{path}, line {more}: more text after the end of the JSON document. Remove it, or {_ADVICE}.")
    reading.format = _format(value)
    name, nodes = ("data", value["data"]) if isinstance(value, dict) and "data" in value else ("", value)
    if not isinstance(nodes, list):
        raise PlumeError(f"{path}: neither a list nor an object with a list 'data', as SQuAD's JSON is. Or {_ADVICE}.")
    for index, node in enumerate(nodes):
        yield node, f"{path}, {name}[{index}]", 0


def _whole(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise PlumeError(f"{path}: not JSON ({error}). Is the file cut short? Fetch it again; or {_ADVICE}.") from None


def _format(value: Any) -> str:
    version = str(value.get("version", "")).lstrip("v") if isinstance(value, dict) else ""
    return f"SQuAD's JSON, version {version}" if version else "SQuAD's JSON"


def _questions(node: Any, place: str, line: int) -> Iterator[_Asked]:
    """Of an article (paragraphs), a paragraph (qas), or a question that brings its own context."""
    if isinstance(node, dict) and "paragraphs" in node:
        title = f" {node['title']!r}" if node.get("title") else ""
        for index, paragraph in enumerate(_list(node, "paragraphs", place)):
            yield from _questions(paragraph, f"{place}{title}.paragraphs[{index}]", line)
    elif isinstance(node, dict) and "qas" in node:
        context = _text(node, "context", place)
        for index, record in enumerate(_list(node, "qas", place)):
            if not isinstance(record, dict):
                raise PlumeError(f"{place}.qas[{index}]: a question is an object with 'question', 'id' and 'answers', not {record!r:.80}.")
            yield _Asked(record=record, context=context, place=_named(f"{place}.qas[{index}]", record), line=line)
    elif isinstance(node, dict) and "question" in node:
        place = _named(place, node)
        yield _Asked(record=node, context=_text(node, "context", place), place=place, line=line)
    else:
        found = f"an object with {', '.join(map(str, list(node)[:10])) or 'no fields'}" if isinstance(node, dict) else f"{node!r:.80}"
        raise PlumeError(f"{place}: {found}. An article has 'paragraphs', a paragraph 'context' and 'qas'; or {_ADVICE}.")


def _named(place: str, record: Mapping[str, Any]) -> str:
    key = _key(record)
    return place if key is None else f"{place}, id {key}"


def _key(record: Mapping[str, Any]) -> str | None:
    """Ids are numbers in some files."""
    return None if record.get("id") is None else str(record["id"])


def _text(record: Mapping[str, Any], name: str, place: str) -> str:
    if not isinstance(record.get(name), str):
        raise PlumeError(f"{place}: no '{name}' with text in it; fields found: {', '.join(map(str, list(record)[:10])) or 'none'}.")
    return clean(record[name])


def _list(record: Mapping[str, Any], name: str, place: str) -> list[Any]:
    if not isinstance(record[name], list):
        raise PlumeError(f"{place}: '{name}' is a {type(record[name]).__name__}, where SQuAD's JSON has a list.")
    return record[name]
