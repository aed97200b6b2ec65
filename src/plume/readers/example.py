"""What a reader makes of a file: examples, and an account of everything that it met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOGETHER = "together"  # of what an example has beside its texts: examples with the same are never torn apart (turns of one conversation)


@dataclass(frozen=True, kw_only=True)
class Example:
    """One thing to answer. `answer` is what the task says it is; None: nobody knows yet."""

    texts: tuple[str, ...]  # one text, two, or a context and its choices
    answer: Any = None
    words: tuple[tuple[int, int], ...] | None = None  # where the file's own words stand in the text, for what is tagged word by word
    key: str | None = None  # the file's own name for it
    line: int = 0
    languages: tuple[
        str, ...
    ] = ()  # of the texts, as far as the file says: one of all, or of the first and of the others; none or "": find out
    named: dict[str, Any] = field(default_factory=dict, hash=False)  # whatever else a reader has to say of it, by name: entities, documents

    @property
    def passage(self) -> str:
        """Examples with the same share a text, or belong together: what has learned from one of them has seen the others."""
        return str(self.named.get(TOGETHER) or max(self.texts, key=len))


@dataclass(kw_only=True)
class Reading:
    """What was read, corrected and left out, for the card: nothing is dropped in silence."""

    file: Path
    format: str = ""  # what was found, in words: "TSV with a header; text: sentence; label: label"
    read: int = 0  # examples handed on
    skipped: Counter[str] = field(default_factory=Counter)  # reason: how many were left out
    mended: Counter[str] = field(default_factory=Counter)  # reason: how many were used, but not as they stood
    where: dict[str, str] = field(default_factory=dict)  # reason: the first place, "train.tsv, line 7: …"

    def skip(self, reason: str, place: str) -> None:
        """Count something that was left out, and remember where that first happened."""
        self.skipped[reason] += 1
        self.where.setdefault(reason, place)

    def mend(self, reason: str, place: str) -> None:
        """Count something that was put right, and remember where that first happened."""
        self.mended[reason] += 1
        self.where.setdefault(reason, place)

    def lines(self) -> list[str]:
        """In words: one line for the file, one for each reason.

        >>> reading = Reading(file=Path("a.tsv"), format="TSV", read=2)
        >>> reading.skip("empty text", "a.tsv, line 3")
        >>> reading.lines()
        ['a.tsv: 2 examples (TSV)', '1 left out: empty text (first: a.tsv, line 3)']
        """
        counts = [(self.skipped, "left out"), (self.mended, "corrected")]
        return [f"{self.file.name}: {self.read:,} examples ({self.format})"] + [
            f"{count:,} {word}: {reason} (first: {self.where[reason]})" for found, word in counts for reason, count in found.items()
        ]
