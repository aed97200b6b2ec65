"""The fields of a part's class: their names and types, and which must be given."""

from __future__ import annotations

import dataclasses
import functools
import typing
from typing import Any


@functools.cache
def hints(kind: Any) -> dict[str, Any]:
    """Field names and their resolved types, in order of declaration."""
    resolved = typing.get_type_hints(kind)
    return {field.name: resolved[field.name] for field in dataclasses.fields(kind)}


def required(kind: Any) -> set[str]:
    """The fields without a default."""
    missing = dataclasses.MISSING
    return {field.name for field in dataclasses.fields(kind) if field.default is missing and field.default_factory is missing}
