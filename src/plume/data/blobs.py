"""What stands in a corpus and is no text: runs of a thousand characters and more without a space, as encoded files are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from plume.data.documents import Document
from plume.text.long_text import LONGEST_RUN, long_runs

SHOWN = 10  # named one by one


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A run of signs that is no text, and where it stands."""

    file: Path
    line: int
    length: int  # in characters

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.length:,} characters without a space"


class BlobCounter:
    """Remembers the first, and counts all."""

    def __init__(self) -> None:
        self.first: list[Blob] = []
        self.number = 0
        self._last: tuple[Path, int] | None = None

    def add(self, document: Document) -> None:
        """Look through its paragraphs."""
        for place, paragraph in enumerate(document.paragraphs):
            if len(paragraph) >= LONGEST_RUN:
                self._add_line(paragraph, document.file, document.line_of(place))

    def _add_line(self, text: str, file: Path, line: int) -> None:
        for begin, end in long_runs(text):
            if begin == 0 and self._last == (file, line):  # a line that came in parts
                if self.number <= SHOWN:
                    self.first[-1] = replace(self.first[-1], length=self.first[-1].length + end)
                continue
            self.number += 1
            self._last = (file, line)
            if self.number <= SHOWN:
                self.first.append(Blob(file=file, line=line, length=end - begin))

    def warning(self) -> str | None:
        """In one line."""
        if not self.number:
            return None
        more = f" There are {self.number - 1:,} more: plume doctor names them." if self.number > 1 else ""
        return f"{self.first[0]}: an encoded file, or a damaged line? It teaches a model nothing: take it out.{more}"
