"""The objects of a JSONL file, or of one JSON array, with the lines they stand on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import read_record
from plume.data.lines import read_lines


def read_objects(path: Path, *, advice: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line by line, in constant memory; an array is loaded whole. `advice` ends the sentence about a line that is no object."""
    lines = ((number, line) for number, line in read_lines(path, longest=None) if line.strip())
    first = next(lines, None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        yield from _array(path, advice)
        return
    for number, line in chain([first], lines):
        yield number, read_record(line, file=path, number=number, advice=advice)


def _array(path: Path, advice: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Item by item, so that the line of each is known."""
    text = "\n".join(line for _, line in read_lines(path, longest=None))
    decoder, line, counted = json.JSONDecoder(), 1, 0
    place, expected = _past_space(text, text.index("[") + 1), "an item"
    while not text.startswith("]", place):
        line, counted = line + text.count("\n", counted, place), place
        try:
            item, place = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            raise PlumeError(
                f"{path}, line {line}: {expected} of the list is not JSON ({error}); is the file cut short? Else {advice}."
            ) from None
        if not isinstance(item, dict):
            raise PlumeError(f"{path}, line {line}: the list holds a JSON {type(item).__name__}, not an object; {advice}.")
        yield line, item
        place = _past_space(text, place)
        if text.startswith(",", place):
            place = _past_space(text, place + 1)
        elif not text.startswith("]", place):
            raise PlumeError(
                f"{path}, line {line}: after this item of the list a comma or ']' is missing; is the file cut short? Else {advice}."
            )


def _past_space(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place
