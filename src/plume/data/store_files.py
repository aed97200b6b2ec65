"""How a store lies on disk: one raw array a file, written by appending, read as a memory map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from plume.data.encoder import EncodedDocuments, token_type
from plume.data.layouts.carried import NONE
from plume.text.tokenizer import Tokenizer

FILES = (
    "tokens", "word_start", "sentence_start", "sentence_end", "sentence_language", "sentence_continued", "document_start", "document_label",
    "counts",
)  # fmt: skip


def _type(name: str, vocabulary: int) -> np.dtype[Any]:
    special: dict[str, DTypeLike] = {"tokens": token_type(vocabulary), "word_start": np.bool_, "sentence_continued": np.bool_}
    return np.dtype(special.get(name, np.int64)).newbyteorder("<")


def named_file(name: str) -> str:
    """Of a carried field."""
    return f"named-{name}"


def read_array(folder: Path, name: str, *, vocabulary: int) -> NDArray[Any]:
    """A file of the store as a memory map."""
    return np.memmap(folder / f"{name}.bin", dtype=_type(name, vocabulary), mode="r")


def expected_bytes(sizes: dict[str, int], *, vocabulary: int, named: Sequence[str] = ()) -> dict[str, int]:
    """How large each file must be."""
    lengths = {
        "tokens": sizes["tokens"],
        "word_start": sizes["tokens"],
        "sentence_start": sizes["sentences"],
        "sentence_end": sizes["sentences"],
        "sentence_language": sizes["sentences"],
        "sentence_continued": sizes["sentences"],
        "document_start": sizes["documents"] + 1,
        "document_label": sizes["documents"],
        "counts": vocabulary,
    } | {named_file(name): sizes["tokens"] for name in named}
    return {f"{name}.bin": length * _type(name, vocabulary).itemsize for name, length in lengths.items()}


class StoreWriter:
    """Appends documents; what is in memory does not grow with them."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, *, pairs: bool = False, named: Sequence[str] = ()) -> None:
        folder.mkdir()
        self._pairs = pairs
        self.counts = np.zeros(tokenizer.size, np.int64)
        self._vocabulary, self._separator = tokenizer.size, tokenizer.separator
        self._files: dict[str, BinaryIO] = {name: (folder / f"{name}.bin").open("wb") for name in (*FILES, *map(named_file, named))}
        self._tokens = self._sentences = self._documents = 0
        self._write("document_start", np.zeros(1, np.int64))

    def add(self, encoded: EncodedDocuments) -> None:
        """The documents, each followed by a separator; each side of a pair too, as sentences of one language may stand together."""
        if len(encoded.document_length) == 0:
            return
        document_end = np.cumsum(encoded.document_length)  # in sentences
        sentence_end = np.cumsum(encoded.sentence_length)  # in tokens, separators not yet counted
        after = sentence_end if self._pairs else sentence_end[document_end - 1]
        # One separator for each document, or side, before.
        shift = self._tokens + (np.arange(len(sentence_end)) if self._pairs else encoded.document_of_sentence())
        self._write("tokens", np.insert(encoded.tokens, after, self._separator))
        self._write("word_start", np.insert(encoded.word_start, after, True))
        self._write("sentence_start", sentence_end - encoded.sentence_length + shift)
        self._write("sentence_end", sentence_end + shift)
        self._write("sentence_language", encoded.sentence_language)
        self._write("sentence_continued", encoded.sentence_continued)
        self._write("document_start", document_end + self._sentences)
        self._write("document_label", encoded.document_label)
        for name, values in encoded.named.items():
            self._write(named_file(name), np.insert(values, after, NONE))
        self.counts += np.bincount(encoded.tokens, minlength=self._vocabulary)
        self._tokens += len(encoded.tokens) + len(after)
        self._sentences += len(sentence_end)
        self._documents += len(document_end)

    def finish(self) -> dict[str, int]:
        """Close the files; how many tokens, sentences and documents they hold."""
        self._write("counts", self.counts)
        for file in self._files.values():
            file.close()
        return {"tokens": self._tokens, "sentences": self._sentences, "documents": self._documents}

    def _write(self, name: str, array: NDArray[Any]) -> None:
        self._files[name].write(array.astype(_type(name, self._vocabulary), copy=False).tobytes())
