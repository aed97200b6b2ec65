"""A corpus through the encoder: chunks of documents in, ids with labels and languages out, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.data.corpus import Corpus, CorpusKind
from plume.data.documents import Document
from plume.data.encoder import EncodedDocuments, Encoder
from plume.data.layouts.carried import Spans
from plume.data.workers import Chunk, EncoderProcesses
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words

CHUNK = 500_000  # characters handed to a process at once


def encode_corpus(
    corpus: Corpus, tokenizer: Tokenizer, words: Words, *, workers: int, progress: Callable[[int], None] | None
) -> Iterator[EncodedDocuments]:
    """By so many processes, or in this one if `workers` is 0; `progress` is told how many characters are done."""
    marks: deque[_Marks] = deque()
    done = 0
    for encoded in _through(_chunks(corpus, marks), tokenizer, words, workers=workers, pairs=corpus.kind is CorpusKind.PAIRS):
        mark = marks.popleft()
        yield mark.on(encoded)
        done += mark.characters
        if progress is not None:
            progress(done)


@dataclass(frozen=True, kw_only=True)
class _Marks:
    """What a chunk's documents are besides text; the encoder need not know."""

    characters: int
    text: NDArray[np.int64]  # [documents]
    label: NDArray[np.int64]  # [documents]
    language: NDArray[np.int64]  # [documents, 2]

    def on(self, encoded: EncodedDocuments) -> EncodedDocuments:
        """Where the encoder's `document_text` is the place in the chunk."""
        place = encoded.document_text
        language = encoded.sentence_language
        if self.language.any():  # pairs, that is: two sentences a document
            language = self.language[place].ravel()
        return replace(encoded, document_text=self.text[place], document_label=self.label[place], sentence_language=language)


def _chunks(corpus: Corpus, marks: deque[_Marks]) -> Iterator[Chunk]:
    """Documents in chunks for the encoder; their marks go into `marks` before."""
    label_number = {name: number for number, name in enumerate(corpus.census().labels)}
    language_number = {name: number for number, name in enumerate(corpus.census().languages)}
    chunk: list[Document] = []
    found: list[tuple[int, int, int, int]] = []
    size, texts, last = 0, -1, None

    def finish() -> Chunk:
        table = np.array(found, np.int64).reshape(-1, 4)
        marks.append(_Marks(characters=size, text=table[:, 0], label=table[:, 1], language=table[:, 2:]))
        return Chunk(
            documents=[document.paragraphs for document in chunk], named={one.name: _spans(one.name, chunk) for one in corpus.carries}
        )

    for document in corpus.documents():
        if corpus.kind is not CorpusKind.EMOJI or (document.file, document.line) != last:
            texts += 1
        last = (document.file, document.line)
        first, second = (language_number[name] for name in document.languages) if document.languages else (0, 0)
        found.append((texts, -1 if document.label is None else label_number[document.label], first, second))
        chunk.append(document)
        size += sum(map(len, document.paragraphs))
        if size >= CHUNK:
            yield finish()
            chunk, found, size = [], [], 0
    if chunk:
        yield finish()


def _spans(name: str, documents: list[Document]) -> Spans:
    """A field's spans in all the documents, at places among their characters, a line break after each paragraph."""
    found: list[Spans] = [np.zeros((0, 3), np.int64)]
    before = 0
    for document in documents:
        if name in document.named:
            found.append(document.named[name] + np.array([before, before, 0]))
        before += sum(map(len, document.paragraphs)) + len(document.paragraphs)
    return np.concatenate(found)


def _through(chunks: Iterator[Chunk], tokenizer: Tokenizer, words: Words, *, workers: int, pairs: bool) -> Iterator[EncodedDocuments]:
    if workers == 0:
        encoder = Encoder(tokenizer, words=words, pairs=pairs)
        yield from (encoder.encode(chunk.documents, chunk.named) for chunk in chunks)
        return
    with EncoderProcesses(tokenizer, words=words, workers=workers, pairs=pairs) as processes:
        yield from processes.encode_all(chunks)
