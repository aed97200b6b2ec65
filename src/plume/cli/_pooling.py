"""Layers and pooling as options say them."""

from __future__ import annotations


def layer_numbers(text: str) -> list[int]:
    """'1,-1' as numbers.

    >>> layer_numbers("1,-1")
    [1, -1]
    """
    from plume.core.errors import PlumeError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise PlumeError(f"--layers {text}: write numbers with commas between them, such as 1,-1.") from None
