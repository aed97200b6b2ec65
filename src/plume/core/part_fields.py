"""The fields of a part's class: their names and types, and which must be given."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

_HINTS: dict[Any, dict[str, Any]] = {}


def hints(kind: Any) -> dict[str, Any]:
    """Field names and their resolved types, in order of declaration."""
    if kind not in _HINTS:
        resolved = typing.get_type_hints(kind)
        _HINTS[kind] = {field.name: resolved[field.name] for field in dataclasses.fields(kind)}
    return _HINTS[kind]


def required(kind: Any) -> set[str]:
    """The fields without a default."""
    missing = dataclasses.MISSING
    return {field.name for field in dataclasses.fields(kind) if field.default is missing and field.default_factory is missing}
