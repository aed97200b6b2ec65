"""A filter as SQL of PostgreSQL, with bound values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from plume.search.where.plain import plain
from plume.search.where.sql import Compiled
from plume.search.where.tree import AllOf, AmongValues, AnyOf, Compare, Condition, Has, IsMissing, Like, MetadataType, Negated, Value

_SQL = {MetadataType.INT: "bigint", MetadataType.REAL: "float8", MetadataType.TEXT: "text", MetadataType.BOOL: "boolean"}


def to_postgresql(condition: Condition, types: Mapping[str, MetadataType], name: Callable[[str], str]) -> Compiled:
    """The expression and what is bound to its %s; `name` gives the name that a field has in the table."""
    return _compiled(plain(condition, types), types, name)


def _compiled(condition: Condition, types: Mapping[str, MetadataType], name: Callable[[str], str]) -> Compiled:
    match condition:
        case Compare(column=column, operator=operator, value=value):
            return f"{name(column)} {operator.value} %s::{_SQL[types[column]]}", [value]
        case AmongValues(column=column, values=values):
            return f"{name(column)} = ANY(%s::{_SQL[types[column]]}[])", [list(values)]  # type: ignore[list-item]
        case Like(column=column, pattern=pattern):  # in the collation "C" only A–Z have small letters; no sign escapes another
            return f"lower({name(column)}) LIKE lower(%s COLLATE \"C\") ESCAPE ''", [pattern]
        case IsMissing(column=column):
            return f"{name(column)} IS NULL", []
        case Has(column=column, value=value):
            alike = [json.dumps(cleaned(one), ensure_ascii=False) for one in _alike(value)]
            return " OR ".join([f"{name(column)} @> %s::jsonb"] * len(alike)), [*alike]
        case Negated(condition=inner):
            text, bound = _compiled(inner, types, name)
            return f"NOT ({text})", bound
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            compiled = [_compiled(part, types, name) for part in parts]
            word = " AND " if isinstance(condition, AllOf) else " OR "
            return word.join(f"({text})" for text, _ in compiled), [value for _, values in compiled for value in values]


def _alike(value: Value) -> list[Value]:
    """In a list true is 1 and false is 0, as sqlite has it."""
    return [int(value), bool(value)] if value in (0, 1) else [value]


def cleaned(value: Any) -> Any:
    """PostgreSQL's text has no NUL; U+FFFD takes its place, so that offsets stay."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    return [cleaned(one) for one in value] if isinstance(value, list) else value
