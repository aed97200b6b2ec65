"""Asking about files of any length: a chunk of examples is read and answered, then the next. Memory stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import suffix
from plume.readers.example import Example, Reading
from plume.readers.plain_lines import read_plain_lines
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import find_layout
from plume.readers.tables import read_table
from plume.tuning.task import Prediction, Responses, Task
from plume.tuning.tuned import TunedModel

CHUNK = 2048  # examples: enough that rows of like length find each other
CHARACTERS = 1_000_000  # of a chunk's texts, where they are long
Answerer = Callable[[list[Example]], Responses]
_TABLES = (".tsv", ".csv", ".jsonl", ".json")
START_OVER = "To start over: --overwrite, or another --out."
_OTHER_INPUT = f"the input has changed, or is another file. {START_OVER}"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be answered, read as it is needed; and by whom."""

    paths: Sequence[Path]
    reading: Reading
    examples: Iterator[Example]
    answer: Answerer
    notes: Counter[str] = field(default_factory=Counter)  # what was lost on the way: texts that had to be cut …

    def account(self) -> list[str]:
        """What was read, left out and cut, in words."""
        return [*self.reading.lines(), *(f"{count:,} {what}" for what, count in self.notes.items() if count)]


@dataclass(frozen=True, kw_only=True)
class WrittenLines:
    """What an output file holds already, in whole lines."""

    count: int = 0
    size: int = 0  # in bytes
    last: Mapping[str, Any] = field(default_factory=dict)


def ask(tuned: TunedModel, task: Task, paths: Sequence[Path], *, language: str | None = None) -> Asked:
    """A tuned model, about a file in one of its task's formats, without answers."""
    reading = Reading(file=paths[0])
    examples = tuned.told(task.read(paths, reading, labelled=False), language)
    return Asked(paths=paths, reading=reading, examples=examples, answer=lambda chunk: tuned.answers(task, chunk))


def ask_texts(paths: Sequence[Path], answer: Answerer, *, column: str | None = None) -> Asked:
    """About the texts of a table, or of plain lines."""
    if len(paths) > 1:
        raise PlumeError(f"One file is read, not {len(paths)}: {', '.join(map(str, paths))}.")
    reading = Reading(file=paths[0])
    if column is None and suffix(paths[0]) not in _TABLES:
        return Asked(paths=paths, reading=reading, examples=read_plain_lines(paths[0], reading), answer=answer)
    layout = find_layout(paths, texts=1, answer=None, text_columns=() if column is None else (column,))
    examples = read_table(paths, layout, reading, answer=AnswerKind.LABEL, labelled=False)
    return Asked(paths=paths, reading=reading, examples=examples, answer=answer)


def answers(asked: Asked, *, before: WrittenLines = WrittenLines(), chunk: int = CHUNK) -> Iterator[list[dict[str, Any]]]:
    """Records to be written, a chunk at a time. Chunks that are written already are read and passed over.

    The chunks are those of an uninterrupted run, and one that was half written is answered anew as a whole: the last digits of a score
    depend on what a row is computed together with.
    """
    number = 0
    for examples in chunks(asked.examples, most=chunk):
        first, number = number, number + len(examples)
        if first < before.count <= number:
            _require_same(examples[before.count - 1 - first], before, asked.paths[0])
        if number <= before.count:
            continue
        predictions, lost = asked.answer(examples)
        asked.notes.update(lost)
        told = enumerate(zip(examples, predictions, strict=True), first + 1)
        made = [record(example, prediction, number=place) for place, (example, prediction) in told]
        yield made[max(before.count - first, 0) :]
    if not number:
        raise PlumeError(f"{asked.paths[0]} has nothing to answer: {' '.join(asked.reading.lines()[1:]) or 'it is empty.'}")
    if number < before.count:
        raise PlumeError(f"{asked.paths[0]} has {number:,} examples, and {before.count:,} are answered already: {_OTHER_INPUT}")


def chunks(examples: Iterable[Example], *, most: int = CHUNK, characters: int = CHARACTERS) -> Iterator[list[Example]]:
    """In order; a chunk ends with the example that fills it.

    >>> [len(chunk) for chunk in chunks([Example(texts=("a" * n,)) for n in (1, 9, 1, 1, 1)], most=3, characters=10)]
    [2, 3]
    """
    held: list[Example] = []
    size = 0
    for example in examples:
        held.append(example)
        size += sum(map(len, example.texts))
        if len(held) == most or size >= characters:
            yield held
            held, size = [], 0
    if held:
        yield held


def record(example: Example, prediction: Prediction, *, number: int) -> Prediction:
    """An answer with what it answers: the line in the file (a JSON document has none: the example's number), its id, and what was read."""
    place = {"line": example.line} if example.line else {"number": number}
    return place | ({} if example.key is None else {"id": example.key}) | with_texts(example, prediction)


def with_texts(example: Example, prediction: Prediction) -> Prediction:
    """Where the answer is a text, the one that was read is called its source."""
    if len(example.texts) > 1:
        return {"texts": list(example.texts)} | prediction
    return {"source" if "text" in prediction else "text": example.texts[0]} | prediction


def _require_same(example: Example, before: WrittenLines, file: Path) -> None:
    found = {name: value for name, value in before.last.items() if name in ("line", "number", "id", "text", "texts", "source")}
    if "texts" in found:
        found.pop("text", None)  # what was written
    if "source" in found:
        found["text"] = found.pop("source")
    if found != record(example, {}, number=before.count):
        raise PlumeError(f"The last answer in the output is not about example {before.count:,} of {file}: {_OTHER_INPUT}")
