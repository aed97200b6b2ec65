"""What a filter says: a tree of conditions about the metadata of a document. Missing values are as in SQL: no comparison holds for them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

Value = bool | int | float | str


class MetadataType(enum.StrEnum):
    """What the values of a field are."""

    INT = "int"
    REAL = "real"
    TEXT = "text"
    BOOL = "bool"
    LIST = "list"  # of texts or numbers


class Comparing(enum.StrEnum):
    """The comparisons, as they are written."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, kw_only=True)
class Compare:
    """year > 2020"""

    column: str
    operator: Comparing
    value: Value


@dataclass(frozen=True, kw_only=True)
class AmongValues:
    """lang IN ('en', 'de')"""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, kw_only=True)
class Like:
    """title LIKE 'how to%': % is any text, _ one character, and no sign escapes them; capital and small letters A–Z are the same."""

    column: str
    pattern: str


@dataclass(frozen=True, kw_only=True)
class IsMissing:
    """year IS NULL"""

    column: str


@dataclass(frozen=True, kw_only=True)
class Has:
    """tags HAS 'sport': one of the values of a list."""

    column: str
    value: Value


@dataclass(frozen=True, kw_only=True)
class Negated:
    """NOT …; as in SQL, neither a condition nor its negation holds for a missing value, IS NULL aside."""

    condition: Condition


@dataclass(frozen=True, kw_only=True)
class AllOf:
    """… AND …"""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, kw_only=True)
class AnyOf:
    """… OR …"""

    conditions: tuple[Condition, ...]


Condition = Compare | AmongValues | Like | IsMissing | Has | Negated | AllOf | AnyOf
