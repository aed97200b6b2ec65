"""Facts (subject, relation, object) and the sentences that say them, from files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.lines import read_lines
from plume.tuning.prompts.template import SLOT, pieces_of

_FIELDS = ("subject", "relation", "object")
_LONGEST = 1 << 20  # bytes of a line


@dataclass(frozen=True)
class RelationFact:
    """Subject, relation, object."""

    subject: str
    relation: str
    object: str


def read_facts(path: Path) -> list[RelationFact]:
    """TSV, with or without a header, or JSONL with these three fields; each fact once."""
    found: dict[RelationFact, None] = {}
    for number, line in read_lines(path, longest=_LONGEST):
        text = line.strip("\r\n").removeprefix("\ufeff")
        if not text.strip():
            continue
        cells = _of_json(text, path, number) if text.lstrip().startswith("{") else tuple(text.split("\t"))
        if number == 1 and tuple(cell.strip().lower() for cell in cells) == _FIELDS:
            continue
        if len(cells) != 3 or not all(cell.strip() for cell in cells):
            raise PlumeError(f"{path}, line {number}: a fact is a subject, a relation and an object, with tabs between, not '{text[:60]}'.")
        found[RelationFact(*(cell.strip() for cell in cells))] = None
    if not found:
        raise PlumeError(f"{path} holds no fact: write a subject, a relation and an object a line, with tabs between.")
    return list(found)


def _of_json(text: str, path: Path, number: int) -> tuple[str, ...]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise PlumeError(f"{path}, line {number}: this is no JSON ({error.msg}).") from None
    missing = [field for field in _FIELDS if not isinstance(record.get(field), str)]
    if missing:
        raise PlumeError(f"{path}, line {number}: a fact has {', '.join(_FIELDS)}, texts each, and here '{missing[0]}' is not one.")
    return tuple(record[field] for field in _FIELDS)


def read_relations(path: Path) -> dict[str, tuple[str, ...]]:
    """A relation and a template with [X] and [Y] a line, a tab between; a relation that has several is asked with each, and their scores averaged."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in read_lines(path, longest=_LONGEST):
        text = line.strip().removeprefix("\ufeff")
        if not text or text.startswith("#"):
            continue
        relation, tab, said = text.partition("\t")
        if not tab:
            raise PlumeError(
                f"{path}, line {number}: a relation and its template are needed, with a tab between, such as 'born in\t[X] was born in [Y].'"
            )
        template = _template(said.strip(), f"{path}, line {number}")
        found[relation.strip()] = (*found.get(relation.strip(), ()), template)
    return found


def _template(said: str, where: str) -> str:
    if said.count("[X]") != 1 or said.count("[Y]") != 1:
        raise PlumeError(f"{where}: the template '{said}' needs [X] for the subject and [Y] for the object, each once.")
    if SLOT.search(said):
        raise PlumeError(f"{where}: the template '{said}' has a blank of its own; [Y] is the one.")
    made = said.replace("[X]", "{text}").replace("[Y]", "___")
    pieces_of(made)
    return made


def by_relation(facts: list[RelationFact], templates: dict[str, tuple[str, ...]], path: Path) -> Iterator[tuple[str, list[RelationFact]]]:
    """Of each relation that has a template its facts; one that has none is an error if none has."""
    relations = dict.fromkeys(fact.relation for fact in facts)
    if not any(relation in templates for relation in relations):
        raise PlumeError(f"{path} has no template for any relation of the facts: {', '.join(list(relations)[:8])}.")
    for relation in relations:
        if relation in templates:
            yield relation, [fact for fact in facts if fact.relation == relation]
