"""A filter as SQL with bound values: nothing that a user wrote becomes a part of the statement."""

from __future__ import annotations

from collections.abc import Callable

from plume.search.where.tree import AllOf, AmongValues, AnyOf, Compare, Condition, Has, IsMissing, Like, Negated, Value

Compiled = tuple[str, list[Value]]


def to_sqlite(condition: Condition, name: Callable[[str], str]) -> Compiled:
    """The expression and what is bound to its question marks; `name` gives the name that a field has in the table."""
    match condition:
        case Compare(column=column, operator=operator, value=value):
            return f"{name(column)} {operator.value} ?", [value]
        case AmongValues(column=column, values=values):
            return f"{name(column)} IN ({', '.join('?' * len(values))})", list(values)
        case Like(column=column, pattern=pattern):
            return f"{name(column)} LIKE ?", [pattern]
        case IsMissing(column=column):
            return f"{name(column)} IS NULL", []
        case Has(column=column, value=value):
            return f"CASE WHEN {name(column)} IS NOT NULL THEN ? IN (SELECT value FROM json_each({name(column)})) END", [value]
        case Negated(condition=inner):
            text, bound = to_sqlite(inner, name)
            return f"NOT ({text})", bound
        case AllOf(conditions=parts):
            return _joined(" AND ", parts, name)
        case AnyOf(conditions=parts):
            return _joined(" OR ", parts, name)


def _joined(word: str, parts: tuple[Condition, ...], name: Callable[[str], str]) -> Compiled:
    compiled = [to_sqlite(part, name) for part in parts]
    return word.join(f"({text})" for text, _ in compiled), [value for _, values in compiled for value in values]
