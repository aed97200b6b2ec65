"""Texts with spans: JSON with entities (CLUENER, doccano, spaCy), and lines of words with spaces between them (SIGHAN)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from plume.core.errors import PlumeError
from plume.data.lines import read_lines
from plume.readers.example import Example, Reading
from plume.readers.json_rows import read_objects
from plume.readers.row_languages import row_languages
from plume.readers.schemes import WORD, Span

_TEXTS = ("text", "data")
_LISTS = ("entities", "spans", "labels", "label")
_STARTS, _ENDS = ("start", "start_offset"), ("end", "end_offset")
_LABELS = ("label", "type", "entity")
_SURFACES = ("text", "word", "surface", "mention")
_ADVICE = 'write one object a line, as {"text": "…", "entities": [{"start": 0, "end": 2, "label": "PER"}]}'
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # JSON can escape what UTF-8 cannot write
_SPACES = re.compile("[ \t\u3000]+")
_UNCUT = 20  # lines without a single space: too many for chance


class _Place(NamedTuple):
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}"

    def briefly(self, found: str) -> str:
        return f"{self.path.name}, line {self.line}: {found}"


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """A span as the file has it; `surface`: what should stand there, if the file says so."""

    start: int
    end: int
    label: str
    surface: str | None = None


def read_spans(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    """An object a line, or a list of objects: a text, and its entities in characters. Ends are exclusive, except in CLUENER."""
    reading.format = "JSONL with spans"
    for number, record in read_objects(path, advice=_ADVICE):
        place = _Place(path, number)
        text = next((record[name] for name in _TEXTS if isinstance(record.get(name), str)), None)
        if text is None:
            raise PlumeError(f"{place}: no 'text' with text in it; keys found: {_keys(record)}. {_ADVICE.capitalize()}.")
        if not text.strip():
            reading.skip("empty text", place.briefly("nothing but spaces"))
            continue
        spans = _spans(record, text, place, reading) if labelled else None
        if _UNWRITABLE.search(text):
            reading.mend("characters that UTF-8 cannot write become U+FFFD", place.briefly("escaped as \\u…"))
            text = _UNWRITABLE.sub("\ufffd", text)  # of the same length, so that spans stay right
        key = record.get("id")
        named = str(key) if isinstance(key, str | int) else None
        reading.read += 1
        yield Example(texts=(text,), answer=spans, key=named, line=number, languages=row_languages(record, ("text",)))


def read_segmented(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    """A sentence a line; with answers its words have spaces between them (SIGHAN bakeoffs), which are no part of the text."""
    reading.format = "a sentence a line, words separated by spaces" if labelled else "a sentence a line"
    uncut, cut = 0, False  # lines seen before the first one with a space
    for number, line in read_lines(path, longest=None):
        words = [word for word in _SPACES.split(line.rstrip("\r")) if word]
        if not words:
            continue
        cut |= len(words) > 1
        uncut += not cut
        if labelled and uncut > _UNCUT:
            raise PlumeError(f"{path}: no spaces in the first {_UNCUT} lines, so that words cannot be told. Put a space between words.")
        reading.read += 1
        yield Example(texts=("".join(words),), answer=_word_spans(words) if labelled else None, line=number)


def _word_spans(words: list[str]) -> tuple[Span, ...]:
    spans, at = [], 0
    for word in words:
        spans.append(Span(start=at, end=at + len(word), label=WORD))
        at += len(word)
    return tuple(spans)


def _spans(record: dict[str, Any], text: str, place: _Place, reading: Reading) -> tuple[Span, ...]:
    spans = []
    for stated in _stated(record, place):
        span = _checked(stated, text, place, reading)
        if span is not None:
            spans.append(span)
    return _without_overlaps(spans, place, reading)


def _stated(record: dict[str, Any], place: _Place) -> Iterator[_Stated]:
    name = next((name for name in _LISTS if isinstance(record.get(name), list | dict)), None)
    if name is None:
        raise PlumeError(f"{place}: no entities; keys found: {_keys(record)}. {_ADVICE.capitalize()}; a text without any has [].")
    found = record[name]
    if isinstance(found, dict):
        yield from _cluener(found, name, place)
        return
    for item in found:
        yield _from_item(item, place)


def _cluener(found: dict[str, Any], name: str, place: _Place) -> Iterator[_Stated]:
    """{type: {surface: [[first, last], …]}}"""
    try:
        for label, surfaces in found.items():
            for surface, places in surfaces.items():
                for first, last in places:
                    yield _Stated(start=_number(first), end=_number(last) + 1, label=label, surface=surface)
    except (AttributeError, TypeError, ValueError):
        expected = '{"PER": {"李明": [[0, 1]]}}, ends inclusive'
        raise PlumeError(f"{place}: '{name}' is an object, but not as in CLUENER: expected {expected}.") from None


def _from_item(item: Any, place: _Place) -> _Stated:
    """{"start": 0, "end": 2, "label": "PER"}, or [0, 2, "PER"]."""
    try:
        if isinstance(item, dict):
            start, end, label = (_first(item, names) for names in (_STARTS, _ENDS, _LABELS))
            surface = next((item[name] for name in _SURFACES if isinstance(item.get(name), str)), None)
        else:
            (start, end, label), surface = item, None
        if not isinstance(label, str) or not label:
            raise ValueError
        return _Stated(start=_number(start), end=_number(end), label=label, surface=surface)
    except (TypeError, ValueError):
        expected = '{"start": 0, "end": 2, "label": "PER"} or [0, 2, "PER"], in characters from 0'
        raise PlumeError(f"{place}: {str(item)[:80]} is no entity: expected {expected}.") from None


def _first(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if name in item), None)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError
    return value


def _checked(stated: _Stated, text: str, place: _Place, reading: Reading) -> Span | None:
    """Where the file says what should stand there, that decides: the nearest place where it does."""
    inside = 0 <= stated.start < stated.end <= len(text)
    if inside and stated.surface in (None, text[stated.start : stated.end]):
        return Span(start=stated.start, end=stated.end, label=stated.label)
    if stated.surface is None:
        raise PlumeError(
            f"{place}: the {stated.label} from {stated.start} to {stated.end} is not within the text, which has {len(text)} characters. "
            "Count characters (not bytes) from 0; the end is the first place behind the entity."
        )
    starts = [found.start() for found in re.finditer(re.escape(stated.surface), text)] if stated.surface else []
    if not starts:
        reading.mend("an entity that does not occur in its text is passed over", place.briefly(stated.surface))
        return None
    start = min(starts, key=lambda start: abs(start - stated.start))
    reading.mend("an entity that stands elsewhere than stated", place.briefly(stated.surface))
    return Span(start=start, end=start + len(stated.surface), label=stated.label)


def _without_overlaps(spans: list[Span], place: _Place, reading: Reading) -> tuple[Span, ...]:
    """Tags can say one entity a character: of two that overlap the longer one is kept, or else the first stated."""
    kept: list[Span] = []
    for span in sorted(dict.fromkeys(spans), key=lambda span: span.start - span.end):
        if any(span.start < other.end and other.start < span.end for other in kept):
            reading.mend(
                "an entity that overlaps a longer one is passed over", place.briefly(f"{span.label} from {span.start} to {span.end}")
            )
        else:
            kept.append(span)
    return tuple(sorted(kept, key=lambda span: span.start))


def _keys(record: dict[str, Any]) -> str:
    return ", ".join(map(str, list(record)[:10])) or "none"
