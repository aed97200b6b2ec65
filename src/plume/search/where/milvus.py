"""A filter as an expression of Milvus over a JSON field; every value is written as a literal that its grammar cannot mistake.

Milvus has templates for values, but milvus-lite has not, and one way for both is one way to test. milvus-lite also lacks IN for JSON, and does
not know the backslash in LIKE.
"""

from __future__ import annotations

from collections.abc import Mapping

from plume.search.where import tree
from plume.search.where.json_fields import LOWER, TOKENS, json_field, lowered, said_there, token
from plume.search.where.plain import plain
from plume.search.where.tree import AllOf, AmongValues, AnyOf, Compare, Comparing, Condition, Has, IsMissing, Like, MetadataType, Negated

JSON = "metadata"  # the field
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def to_milvus(condition: Condition, types: Mapping[str, MetadataType], places: Mapping[str, int], *, lite: bool) -> str:
    """For the `filter` of a search; `lite`: of milvus-lite."""
    return _Expression(types, places, lite).of(plain(condition, types))


class _Expression:
    def __init__(self, types: Mapping[str, MetadataType], places: Mapping[str, int], lite: bool) -> None:
        self._types, self._places, self._lite = types, places, lite

    def of(self, condition: Condition) -> str:
        match condition:
            case AllOf(conditions=parts):
                return " and ".join(f"({self.of(part)})" for part in parts)
            case AnyOf(conditions=parts):
                return " or ".join(f"({self.of(part)})" for part in parts)
            case IsMissing(column=column):
                return f"not ({self._there(column)})"
            case Negated(condition=IsMissing(column=column)):
                return self._there(column)
            case Negated(condition=AmongValues(column=column) | Like(column=column) | Has(column=column) as inner):
                return f"{self._there(column)} and not ({self.of(inner)})"
            case Negated():
                raise AssertionError(condition)
            case Compare(column=column, operator=operator, value=value):
                sign = "==" if operator is Comparing.EQUAL else operator.value
                return f"{self._there(column)} and {self._path(column)} {sign} {literal(value)}"
            case AmongValues(column=column, values=values):
                return self._among(self._path(column), [literal(value) for value in values])
            case Like(column=column, pattern=pattern):
                return self._like(column, lowered(pattern))
            case Has(column=column, value=value):
                return f"json_contains({self._path(column, TOKENS)}, {literal(token(value))})"

    def _among(self, path: str, values: list[str]) -> str:
        if self._lite and values:
            return " or ".join(f"{path} == {value}" for value in values)
        return f"{path} in [{', '.join(values)}]" if values else "key < 0"  # of none

    def _like(self, column: str, pattern: str) -> str:
        """The small letters lie apart only where they differ."""
        asked = literal(pattern if self._lite else pattern.replace("\\", "\\\\"))
        there, small = self._path(column), self._path(column, LOWER)
        return f"(exists {there} and {there} like {asked}) or (exists {small} and {small} like {asked})"

    def _there(self, column: str) -> str:
        return f"exists {self._path(column, said_there(self._types[column]))}"

    def _path(self, column: str, which: str = "") -> str:
        return f'{JSON}["{json_field(self._places[column])}{which}"]'


def literal(value: tree.Value) -> str:
    r"""As the grammar has it.

    >>> print(literal('say "no"'), literal(-2.5), literal(True))
    "say \"no\"" -2.5 true
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value.translate(_ESCAPED)}"'
    return repr(value)
