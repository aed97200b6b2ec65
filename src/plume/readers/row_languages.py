"""What a row of a file says of the languages of its texts: `language` for all of them, `NAME_language` for the text called NAME."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_NAMES = ("language", "lang")


def is_language(title: str) -> bool:
    """
    >>> is_language("language"), is_language("hypothesis_lang"), is_language("languages")
    (True, True, False)
    """
    return title.lower() in _NAMES or title.lower().endswith(tuple(f"_{name}" for name in _NAMES))


def language_columns(names: Sequence[str], texts: Sequence[str]) -> list[str | None]:
    """Of each text the column that says its language; None: there is none.

    >>> language_columns(["premise", "hypothesis", "language", "hypothesis_language"], ["premise", "hypothesis"])
    ['language', 'hypothesis_language']
    """
    wanted = [[*(f"{text}_{name}" for name in _NAMES), *_NAMES] for text in texts]
    return [next((name for name in known if name in names), None) for known in wanted]


def languages_in(row: Mapping[str, Any], columns: Sequence[str | None]) -> tuple[str, ...]:
    """As the cells have it, "" where one is empty; none at all where nothing is said."""
    said = [str(row[name] or "").strip() if name is not None and name in row else "" for name in columns]
    return tuple(said) if any(said) else ()


def row_languages(row: Mapping[str, Any], texts: Sequence[str]) -> tuple[str, ...]:
    """Both at once, for rows that may have other fields each."""
    return languages_in(row, language_columns(list(row), texts))
