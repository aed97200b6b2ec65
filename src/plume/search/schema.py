"""Fields of metadata and their types, found from the values: a field that was whole numbers may become real, and nothing else changes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean
from plume.search.backend import ID
from plume.search.where.tree import MetadataType

_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_TRUTHS = {"true": True, "false": False}
_MOST = 1_000  # fields: what sqlite takes, with some to spare


class MetadataSchema:
    """What is known of the fields; `fit` is told each document's, in order."""

    def __init__(self, known: Mapping[str, MetadataType], fixed: Mapping[str, MetadataType] | None = None) -> None:
        self.columns = dict(known)
        self._fixed = dict(fixed or {})
        self.changed: dict[str, MetadataType] = {}

    def fit(self, metadata: Mapping[str, Any], place: str) -> dict[str, Any]:
        """The values as they are stored; those that are null are left out."""
        return {
            name: self._fitted(name, value, place) for name, value in _flat(metadata, place) if value is not None and not _is_nothing(value)
        }

    def _fitted(self, name: str, value: Any, place: str) -> Any:
        if name == ID:
            raise PlumeError(f"{place}: a field is called '{ID}', which is the document's own: name it with --id {ID}, or rename it.")
        fixed = self._fixed.get(name)
        if fixed is not None:
            value = _converted(value, fixed, f"{place}: '{name}'")
        kind = fixed or _type_of(value, f"{place}: '{name}'")
        known = self.columns.get(name)
        if known is None:
            if len(self.columns) >= _MOST:
                raise PlumeError(f"{place}: '{name}' is the {_MOST + 1:,}th field of metadata; an index has at most {_MOST:,}.")
            self.columns[name] = self.changed[name] = kind
        elif known is MetadataType.INT and kind is MetadataType.REAL:
            self.columns[name] = self.changed[name] = MetadataType.REAL
        elif known is not kind and not (known is MetadataType.REAL and kind is MetadataType.INT):
            raise PlumeError(
                f"{place}: '{name}' holds {str(value)[:40]!r} ({kind.value}), but it is of type {known.value}. "
                f"Mend the value, or build the index with --types {name}=text."
            )
        return value

    def take_changed(self) -> dict[str, MetadataType]:
        """New and changed fields since the last time."""
        changed, self.changed = self.changed, {}
        return changed


def _flat(metadata: Mapping[str, Any], place: str, before: str = "") -> list[tuple[str, Any]]:
    """Objects within objects get names with a dot: author.name."""
    found: list[tuple[str, Any]] = []
    for key, value in metadata.items():
        name = f"{before}{clean(str(key))}"
        if isinstance(value, dict):
            if before.count(".") > 5:
                raise PlumeError(f"{place}: '{name}' is too deep for metadata.")
            found += _flat(value, place, f"{name}.")
        else:
            found.append((name, [_cleaned(one) for one in value] if isinstance(value, list | tuple) else _cleaned(value)))
    return found


def _cleaned(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def _is_nothing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _type_of(value: Any, what: str) -> MetadataType:
    match value:
        case bool():
            return MetadataType.BOOL
        case int():
            if not -(2**63) <= value < 2**63:
                raise PlumeError(f"{what} is a number of {len(str(value))} digits, more than 64 bits hold: write it as a text, in quotes.")
            return MetadataType.INT
        case float():
            return MetadataType.REAL
        case str():
            return MetadataType.TEXT
        case list() | tuple() if all(isinstance(one, str | int | float) for one in value):
            if not all(math.isfinite(one) for one in value if isinstance(one, float)):
                raise PlumeError(f"{what} holds {str(value)[:60]!r}: a list has no place for NaN or infinity. Mend or remove it.")
            return MetadataType.LIST
    raise PlumeError(f"{what} holds {str(value)[:60]!r}: metadata are numbers, texts, true or false, and lists of them.")


def _converted(value: Any, kind: MetadataType, what: str) -> Any:
    """A value whose type was given."""
    try:
        match kind:
            case MetadataType.TEXT:
                return value if isinstance(value, str) else str(value)
            case MetadataType.INT if not isinstance(value, float) or value.is_integer():
                return int(value)
            case MetadataType.REAL:
                return float(value)
            case MetadataType.BOOL:
                return value if isinstance(value, bool) else _TRUTHS[str(value).lower()]
            case MetadataType.LIST:
                return value if isinstance(value, list | tuple) else [value]
    except (TypeError, ValueError, KeyError):
        pass
    raise PlumeError(f"{what} holds {str(value)[:40]!r}, which is no {kind.value}. Mend it, or leave out its --types.")


def cell_types(rows: Sequence[Mapping[str, str]]) -> dict[str, MetadataType]:
    """Of a table's columns, by their cells; an empty one says nothing.

    >>> cell_types([{"a": "1", "b": "2.5", "c": "007", "d": "True"}, {"a": "", "b": "3", "c": "8", "d": "false"}])
    {'a': <MetadataType.INT: 'int'>, 'b': <MetadataType.REAL: 'real'>, 'c': <MetadataType.TEXT: 'text'>, 'd': <MetadataType.BOOL: 'bool'>}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _cells_type([row[name] for row in rows if row.get(name)]) for name in names}


def _cells_type(cells: Sequence[str]) -> MetadataType:
    if cells and all(_WHOLE.fullmatch(cell) for cell in cells):
        return MetadataType.INT
    if cells and all(_is_number(cell) for cell in cells):
        return MetadataType.REAL
    return MetadataType.BOOL if cells and all(cell.lower() in _TRUTHS for cell in cells) else MetadataType.TEXT


def _is_number(cell: str) -> bool:
    return _WHOLE.fullmatch(cell) is not None or re.fullmatch(r"-?\d*\.\d+(?:[eE][-+]?\d+)?", cell) is not None
