"""A look at a corpus before training on it: what is in it, and what would go wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from plume.data.blobs import Blob, BlobCounter
from plume.data.corpus import Corpus
from plume.data.documents import Document, read_documents
from plume.data.duplicates import DuplicateCounter
from plume.data.encoder import LONGEST_TEXT
from plume.data.lines import BadBytes
from plume.text.alphabet import CharacterCounter
from plume.text.format import BERT
from plume.text.languages import LanguageMix, count_words, mix_of_counts
from plume.text.long_text import parts
from plume.text.sentences import cut_warning, cuts_between, whole_sentence_starts
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import WordPiece

SHOWN = 10  # undecodable lines told one by one
SAMPLE = 4_000_000  # bytes of text that the trial tokenizer is trained on and measured with
VOCABULARY = 8000


@dataclass(frozen=True, kw_only=True)
class Line:
    """Where a line stands, and how long it is."""

    file: Path
    line: int
    length: int  # in characters


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Counts of the whole corpus. Lines are paragraphs: blank ones do not count, a JSONL text's own lines do."""

    files: tuple[Path, ...]
    documents: int  # with text
    empty_documents: int  # JSONL lines without
    one_sentence_documents: int
    lines: int
    sentences: int
    words: int  # a Chinese character counts as one
    characters: int
    bytes: int
    languages: LanguageMix
    duplicate_lines: int  # second and later ones
    duplicate_documents: int
    longest_line: Line | None
    cut_sentences: int  # pieces that go on with the one before, in text without sentence ends
    blobs: tuple[Blob, ...]  # runs without a space, the first ten
    undecodable: tuple[BadBytes, ...]  # the first ten
    undecodable_lines: int
    unigram_entropy: float  # nats, of WordPiece tokens with a vocabulary of `vocabulary`
    vocabulary: int
    warnings: tuple[str, ...]

    @property
    def sentence_length(self) -> float:
        """Words a sentence, on average."""
        return self.words / max(1, self.sentences)


def examine(paths: str | Path | Sequence[str | Path]) -> Examination:
    """Read everything once, and a sample twice. Bytes that are not UTF-8 are reported; a missing, empty or binary file raises."""
    files = Corpus(paths).files
    counts = _Counts()
    for document in read_documents(files, bad=counts.add_bad):
        counts.add(document)
    entropy, vocabulary = _trial(files, size=counts.bytes)
    measured = counts.measured() | {"files": files, "unigram_entropy": entropy, "vocabulary": vocabulary}
    plain = Examination(**measured, warnings=())  # type: ignore[arg-type]
    return Examination(**measured, warnings=tuple(_warnings(plain)))  # type: ignore[arg-type]


@dataclass(kw_only=True)
class _Counts:
    documents: int = 0
    empty_documents: int = 0
    one_sentence_documents: int = 0
    lines: int = 0
    sentences: int = 0
    cut_sentences: int = 0
    words: int = 0
    characters: int = 0
    bytes: int = 0
    longest_line: Line | None = None
    undecodable: list[BadBytes] = field(default_factory=list)
    undecodable_lines: int = 0
    characters_seen: CharacterCounter = field(default_factory=CharacterCounter)
    blobs_seen: BlobCounter = field(default_factory=BlobCounter)
    seen_lines: DuplicateCounter = field(default_factory=DuplicateCounter)
    seen_documents: DuplicateCounter = field(default_factory=DuplicateCounter)

    def add_bad(self, bad: BadBytes) -> None:
        self.undecodable_lines += 1
        if len(self.undecodable) < SHOWN:
            self.undecodable.append(bad)

    def add(self, document: Document) -> None:
        if not document.paragraphs:
            self.empty_documents += 1
            return
        self.documents += 1
        before = self.sentences
        for place, paragraph in enumerate(document.paragraphs):
            self._add_line(paragraph)
            if self.longest_line is None or len(paragraph) > self.longest_line.length:
                self.longest_line = Line(file=document.file, line=document.line_of(place), length=len(paragraph))
        self.blobs_seen.add(document)
        self.one_sentence_documents += self.sentences - before == 1
        self.seen_documents.add("\n".join(document.paragraphs))

    def _add_line(self, text: str) -> None:
        self.lines += 1
        self.characters += len(text)
        self.bytes += len(text.encode())
        self.words += count_words(text)
        whole = whole_sentence_starts(text)
        cut = len(cuts_between(text, whole))
        self.sentences += len(whole) + cut
        self.cut_sentences += cut
        self.characters_seen.add(text)
        self.seen_lines.add(text)

    def measured(self) -> dict[str, object]:
        kept = {name: value for name, value in vars(self).items() if "seen" not in name}
        return kept | {
            "languages": mix_of_counts(self.characters_seen.totals()),
            "blobs": tuple(self.blobs_seen.first),
            "undecodable": tuple(self.undecodable),
            "duplicate_lines": self.seen_lines.duplicates(),
            "duplicate_documents": self.seen_documents.duplicates(),
        }


def _trial(files: Sequence[Path], *, size: int) -> tuple[float, int]:
    """The unigram entropy of a sample under a small WordPiece tokenizer trained on it, and the size that the vocabulary reached."""
    texts = list(_sample(files, share=min(1.0, SAMPLE / max(1, size))))
    if not texts:
        return 0.0, 0
    tokenizer = Tokenizer(WordPiece(vocabulary=VOCABULARY).train(iter(texts), format=BERT), format=BERT)
    counts = np.zeros(tokenizer.size, np.int64)
    for start in range(0, len(texts), 100):
        for ids in tokenizer.encode(texts[start : start + 100]):
            counts += np.bincount(ids, minlength=len(counts)) if ids else 0
    share = counts[counts > 0] / max(1, counts.sum())
    return float(-(share * np.log(share)).sum()), tokenizer.size


def _sample(files: Sequence[Path], *, share: float) -> Iterator[str]:
    due = taken = 0.0
    for document in read_documents(files, bad=lambda _: None):
        for paragraph in document.paragraphs:
            due += len(paragraph) * share
            if share == 1 or taken + len(paragraph) <= due + 1:
                taken += len(paragraph)
                yield from parts(paragraph, longest=LONGEST_TEXT)


def _warnings(found: Examination) -> Iterator[str]:
    if found.undecodable_lines:
        first = found.undecodable[0]
        yield f"{found.undecodable_lines} lines are not UTF-8, and training will stop at the first. {first}"
    if found.documents == 0:
        yield "There is no text at all."
        return
    if found.empty_documents:
        yield f"{found.empty_documents} documents have an empty 'text': they are left out."
    lines = found.duplicate_lines / found.lines
    if lines >= 0.1:
        yield f"{lines:.0%} of lines are duplicates: menus, headers or repeated pages? The model spends its budget learning them by heart."
    documents = found.duplicate_documents / found.documents
    if documents >= 0.01:
        yield f"{documents:.0%} of documents are duplicates: the held-out loss will look better than it is. Remove them."
    yield from _structure_warnings(found)
    if found.unigram_entropy < 4 and found.words >= 1000:
        yield f"The text is very monotonous: its unigram entropy is {found.unigram_entropy:.1f} nats, prose has 6 to 7."
    if found.languages.share(found.languages.other) > 0.2:
        yield "More than a fifth of the letters are neither Latin nor Chinese: sentences are told apart by English and Chinese rules only."


def _structure_warnings(found: Examination) -> Iterator[str]:
    single = found.one_sentence_documents / found.documents
    pairs = "sentence-pair objectives (BERT's next sentence, ALBERT's sentence order)"
    if single == 1:
        yield f"One-sentence documents only: {pairs} cannot use them. Put blank lines between documents only; or use RoBERTa or GPT."
    elif single > 0.5:
        yield f"{single:.0%} of documents have one sentence: {pairs} can hardly use them."
    if found.cut_sentences and (warning := cut_warning(found.cut_sentences, found.sentences)):
        yield warning
    longest = found.longest_line
    if longest is not None and longest.length > 100_000:
        yield f"{longest.file}, line {longest.line} has {longest.length:,} characters: are the line ends lost?"
