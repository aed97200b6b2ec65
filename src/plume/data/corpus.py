"""The corpus: files of text, of pairs or of texts with emoji as one stream of documents."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.blobs import BlobCounter
from plume.data.corpus_files import FORMATS, PAIR_FORMATS, find_pair_files, find_text_files
from plume.data.documents import Document, read_documents
from plume.data.emoji_texts import EmojiTexts
from plume.data.layouts.carried import Carried
from plume.data.lines import check_start
from plume.data.pair_files import PairFile, read_pairs
from plume.text.languages import count_words
from plume.text.sentences import split_sentences

LEAST_SENTENCES, LEAST_WORDS = 2, 20


class CorpusKind(enum.StrEnum):
    """What a recipe trains on."""

    TEXT = "text"  # documents of sentences
    PAIRS = "pairs"  # a sentence and its translation
    EMOJI = "emoji"  # texts with emoji of their own, which become the labels


@dataclass(frozen=True, kw_only=True)
class Census:
    """Sizes of the text itself, without line ends; the fingerprint depends on the text, its labels and what it carries, not on how files hold it."""

    documents: int
    paragraphs: int
    characters: int
    bytes: int
    fingerprint: str
    labels: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    blobs: str | None = None  # a warning of runs that are no text


class Corpus:
    """One file, several, or a folder (searched through, hidden files left out, in order of name). `carries` are the fields read beside the text.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "corpus.txt"
    >>> _ = path.write_text("One.\\nTwo.\\n\\n三。\\n", encoding="utf-8")
    >>> [document.paragraphs for document in Corpus(path).documents()]
    [['One.', 'Two.'], ['三。']]
    """

    def __init__(
        self, paths: str | Path | Sequence[str | Path], *, kind: CorpusKind = CorpusKind.TEXT, carries: Sequence[Carried] = ()
    ) -> None:
        given = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        if not given:
            raise PlumeError(f"No corpus given: name a file or folder of {PAIR_FORMATS if kind is CorpusKind.PAIRS else FORMATS}.")
        self.kind = kind
        self.carries = tuple(carries)
        self._pairs: tuple[PairFile, ...] = find_pair_files(given) if kind is CorpusKind.PAIRS else ()
        self.files = tuple(file for pair in self._pairs for file in pair.files) if self._pairs else find_text_files(given)
        for file in self.files:
            check_start(file)
        self._emoji = EmojiTexts(self.files) if kind is CorpusKind.EMOJI else None
        self._census: Census | None = None

    def documents(self) -> Iterator[Document]:
        """All documents that hold text, read as they are asked for. One over `LONGEST_DOCUMENT` characters is cut into several.

        A pair is a document of two paragraphs. A text with emoji comes once for each kind of emoji in it, which is its label.
        """
        if self._emoji is not None:
            return self._emoji.documents()
        if self._pairs:
            return read_pairs(self._pairs)
        return (document for document in read_documents(self.files, carries=self.carries) if document.paragraphs)

    def census(self) -> Census:
        """Counted in one pass, and remembered."""
        if self._census is None:
            self._census = _take_census(self.documents())
        return self._census

    def labels(self) -> tuple[str, ...]:
        """The labels of the documents, sorted: control codes, or emoji."""
        return self.census().labels

    def require_trainable(self) -> None:
        """Raise unless there is enough text for pre-training to mean anything. Reads no further than it must."""
        sentences = words = 0
        for document in self.documents():
            for paragraph in document.paragraphs:
                sentences += len(split_sentences(paragraph))
                words += count_words(paragraph)
                if sentences >= LEAST_SENTENCES and words >= LEAST_WORDS:
                    return
        names = ", ".join(str(file) for file in self.files[:3]) + (" …" if len(self.files) > 3 else "")
        raise PlumeError(
            f"{names}: too little text: found {_count(sentences, 'sentence')} of {_count(words, 'word')}; pre-training needs at least "
            f"{LEAST_SENTENCES} sentences and {LEAST_WORDS} words (a Chinese character counts as one), and is of use from some 100,000 on."
        )


def _take_census(documents: Iterator[Document]) -> Census:
    number = paragraphs = characters = size = 0
    labels: set[str] = set()
    languages: set[str] = set()
    blobs = BlobCounter()
    digest = hashlib.blake2b(digest_size=16)
    for document in documents:
        number += 1
        blobs.add(document)
        paragraphs += len(document.paragraphs)
        characters += sum(map(len, document.paragraphs))
        data = "\n".join(document.paragraphs).encode()
        size += len(data) - len(document.paragraphs) + 1
        digest.update(data)
        if document.label is not None:
            labels.add(document.label)
            digest.update(b"\0label " + document.label.encode())
        if document.languages is not None:
            languages.update(document.languages)
            digest.update(b"\0languages " + " ".join(document.languages).encode())
        for name, spans in document.named.items():
            digest.update(f"\0carries {name} ".encode() + spans.tobytes())
        digest.update(b"\0")  # no text holds it, so that documents cannot run together
    return Census(
        documents=number, paragraphs=paragraphs, characters=characters, bytes=size, fingerprint=digest.hexdigest(),
        labels=tuple(sorted(labels)), languages=tuple(sorted(languages)), blobs=blobs.warning(),
    )  # fmt: skip


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
