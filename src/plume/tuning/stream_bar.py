"""How far prediction over a file has come, shown in a terminal."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from plume.data.lines import BLOCK


class StreamBar:
    """By lines, which are counted first; of a JSON document, whose lines mean nothing, only the answers are counted."""

    def __init__(self, paths: Sequence[Path], *, quiet: bool = False) -> None:
        self._live = not quiet and sys.stderr.isatty()
        self._paths = paths
        columns = (
            BarColumn(bar_width=30),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True, highlight=False), disable=not self._live, transient=True)
        self._task = self._bar.add_task("0 answers", total=None)

    def __enter__(self) -> StreamBar:
        if self._live and self._paths[0].is_file():
            self._bar.update(self._task, total=lines_in(self._paths[0]))
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, line: int | None, answers: int) -> None:
        """`line` is the last that was answered."""
        if line is None:
            self._bar.update(self._task, description=f"{answers:,} answers", total=None)
        else:
            self._bar.update(self._task, description=f"{answers:,} answers", completed=line)


def lines_in(path: Path) -> int:
    """Without decoding them; errors are for the reader to tell."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
            return sum(block.count(b"\n") for block in iter(lambda: handle.read(BLOCK), b""))
    except (OSError, EOFError):
        return 0
