"""From docstrings to prose and tags, on examples made by hand."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from plume.embedded import docstrings as room
from plume.embedded.docstrings import docstrings
from plume.embedded.markup import plain, tagged_words
from plume.embedded.numpydoc import passages

NUMPY = """Fit a line to points.

The points are given by `x` and `y`; see :func:`~numpy.polyfit` [1]_.

Parameters
----------
x, y : array_like
    The two coordinates. Both have
    the same length.
rcond : float, optional
    Singular values below this are dropped.

    .. versionadded:: 1.2

Notes
-----
The cost is computed as::

    cost = x ** 2

- A first point is made here.
- A second point is made there.

.. math:: a = b

It holds that :math:`a` is small here. But this sentence is prose.

References
----------
.. [1] Somebody wrote this long ago.

Examples
--------
What follows is only an example.

>>> fit(x, y)
This output looks like a sentence.
"""

GOOGLE = """Applies a filter to the input.

Args:
    size (int, optional): The number of taps of the filter. Must be odd
        in every case.
    *rest: Other things are given here.

Example::

    >>> m = Filter(3)

.. note::
    This is only a note for readers.
"""


def test_numpydoc() -> None:
    found, names = passages(NUMPY)
    assert names == {"x", "y", "rcond"}
    assert [(passage.section, passage.sentences) for passage in found] == [
        ("", ("Fit a line to points.",)),
        ("", ("The points are given by `x` and `y`; see :func:`~numpy.polyfit` [1]_.",)),
        ("Parameters", ("Both have the same length.",)),
        ("Parameters", ("Singular values below this are dropped.",)),
        ("Notes", ("The cost is computed as:",)),
        ("Notes", ("A first point is made here.",)),
        ("Notes", ("A second point is made there.",)),
        ("Notes", ("But this sentence is prose.",)),
    ]


def test_google_style() -> None:
    found, names = passages(GOOGLE)
    assert names == {"size", "rest"}
    assert [sentence for passage in found for sentence in passage.sentences] == [
        "Applies a filter to the input.",
        "The number of taps of the filter.",
        "Must be odd in every case.",
        "Other things are given here.",
        "This is only a note for readers.",
    ]


@pytest.mark.parametrize(
    ("marked", "without"),
    [
        ("See :func:`~numpy.polyfit` [1]_.", "See polyfit."),
        ("See :class:`the filter <scipy.Filter>`.", "See the filter."),
        ("See `the page <https://example.org>`_ for **all** *details*.", "See the page for all details."),
        ("Use ``a * b`` or 2 * 3 * 4.", "Use a * b or 2 * 3 * 4."),
    ],
)
def test_plain(marked: str, without: str) -> None:
    assert plain(marked) == without


def test_kinds_of_code() -> None:
    words = tagged_words("Both `x` and :attr:`x`, ``y`` and ``None``, :ref:`the guide <g>`.", frozenset({"x"}))
    assert [tag for word, tag in words if word in ("x", "y", "None", "guide")] == ["B-PARAM", "B-PARAM", "B-NAME", "B-CODE", "O"]


def test_docstrings_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.py", "a.py", "tests/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            textwrap.dedent('''
            """Module."""
            class Thing:
                """Class."""
                def __init__(self, one, *, two=1): ...
                def method(self, three):
                    """Method."""
                    def inner():
                        """Not for readers."""
            add_newdoc("pack", "thing", """Added, at some length.""")
            '''),
            encoding="utf-8",
        )
    monkeypatch.setattr(room, "package_folder", lambda package: tmp_path)
    found = list(docstrings("pack"))
    assert [one.module for one in found] == ["pack.a"] * 4 + ["pack.b"] * 4
    assert [(one.text, sorted(one.arguments)) for one in found[:4]] == [
        ("Module.", []),
        ("Class.", ["one", "two"]),
        ("Method.", ["three"]),
        ("Added, at some length.", []),
    ]
