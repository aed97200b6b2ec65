"""Texts with emoji as labelled documents: the emoji are what a model must guess from the words (DeepMoji, arXiv:1708.00524, §3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import Document, is_jsonl, read_documents
from plume.text.emoji import emoji_types, without_emoji

MOST = 64  # kinds of emoji that are learned, the most frequent ones (§3)


class EmojiTexts:
    """A line of a text file, or a record of a JSONL file, is a text. Its emoji are taken out; each kind of them makes one example (§3)."""

    def __init__(self, files: Sequence[Path], *, most: int = MOST) -> None:
        self._files, self._most = tuple(files), most

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The most frequent kinds, counted once a text that has words too; ties by code point."""
        counts: Counter[str] = Counter()
        texts = 0
        for text, _, _ in self._texts():
            texts += 1
            found = emoji_types(text)
            if found and without_emoji(text):
                counts.update(found)
        if len(counts) < 2:
            found_word = f"only {next(iter(counts))}" if counts else "none"
            raise PlumeError(
                f"{', '.join(map(str, self._files[:3]))}: emoji are what this recipe learns to predict, and of {texts:,} texts with words "
                f"the kinds of emoji found are: {found_word}. Give texts that still hold their emoji, of two kinds at least, one text a line."
            )
        return tuple(sorted(counts, key=lambda kind: (-counts[kind], kind))[: self._most])

    def documents(self) -> Iterator[Document]:
        """A text comes once for each of its kinds, one after another."""
        kept = set(self.kinds)
        for text, file, line in self._texts():
            kinds = [kind for kind in emoji_types(text) if kind in kept]
            words = without_emoji(text) if kinds else ""
            if words:
                yield from (Document(file=file, line=line, paragraphs=[words], label=kind) for kind in kinds)

    def _texts(self) -> Iterator[tuple[str, Path, int]]:
        for document in read_documents(self._files):
            if is_jsonl(document.file):
                yield " ".join(document.paragraphs), document.file, document.line
            else:
                yield from ((text, document.file, document.line + place) for place, text in enumerate(document.paragraphs))
