"""Files of triples: TSV, fields parted by |||, N-Triples, JSONL; read as a stream, every line that is no triple named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from plume.core.errors import PlumeError
from plume.data.documents import suffix
from plume.data.lines import read_lines

_RESOURCE = r"(<[^>]*>|_:\S+)"
_NTRIPLE = re.compile(rf'{_RESOURCE}\s+(<[^>]*>)\s+(?:{_RESOURCE}|"((?:[^"\\]|\\.)*)"(?:@(\S+?)|\^\^<[^>]*>)?)\s*\.\s*(?:#.*)?')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_LABELS = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel", "http://schema.org/name")
_OTHER_LABELS = ("http://www.w3.org/2004/02/skos/core#altLabel",)
_SUBJECT, _RELATION, _OBJECT = ("subject", "s", "head"), ("relation", "predicate", "p", "r"), ("object", "o", "tail")


class Stated(NamedTuple):
    """A line of a file: what stands where, by the file's own ids or names."""

    subject: str
    relation: str
    object: str
    literal: bool = False


class Named(NamedTuple):
    """A line that says how something is called; `main`: its name, not another one."""

    key: str
    name: str
    main: bool


def read_triples(path: Path) -> Iterator[tuple[int, Stated | Named]]:
    """With the numbers of their lines; how to read them is found by the file's name, .nt, or the look of the first."""
    lines = ((number, line.strip("\r\n \ufeff")) for number, line in read_lines(path, longest=None))
    reader: Callable[[str, str], Stated | Named] | None = None
    for number, line in lines:
        if line and not (line.startswith("#") and "\t" not in line):
            reader = reader or (_ntriple if suffix(path) == ".nt" else _reader(line))
            yield number, reader(line, f"{path}, line {number}")
    if reader is None:
        raise PlumeError(f"{path} holds no triple: write subject, relation and object in a line, with tabs between.")


def _reader(line: str) -> Callable[[str, str], Stated | Named]:
    if line.startswith("{"):
        return _json
    if _NTRIPLE.fullmatch(line):
        return _ntriple
    return _bars if "|||" in line and "\t" not in line else _tabs


def _tabs(line: str, place: str) -> Stated:
    return _three(line.split("\t"), place, "with tabs between")


def _bars(line: str, place: str) -> Stated:
    return _three(line.split("|||"), place, "with ||| between")


def _three(fields: list[str], place: str, between: str) -> Stated:
    cells = [" ".join(one.split()) for one in fields]
    if len(cells) != 3 or not all(cells):
        empty = [what for what, cell in zip(("subject", "relation", "object"), cells, strict=False) if not cell]
        wrong = f"the {empty[0]} is empty" if len(cells) == 3 else f"{len(cells)} field{'s' * (len(cells) != 1)}"
        raise PlumeError(f"{place}: {wrong}, where a subject, a relation and an object are wanted, {between}.")
    return Stated(cells[0], cells[1], cells[2])


def _json(line: str, place: str) -> Stated:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise PlumeError(f"{place} is not readable JSON ({error}).") from None
    if not isinstance(record, dict):
        raise PlumeError(f'{place} is JSON, but no object: write {{"subject": "…", "relation": "…", "object": "…"}}.')
    cells = [next((record[name] for name in names if name in record), None) for names in (_SUBJECT, _RELATION, _OBJECT)]
    for cell, names in zip(cells, (_SUBJECT, _RELATION, _OBJECT), strict=True):
        if not isinstance(cell, str | int | float) or not str(cell).strip():
            raise PlumeError(f'{place}: the field "{names[0]}" is missing; write {{"subject": "…", "relation": "…", "object": "…"}}.')
    subject, relation, object = (" ".join(str(cell).split()) for cell in cells)
    return Stated(subject, relation, object, literal=bool(record.get("literal", False)))


def _ntriple(line: str, place: str) -> Stated | Named:
    found = _NTRIPLE.fullmatch(line)
    if found is None:
        raise PlumeError(f'{place} is no triple as N-Triples writes them: <subject> <relation> <object> . or "value" for the object.')
    subject, relation, resource, value, _ = found.groups()
    subject, relation = subject.strip("<>"), relation.strip("<>")
    if resource is not None:
        return Stated(subject, relation, resource.strip("<>"))
    value = " ".join(_unescaped(value).split())
    if relation in _LABELS or relation in _OTHER_LABELS:
        return Named(subject, value, relation in _LABELS)
    return Stated(subject, relation, value, literal=True)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda one: chr(int(one[1] or one[2], 16)) if one[1] or one[2] else _LETTERS.get(one[3], one[3]), text)


def last_part(key: str) -> str:
    """What something is called that only has an address.

    >>> last_part("http://example.org/resource/Dream_of_the_Red_Chamber"), last_part("5th of November")
    ('Dream of the Red Chamber', '5th of November')
    """
    if not re.match(r"[a-z][a-z0-9+.-]*://\S+$", key):
        return key
    return unquote(re.split(r"[/#]", key.rstrip("/#"))[-1]).replace("_", " ") or key


def read_names(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file of names, as fields with tabs between."""
    for number, line in read_lines(path, longest=None):
        if line.strip():
            fields = [" ".join(one.split()) for one in line.rstrip("\r").split("\t")]
            if len(fields) < 2 or not fields[0] or not fields[1]:
                raise PlumeError(f"{path}, line {number}: two fields are wanted, with a tab between, and this line has {len(fields)}.")
            yield number, fields
