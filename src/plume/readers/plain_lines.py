"""Plain text: an example a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plume.data.lines import read_lines
from plume.readers.example import Example, Reading


def read_plain_lines(path: Path, reading: Reading) -> Iterator[Example]:
    """Each line as it stands; blank ones are left out and counted."""
    reading.format = "plain lines"
    for number, line in read_lines(path, longest=None):
        if not line.strip():
            reading.skip("blank line", f"{path}, line {number}")
            continue
        reading.read += 1
        yield Example(texts=(line.rstrip("\r"),), line=number)
