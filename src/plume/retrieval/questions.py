"""Questions with their passages, or with nothing but their answers: SQuAD's JSON, DPR's JSON, JSONL, TSV and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean, suffix
from plume.data.lines import read_lines
from plume.readers.example import Reading
from plume.readers.json_rows import read_objects
from plume.readers.squad import read_squad
from plume.readers.table_rows import TableFormat, filled, table_rows

READS = "SQuAD, CMRC and DRCD JSON; DPR's JSON; JSONL and TSV of question, passage, negatives, answers"
ANSWERS = "|"  # between several answers of a table's cell
_ADVICE = 'write one question a line, as {"question": "…", "positive": "…", "negatives": ["…"], "answers": ["…"]}'
_QUESTION = ("question", "query", "anchor", "q")
_POSITIVE = ("positive", "positives", "passage", "positive_ctxs", "pos", "document")
_NEGATIVE = ("negative", "negatives", "hard_negative_ctxs", "hard_negatives", "neg")
_ANSWER = ("answers", "answer", "short_answers", "target")
_SQUAD = ('"paragraphs"', '"qas"', '"context"')
_LOOK = 4096  # characters that tell SQuAD's JSON


@dataclass(frozen=True, kw_only=True)
class SearchQuestion:
    """What is asked, and what a file says of it."""

    question: str
    answers: tuple[str, ...] = ()  # texts, each of which is right
    positives: tuple[str, ...] = ()  # passages that answer it
    negatives: tuple[str, ...] = ()  # passages that do not
    place: str = ""  # "train.json, line 7"


def read_questions(path: Path, reading: Reading, *, second: str = "positives") -> list[SearchQuestion]:
    """All of a file. `second` is what the second column of a table without a header holds: positives or answers."""
    if not path.is_file():
        raise PlumeError(f"There is no file {path}.")
    first = next((line for _, line in read_lines(path, longest=None) if line.strip()), "")
    if not first:
        raise PlumeError(f"{path} is empty: {_ADVICE}.")
    found = list(_of_json(path, reading, first) if first.lstrip()[0] in "{[" else _of_table(path, reading, second))
    if not found:
        raise PlumeError(f"{path} has no usable question. {' '.join(reading.lines()[1:])}")
    reading.read = len(found)
    return found


def _of_json(path: Path, reading: Reading, first: str) -> Iterator[SearchQuestion]:
    with path.open(encoding="utf-8", errors="replace") as opened:
        head = opened.read(_LOOK)
    if any(word in head for word in _SQUAD) and '"positive_ctxs"' not in head:
        yield from _of_squad(path, reading)
        return
    reading.format = "JSON" if first.lstrip().startswith("[") else "JSONL"
    for line, record in read_objects(path, advice=_ADVICE):
        place = f"{path}, line {line}"
        name = next((one for one in _QUESTION if one in record), None)
        if name is None:
            raise PlumeError(f"{place}: no question in it; fields found: {', '.join(map(str, record)) or 'none'}. {_ADVICE.capitalize()}.")
        asked = _strings(record[name], name, place)
        if len(asked) != 1:
            reading.skip("empty question", place)
            continue
        yield SearchQuestion(
            question=asked[0], answers=_field(record, _ANSWER, place), positives=_field(record, _POSITIVE, place),
            negatives=_field(record, _NEGATIVE, place), place=place,
        )  # fmt: skip


def _of_squad(path: Path, reading: Reading) -> Iterator[SearchQuestion]:
    """The context is the passage; a question that its context does not answer has none."""
    for number, one in enumerate(read_squad(path, reading, labelled=True), 1):
        question, context = one.texts
        answers = tuple(dict.fromkeys(answer.text for answer in one.answer))
        place = f"{path}, {f'question {one.key}' if one.key else f'question number {number}'}"
        if not answers:
            reading.skip("question without an answer in its context", place)
            continue
        yield SearchQuestion(question=question.strip(), answers=answers, positives=(context,), place=place)


def _of_table(path: Path, reading: Reading, second: str) -> Iterator[SearchQuestion]:
    kind = TableFormat.CSV if suffix(path) == ".csv" else TableFormat.TSV
    rows = filled(table_rows(path, kind))
    line, cells = next(rows, (0, []))
    names = [cell.strip().lower() for cell in cells]
    header = bool(set(names) & set(_QUESTION))
    roles = [_role(name) for name in names] if header else ["question", second, *["negatives"] * max(len(cells) - 2, 0)]
    if len(cells) < 2:
        raise PlumeError(f"{path}, line {line}: one column. Write a question and its passage with a tab between; or {_ADVICE}.")
    reading.format = f"{kind.value.upper()} {'with' if header else 'without'} a header"
    for number, row in rows if header else _again((line, cells), rows):
        place = f"{path}, line {number}"
        if len(row) != len(roles):
            raise PlumeError(f"{place}: {len(row)} columns, where there were {len(roles)} before.")
        held: dict[str, list[str]] = {"question": [], "positives": [], "negatives": [], "answers": []}
        for role, cell in zip(roles, row, strict=True):
            if role is not None:
                held[role] += _cell(role, cell)
        if not held["question"]:
            reading.skip("empty question", place)
            continue
        yield SearchQuestion(
            question=held["question"][0], answers=tuple(held["answers"]), positives=tuple(held["positives"]),
            negatives=tuple(held["negatives"]), place=place,
        )  # fmt: skip


def _again(first: tuple[int, list[str]], rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rows


def _role(name: str) -> str | None:
    """What a column of that name holds; None: something else."""
    known = {"question": _QUESTION, "positives": _POSITIVE, "negatives": _NEGATIVE, "answers": _ANSWER}
    return next((role for role, names in known.items() if name in names), None)


def _cell(role: str, cell: str) -> list[str]:
    parts = cell.split(ANSWERS) if role == "answers" else [cell]
    return [text for part in parts if (text := clean(part).strip())]


def _field(record: Mapping[str, Any], names: Sequence[str], place: str) -> tuple[str, ...]:
    return tuple(text for name in names if name in record for text in _strings(record[name], name, place))


def _strings(value: Any, name: str, place: str) -> list[str]:
    """A text, a list of texts, or passages as DPR's files have them: {"title": "…", "text": "…"}."""
    found = []
    for one in value if isinstance(value, list) else [] if value is None else [value]:
        text = one.get("text") if isinstance(one, dict) else str(one) if isinstance(one, int | float) and not isinstance(one, bool) else one
        if not isinstance(text, str):
            raise PlumeError(f"{place}: '{name}' holds {str(one)[:60]!r}, which is no text. {_ADVICE.capitalize()}.")
        found += [stripped] if (stripped := clean(text).strip()) else []
    return found
