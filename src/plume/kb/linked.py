"""Linked text: JSONL whose lines say which entity stands where, as `SpanField(name="mentions")` reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.data.documents import read_documents
from plume.data.lines import read_lines
from plume.kb.candidates import numbers_of_names
from plume.kb.link import Linker
from plume.kb.names import normalised
from plume.kb.used import KnowledgeUsed

FIELD = "mentions"
FORMS = "forms"  # the same places, each with the number of its name among the knowledge base's (`candidates.py`)


@dataclass(frozen=True, kw_only=True)
class LinkedText:
    """What linking a corpus made."""

    documents: int
    characters: int
    mentions: int
    ambiguous: int  # mentions that may be several entities; the likeliest is taken


def beside(path: Path) -> Path:
    """The file that says which knowledge base a linked corpus was linked to."""
    return path.with_name(f"{path.name}.kb.json")


def linked_with(path: Path) -> KnowledgeUsed | None:
    """The knowledge base of a linked corpus; None: nothing says it."""
    return KnowledgeUsed.read(beside(path))


def link_corpus(
    corpus: Path, out: Path, linker: Linker, *, candidates: bool = False, shown: Callable[[int], None] = lambda documents: None
) -> LinkedText:
    """Text files (documents parted by blank lines) or JSONL, whose other fields stay. `candidates`: say which name stands there too."""
    if out.exists() and corpus.exists() and out.samefile(corpus):
        raise PlumeError(f"{out} is the corpus itself, which is kept as it is: choose another --out.")
    numbers = numbers_of_names(linker.kb) if candidates else {}
    counts = dict.fromkeys(("documents", "characters", "mentions", "ambiguous"), 0)

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8") as handle:
            for record in _records(corpus):
                found = linker.mentions(record["text"])
                record[FIELD] = [{"start": one.start, "end": one.end, "id": one.entity} for one in found]
                if candidates:
                    names = [(one, numbers[normalised(record["text"][one.start : one.end])]) for one in found]
                    record[FORMS] = [{"start": one.start, "end": one.end, "id": number} for one, number in names]
                handle.write(json.dumps(record, ensure_ascii=False) + "\n")
                counts["documents"] += 1
                counts["characters"] += len(record["text"])
                counts["mentions"] += len(found)
                counts["ambiguous"] += sum(len(one.candidates) > 1 for one in found)
                if counts["documents"] % 1000 == 0:
                    shown(counts["documents"])
        if not counts["documents"]:
            raise PlumeError(f"{corpus} holds no text.")

    write_atomic(out, write)
    KnowledgeUsed.of(linker.kb).write(beside(out))
    return LinkedText(**counts)


def _records(corpus: Path) -> Iterator[dict[str, Any]]:
    first = next((line for _, line in read_lines(corpus, longest=None) if line.strip()), "")
    if not first.lstrip("\ufeff").startswith("{"):
        for document in read_documents((corpus,)):
            if document.paragraphs:
                yield {"text": "\n".join(document.paragraphs)}
        return
    for number, line in read_lines(corpus, longest=None):
        if line.strip():
            try:
                record = json.loads(line.lstrip("\ufeff"))
            except json.JSONDecodeError as error:
                raise PlumeError(f"{corpus}, line {number} is not readable JSON ({error}).") from None
            if not isinstance(record, dict) or not isinstance(record.get("text"), str):
                raise PlumeError(f'{corpus}, line {number} has no text: write {{"text": "…"}}.')
            if record["text"].strip():
                yield record
