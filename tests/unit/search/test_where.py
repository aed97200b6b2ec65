"""Filters: what they mean is held against sqlite itself, and what is no filter is refused with its place."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plume.core.errors import PlumeError
from plume.search.where.parse import parse_where
from plume.search.where.sql import to_sqlite
from plume.search.where.tree import MetadataType

COLUMNS = {
    "lang": MetadataType.TEXT, "year": MetadataType.INT, "price": MetadataType.REAL, "open": MetadataType.BOOL, "tags": MetadataType.LIST,
    "author.name": MetadataType.TEXT, "a b": MetadataType.INT,
}  # fmt: skip
ROWS: list[tuple[Any, ...]] = [
    ("en", 2019, 1.5, 1, '["a", "b"]', "Wu", 1), ("de", 2021, None, 0, "[]", None, 2), (None, 2023, 0.0, None, None, "O'Neil", 3),
    ("EN", None, -2.0, 1, '["b", 3]', "Li", None),
]  # fmt: skip


def rows_of(where: str) -> list[int]:
    """Numbers of the rows that a filter leaves."""
    database = sqlite3.connect(":memory:")
    names = {name: f"m{place}" for place, name in enumerate(COLUMNS)}
    database.execute(f"CREATE TABLE t(n INTEGER PRIMARY KEY, {', '.join(names.values())})")
    database.executemany(f"INSERT INTO t({', '.join(names.values())}) VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)
    text, values = to_sqlite(parse_where(where, COLUMNS), names.__getitem__)
    return [number - 1 for (number,) in database.execute(f"SELECT n FROM t WHERE {text} ORDER BY n", values)]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("lang = 'en'", [0]),
        ("lang LIKE 'e%'", [0, 3]),
        ("NOT lang LIKE 'e%'", [1]),
        ("lang NOT IN ('en', 'EN')", [1]),
        ("year > 2019 AND year <= 2023", [1, 2]),
        ("year BETWEEN 2020 AND 2022", [1]),
        ("year IS NULL OR lang IS NULL", [2, 3]),
        ("year IS NOT NULL", [0, 1, 2]),
        ("NOT (year = 2019 OR price < 0)", [2]),
        ("year != 2019", [1, 2]),
        ("year <> 2019 and not open = true", [1]),
        ("price >= -2 AND price < 1.5e0", [2, 3]),
        ("open = FALSE", [1]),
        ("tags HAS 'b'", [0, 3]),
        ("tags NOT HAS 'b'", [1]),
        ("tags HAS 3", [3]),
        ("author.name = 'O''Neil'", [2]),
        ('"a b" = 2', [1]),
        ("lang = 'en' OR year = 2021 AND open = true", [0]),
        ("(lang = 'en' OR year = 2021) AND open = false", [1]),
    ],
)
def test_it_means_what_sql_means(where: str, rows: list[int]) -> None:
    assert rows_of(where) == rows


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("lagn = 'en'", "at character 1 .*no field 'lagn': did you mean lang"),
        ("year = 'x'", "at character 8 .*holds numbers"),
        ("lang = 3", "holds text"),
        ("lang = 'a'; DROP TABLE t", "at character 11"),
        ("lang = 'a' UNION SELECT 1", "at character 12 .*expected AND, OR or the end"),
        ("year = (SELECT 1)", "at character 8 .*expected a value"),
        ("year = 1 -- x", "at character 10"),
        ("year = 1 /* x */", "at character 10"),
        ("load_extension('x') = 1", "no field 'load_extension'"),
        ("year LIKE '2%'", "LIKE is for text"),
        ("tags = 'a'", "a list is asked what it has"),
        ("lang = 'a", "at character 8"),
        ("year >", "at its end"),
        ("", "at its end"),
        ("(year = 1", "expected '\\)'"),
        ("lang NOT = 'a'", "expected a comparison"),
        ("NOT " * 60 + "year = 1", "50 brackets"),
        (" OR ".join(["year = 1"] * 501), "more than the 500"),
        ("year = 1 AND lang = 'x\udcff'", "at character 23 .*half a surrogate pair"),
        (f"lang LIKE '{'x' * 60_000}'", "at character 11 .*a pattern of 60,000 bytes is more than the 32,766"),
    ],
)
def test_anything_else_is_refused_with_its_place(where: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        parse_where(where, COLUMNS)


@given(st.text(alphabet="lang year = '\"()<>!,;-ANDORNOTINLIKE12.*/\\", max_size=40))
def test_no_text_reaches_the_statement(where: str) -> None:
    """Whatever is read compiles to a statement of our own names and question marks, which sqlite takes."""
    try:
        rows_of(where)
    except PlumeError:
        return


@given(st.text())
def test_a_quoted_value_is_the_text_itself(value: str) -> None:
    condition = parse_where(f"lang = '{value.replace(chr(39), chr(39) * 2)}'", COLUMNS)
    assert to_sqlite(condition, lambda name: "x") == ("x = ?", [value])


@pytest.mark.parametrize("number", [1234567890123456789, 2**63 - 1, -(2**63), 7])
def test_whole_numbers_stay_whole_as_far_as_sqlite_has_them(number: int) -> None:
    assert repr(number) in repr(parse_where(f"year = {number}", COLUMNS))
