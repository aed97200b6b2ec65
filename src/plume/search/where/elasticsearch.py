"""A filter as a query of Elasticsearch's DSL; values are values of its JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from plume.search.where.json_fields import LOWER, TOKENS, json_field, lowered, said_there, token
from plume.search.where.plain import plain
from plume.search.where.tree import AllOf, AmongValues, AnyOf, Compare, Comparing, Condition, Has, IsMissing, Like, MetadataType, Negated

WHOLE = ".whole"  # the same number, indexed as a whole one; a field's own type cannot change when numbers turn out to be real
_RANGES = {Comparing.LESS: "lt", Comparing.AT_MOST: "lte", Comparing.GREATER: "gt", Comparing.AT_LEAST: "gte"}
Query = dict[str, Any]


def to_elasticsearch(condition: Condition, types: Mapping[str, MetadataType], places: Mapping[str, int]) -> Query:
    """For the `filter` of a search."""
    return _Queries(types, places).of(plain(condition, types))


class _Queries:
    def __init__(self, types: Mapping[str, MetadataType], places: Mapping[str, int]) -> None:
        self._types, self._places = types, places

    def of(self, condition: Condition) -> Query:
        match condition:
            case AllOf(conditions=parts):
                return {"bool": {"filter": [self.of(part) for part in parts]}}
            case AnyOf(conditions=parts):
                return any_of([self.of(part) for part in parts])
            case IsMissing(column=column):
                return {"bool": {"must_not": [self._there(column)]}}
            case Negated(condition=IsMissing(column=column)):
                return self._there(column)
            case Negated(condition=AmongValues(column=column) | Like(column=column) | Has(column=column) as inner):
                return self._there_but_not(column, self.of(inner))
            case Negated():
                raise AssertionError(condition)
            case Compare(column=column, operator=Comparing.EQUAL, value=value):
                return {"term": {self._exact(column): {"value": value}}}
            case Compare(column=column, operator=Comparing.UNEQUAL, value=value):
                return self._there_but_not(column, {"term": {self._exact(column): {"value": value}}})
            case Compare(column=column, operator=operator, value=value):
                return {"range": {self._exact(column): {_RANGES[operator]: value}}}
            case AmongValues(column=column, values=values):
                return {"terms": {self._exact(column): list(values)}}
            case Like(column=column, pattern=pattern):
                asked = {"value": wildcards(lowered(pattern))}
                return any_of([{"wildcard": {self._name(column, which): asked}} for which in ("", LOWER)])
            case Has(column=column, value=value):
                return {"term": {self._name(column, TOKENS): {"value": token(value)}}}

    def _there(self, column: str) -> Query:
        return {"exists": {"field": self._name(column, said_there(self._types[column]))}}

    def _there_but_not(self, column: str, query: Query) -> Query:
        return {"bool": {"filter": [self._there(column)], "must_not": [query]}}

    def _exact(self, column: str) -> str:
        return self._name(column, WHOLE if self._types[column] is MetadataType.INT else "")

    def _name(self, column: str, which: str = "") -> str:
        return f"{json_field(self._places[column])}{which}"


def any_of(queries: list[Query]) -> Query:
    """At least one of them."""
    return {"bool": {"should": queries, "minimum_should_match": 1}}


def wildcards(pattern: str) -> str:
    r"""LIKE's % and _ as * and ?; what means something to Elasticsearch is escaped.

    >>> print(wildcards("50%_*"))
    50*?\*
    """
    return re.sub(r"[\\*?]", r"\\\g<0>", pattern).replace("%", "*").replace("_", "?")
