"""The mark-up inside a sentence of a manual: what its authors set as code, and the sentence without it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKED = re.compile(
    r"``(?P<literal>[^`]+)``"
    r"|:(?P<role>[\w:+-]+):`(?P<reference>[^`]+)`"
    r"|`(?P<link>[^`<]+?)\s*<[^`>]+>`__?"
    r"|`(?P<name>[^`]+)`_{0,2}"
)
_EMPHASIS = re.compile(r"\*{1,2}(?=[^\s*])([^*]+?)(?<=[^\s*])\*{1,2}")
_FOOTNOTE = re.compile(r"\s*\[[\w*#]+\]_(?:,\s*(?=\[))?")
_TITLED = re.compile(r"(.*?)\s*<([^>]*)>", re.DOTALL)
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?")
_WORD = re.compile(r"\w+|[^\w\s]")
_VALUES = frozenset({"True", "False", "None"})
_PROSE_ROLES = frozenset({"ref", "doc", "term", "pep", "std:ref", "user", "doi", "arxiv", "wikipedia", "sup", "sub"})

PARAMETER, NAME, CODE = "PARAM", "NAME", "CODE"


def pieces(sentence: str, parameters: frozenset[str] = frozenset()) -> Iterator[tuple[str, str | None]]:
    """The sentence without mark-up, in stretches, and what each is: a parameter of what is described, another name, other code, or prose (None)."""
    end = 0
    for found in _MARKED.finditer(sentence):
        yield _prose(sentence[end : found.start()]), None
        end = found.end()
        yield _inside(found, parameters)
    yield _prose(sentence[end:]), None


def _prose(text: str) -> str:
    text = _FOOTNOTE.sub("", text) if "]_" in text else text
    return _EMPHASIS.sub(r"\1", text) if "*" in text else text


def _inside(found: re.Match[str], parameters: frozenset[str]) -> tuple[str, str | None]:
    if found["link"]:
        return found["link"], None
    text = found["literal"] or found["reference"] or found["name"]
    if titled := _TITLED.fullmatch(text):
        text = titled[1]
    if found["role"] in _PROSE_ROLES:
        return text, None
    if found["role"] or found["name"]:
        text = text.rpartition(".")[2] if text.startswith("~") else text
    if text.strip("*") in parameters:
        return text, PARAMETER
    return text, NAME if _DOTTED.fullmatch(text) and text not in _VALUES else CODE


def plain(sentence: str) -> str:
    """
    >>> plain("See :func:`numpy.sum` and ``axis=0`` [1]_.")
    'See numpy.sum and axis=0.'
    """
    return "".join(text for text, _ in pieces(sentence)) if "`" in sentence else _prose(sentence)


def tagged_words(sentence: str, parameters: frozenset[str]) -> list[tuple[str, str]]:
    """
    >>> tagged_words("If `axis` is ``None``, `np.sum`.", frozenset({"axis"}))[1:]
    [('axis', 'B-PARAM'), ('is', 'O'), ('None', 'B-CODE'), (',', 'O'), ('np', 'B-NAME'), ('.', 'I-NAME'), ('sum', 'I-NAME'), ('.', 'O')]
    """
    rows: list[tuple[str, str]] = []
    for text, kind in pieces(sentence, parameters):
        words = _WORD.findall(text)
        rows += [(word, "O" if kind is None else f"{'I' if i else 'B'}-{kind}") for i, word in enumerate(words)]
    return rows
