"""A filter made plain, for databases whose missing values, numbers and truths are unlike sqlite's, on which all of them have to agree.

What is left: AND, OR, and simple conditions whose values have the type of their field. NOT stands only before IN, LIKE, IS NULL and HAS; as in
SQL, both these and their negations hold only where there is a value, IS NULL aside. A language that has no third truth adds that itself.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Mapping

from plume.search.where.tree import AllOf, AmongValues, AnyOf, Compare, Comparing, Condition, IsMissing, MetadataType, Negated, Value

_OPPOSITE = {
    Comparing.EQUAL: Comparing.UNEQUAL,
    Comparing.UNEQUAL: Comparing.EQUAL,
    Comparing.LESS: Comparing.AT_LEAST,
    Comparing.AT_LEAST: Comparing.LESS,
    Comparing.GREATER: Comparing.AT_MOST,
    Comparing.AT_MOST: Comparing.GREATER,
}
_COMPARED = {
    Comparing.EQUAL: operator.eq,
    Comparing.UNEQUAL: operator.ne,
    Comparing.LESS: operator.lt,
    Comparing.AT_LEAST: operator.ge,
    Comparing.GREATER: operator.gt,
    Comparing.AT_MOST: operator.le,
}
_LEAST, _MOST = -(2**63), 2**63 - 1


def plain(condition: Condition, types: Mapping[str, MetadataType], *, holds: bool = True) -> Condition:
    """What is true where the condition is, or, unless it `holds`, where it is false.

    >>> plain(Negated(condition=Compare(column="year", operator=Comparing.GREATER, value=2020.5)), {"year": MetadataType.INT})
    Compare(column='year', operator=<Comparing.AT_MOST: '<='>, value=2020)
    """
    match condition:
        case Negated(condition=inner):
            return plain(inner, types, holds=not holds)
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            made = tuple(plain(part, types, holds=holds) for part in parts)
            return AllOf(conditions=made) if isinstance(condition, AllOf) == holds else AnyOf(conditions=made)
        case Compare(column=column, operator=how, value=value):
            return _compared(column, how if holds else _OPPOSITE[how], value, types[column])
        case AmongValues(column=column, values=values):
            kept = tuple(fitted for value in values if (fitted := _fitted(value, types[column])) is not None)
            return _negated_unless(holds, AmongValues(column=column, values=kept)) if kept else _always(column, not holds)
    return _negated_unless(holds, condition)


def _negated_unless(holds: bool, condition: Condition) -> Condition:
    return condition if holds else Negated(condition=condition)


def _compared(column: str, how: Comparing, value: Value, kind: MetadataType) -> Condition:
    match kind:
        case MetadataType.BOOL:
            return AmongValues(column=column, values=tuple(one for one in (False, True) if _COMPARED[how](one, value)))
        case MetadataType.INT:
            return _whole(column, how, value)
        case MetadataType.REAL:
            return Compare(column=column, operator=how, value=_finite(value))
    return Compare(column=column, operator=how, value=value)


def _whole(column: str, how: Comparing, value: Value) -> Condition:
    """Whole numbers compared with one that may lie between two of them, or beyond all."""
    fitted = _fitted(value, MetadataType.INT)
    if fitted is not None:
        return Compare(column=column, operator=how, value=fitted)
    assert not isinstance(value, str)
    if how in (Comparing.EQUAL, Comparing.UNEQUAL):
        return _always(column, how is Comparing.UNEQUAL)
    above = how in (Comparing.GREATER, Comparing.AT_LEAST)
    if not _LEAST <= value <= _MOST:
        return _always(column, (value > 0) != above)
    return Compare(column=column, operator=Comparing.GREATER if above else Comparing.AT_MOST, value=math.floor(value))


def _always(column: str, holds: bool) -> Condition:
    """Of every value, or of none."""
    return Negated(condition=IsMissing(column=column)) if holds else AmongValues(column=column, values=())


def _fitted(value: Value, kind: MetadataType) -> Value | None:
    """A value in its field's type; None if no value of the field can equal it."""
    match kind:
        case MetadataType.INT:
            assert not isinstance(value, str)
            return int(value) if math.isfinite(value) and value == int(value) and _LEAST <= value <= _MOST else None
        case MetadataType.REAL:
            return _finite(value)
    return value


def _finite(value: Value) -> float:
    """No JSON has infinity."""
    return min(max(float(value), -sys.float_info.max), sys.float_info.max)
