"""A filter from text: lang = 'en' AND (year > 2020 OR year IS NULL). A small language of its own; anything else is refused with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from plume.core.errors import PlumeError, suggest
from plume.search.where.tree import (
    AllOf,
    AmongValues,
    AnyOf,
    Compare,
    Comparing,
    Condition,
    Has,
    IsMissing,
    Like,
    MetadataType,
    Negated,
    Value,
)
from plume.text.tidy import SURROGATE, without_surrogates

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])|(?P<quoted>"(?:[^"]|"")+")"""
    r"""|(?P<word>[^\W\d][\w.]*)|(?P<sign><=|>=|!=|<>|==|[=<>(),]))"""
)
_WORDS = {"and", "or", "not", "in", "like", "is", "null", "true", "false", "has", "between"}
_SIGNS = {"==": "=", "<>": "!="}
_DEEPEST = 50  # brackets and NOTs within each other
_MOST, _MOST_VALUES = 500, 30_000  # conditions side by side, values of IN: what databases take
_LONGEST_PATTERN = 32_766  # bytes: what databases take
_EXAMPLE = "write, for example, lang = 'en' AND year > 2020"
_FITTING = {
    MetadataType.INT: (int, float),
    MetadataType.REAL: (int, float),
    MetadataType.TEXT: (str,),
    MetadataType.BOOL: (bool,),
}
_SHOWN = {MetadataType.INT: "numbers", MetadataType.REAL: "numbers", MetadataType.TEXT: "text", MetadataType.BOOL: "true or false"}


class _Token(NamedTuple):
    kind: str  # string, number, name, sign, or a word of the language itself
    text: str
    place: int


def parse_where(text: str, columns: Mapping[str, MetadataType]) -> Condition:
    """The tree of a filter over these columns.

    >>> parse_where("NOT year >= 2020", {"year": MetadataType.INT})
    Negated(condition=Compare(column='year', operator=<Comparing.AT_LEAST: '>='>, value=2020))
    """
    return _Parser(text, columns).whole()


class _Parser:
    def __init__(self, text: str, columns: Mapping[str, MetadataType]) -> None:
        self._text, self._columns = text, columns
        self._tokens = self._cut()
        self._at = self._depth = 0

    def whole(self) -> Condition:
        condition = self._either()
        if self._next.kind != "end":
            self._fail("expected AND, OR or the end")
        return condition

    def _cut(self) -> list[_Token]:
        tokens, place, end = list[_Token](), 0, len(self._text.rstrip())
        if half := SURROGATE.search(self._text):
            raise PlumeError(self._said(half.start(), "half a surrogate pair is no character: is the text UTF-8?"))
        while place < end:
            found = _TOKEN.match(self._text, place)
            if found is None:
                place += len(self._text[place:]) - len(self._text[place:].lstrip())
                raise PlumeError(self._said(place, "this is no part of a filter"))
            kind, text = found.lastgroup or "", found.group(found.lastgroup or 0)
            if kind == "word" and text.lower() in _WORDS:
                kind = text.lower()
            elif kind in ("word", "quoted"):
                kind, text = "name", text[1:-1].replace('""', '"') if kind == "quoted" else text
            tokens.append(_Token(kind, text, found.start(found.lastgroup or 0)))
            place = found.end()
        return [*tokens, _Token("end", "", end)]

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *kinds: str) -> _Token | None:
        token = self._next
        if token.kind in kinds or (token.kind == "sign" and token.text in kinds):
            self._at += 1
            return token
        return None

    def _need(self, kind: str, wanted: str) -> _Token:
        return self._take(kind) or self._fail(f"expected {wanted}")

    def _fail(self, why: str, token: _Token | None = None) -> NoReturn:
        raise PlumeError(self._said((token or self._next).place, why))

    def _said(self, place: int, why: str) -> str:
        text = without_surrogates(self._text)
        around = text[place : place + 20]
        where = f"at character {place + 1} ('{around}')" if around else "at its end"
        return f"The filter cannot be read {where}: {why}; {_EXAMPLE}. The filter: {text[:200]}"

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        self._bounded(len(parts), _MOST)
        return parts[0] if len(parts) == 1 else AnyOf(conditions=tuple(parts))

    def _both(self) -> Condition:
        parts = [self._negated()]
        while self._take("and"):
            parts.append(self._negated())
        self._bounded(len(parts), _MOST)
        return parts[0] if len(parts) == 1 else AllOf(conditions=tuple(parts))

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail(f"more than {_DEEPEST} brackets within each other")
        if self._take("not"):
            made: Condition = Negated(condition=self._negated())
        elif self._take("("):
            made = self._either()
            self._need(")", "')'")
        else:
            made = self._simple()
        self._depth -= 1
        return made

    def _bounded(self, count: int, most: int) -> None:
        if count > most:
            self._fail(f"{count:,} of these are more than the {most:,} that a filter may have")

    def _simple(self) -> Condition:
        name = self._need("name", "the name of a field")
        if name.text not in self._columns:
            self._fail(f"there is no field '{name.text}': {suggest(name.text, self._columns)}", name)
        column, kind = name.text, self._columns[name.text]
        if self._take("is"):
            negated = self._take("not")
            self._need("null", "NULL")
            return _perhaps(IsMissing(column=column), negated)
        if kind is MetadataType.LIST:
            negated = self._take("not")
            self._need("has", "HAS (a list is asked what it has: tags HAS 'sport')")
            return _perhaps(Has(column=column, value=self._value(None)), negated)
        negated = self._take("not")
        if self._take("in"):
            return _perhaps(AmongValues(column=column, values=self._values(kind)), negated)
        if self._take("between"):
            return _perhaps(self._between(column, kind), negated)
        if self._take("like"):
            if kind is not MetadataType.TEXT:
                self._fail(f"LIKE is for text, and '{column}' holds {_SHOWN[kind]}")
            return _perhaps(Like(column=column, pattern=self._pattern()), negated)
        sign = self._next
        if negated or sign.kind != "sign" or sign.text in "(),":
            self._fail(f"expected a comparison (=, !=, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL) after '{column}'")
        self._at += 1
        operator = Comparing(_SIGNS.get(sign.text, sign.text))
        return Compare(column=column, operator=operator, value=self._value(kind))

    def _between(self, column: str, kind: MetadataType) -> Condition:
        low = Compare(column=column, operator=Comparing.AT_LEAST, value=self._value(kind))
        self._need("and", "AND")
        return AllOf(conditions=(low, Compare(column=column, operator=Comparing.AT_MOST, value=self._value(kind))))

    def _values(self, kind: MetadataType) -> tuple[Value, ...]:
        self._need("(", "'(' and a list of values")
        values = [self._value(kind)]
        while self._take(","):
            values.append(self._value(kind))
        self._bounded(len(values), _MOST_VALUES)
        self._need(")", "',' or ')'")
        return tuple(values)

    def _pattern(self) -> str:
        at, pattern = self._next, str(self._value(MetadataType.TEXT))
        if len(pattern.encode()) > _LONGEST_PATTERN:
            self._fail(f"a pattern of {len(pattern.encode()):,} bytes is more than the {_LONGEST_PATTERN:,} that LIKE takes", at)
        return pattern

    def _value(self, kind: MetadataType | None) -> Value:
        token = self._take("string", "number", "true", "false")
        if token is None:
            quoted = f"; text stands in quotes: '{self._next.text}'" if self._next.kind == "name" else ""
            self._fail(f"expected a value: 'text', a number, TRUE or FALSE{quoted}")
        value: Value
        if token.kind == "string":
            value = token.text[1:-1].replace("''", "'")
        elif token.kind == "number":
            whole = re.fullmatch(r"[-+]?\d{1,19}", token.text) is not None and -(2**63) <= int(token.text) < 2**63
            value = int(token.text) if whole else float(token.text)
        else:
            value = token.kind == "true"
        if kind is not None and (type(value) not in _FITTING[kind]):
            quote = f": quote it, '{token.text}'" if kind is MetadataType.TEXT else ""
            self._fail(f"the field holds {_SHOWN[kind]}, which {token.text} is not{quote}", token)
        return value


def _perhaps(condition: Condition, negated: _Token | None) -> Condition:
    return Negated(condition=condition) if negated else condition
