"""The one error that a user is meant to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PlumeError(Exception):
    """Something a user can mend: says what was wrong, where, and what to do. The command line prints it and exits with 2."""


def suggest(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name.

    >>> suggest("brt", ["bert", "gpt"])
    'did you mean bert? Known: bert, gpt'
    """
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.6)
    listing = f"Known: {', '.join(known)}"
    return f"did you mean {' or '.join(near)}? {listing}" if near else listing
