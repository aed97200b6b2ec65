"""The store: a corpus as memory-mapped ids, cut in training text and held-out text, kept in a cache under its content's name."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_folder, write_json
from plume.core.machine import cores
from plume.core.part import describe
from plume.data.corpus import Corpus, CorpusKind
from plume.data.encoding import encode_corpus
from plume.data.hold_out import split_off
from plume.data.store_files import FILES, StoreWriter, expected_bytes, named_file, read_array
from plume.text.control import control_id
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words

VERSION = 3  # of the files; a change of what they mean needs a new number
SMALL = 4_000_000  # bytes of text below which starting processes costs more than it saves
MEMORY = {Words.SPACES: 150, Words.JIEBA: 260}  # megabytes a process takes; so many start as fit in:
MEMORY_FOR_ALL = 800


class Store:
    """Read side of one part of the corpus: documents one after another, a separator after each."""

    tokens: NDArray[np.uint16] | NDArray[np.uint32]  # [N]
    word_start: NDArray[np.bool_]  # [N], true where a token begins a word, and at separators
    sentence_start: NDArray[np.int64]  # [S], the first token of each sentence
    sentence_end: NDArray[np.int64]  # [S], the token after its last
    sentence_language: NDArray[np.int64]  # [S], into `languages`; 0 in a corpus that names none
    sentence_continued: NDArray[np.bool_]  # [S], it goes on with the one before: text without a sentence end was cut between them
    document_start: NDArray[np.int64]  # [D + 1], the first sentence of each document, and the number of sentences
    document_label: NDArray[np.int64]  # [D], into `labels`; -1: none
    counts: NDArray[np.int64]  # [V], how often each token occurs, separators between documents apart
    named: dict[str, NDArray[np.int64]]  # [N] by carried field, its value at each token; -1: none, and at separators
    units: dict[str, NDArray[np.bool_]]  # [N] by kind (phrase, entity): where one begins; whoever wants them puts them in

    def __init__(self, folder: Path, *, info: dict[str, Any]) -> None:
        self.vocabulary: int = info["vocabulary"]
        self.kind = CorpusKind(info["kind"])
        self.labels = tuple(info["labels"])
        self.languages = tuple(info["languages"])
        self.codes = np.array(info["codes"], np.int64)  # [labels], the control code's token; -1: the tokenizer has none
        self.units = {}
        for name in FILES:
            setattr(self, name, read_array(folder, name, vocabulary=self.vocabulary))
        names = info.get("carries", ())  # older stores do not say
        self.named = {name: read_array(folder, named_file(name), vocabulary=self.vocabulary) for name in names}

    @classmethod
    def open(cls, folder: Path) -> Store:
        """One part of a built store, that is `…/train` or `…/held_out`."""
        info = read_json(folder.parent / "info.json", "every store has one; delete the folder, and plume builds it again")
        return cls(folder, info=info)

    @property
    def unigram_entropy(self) -> float:
        """In nats, of its own tokens."""
        share = self.counts[self.counts > 0] / self.counts.sum()
        return float(-(share * np.log(share)).sum())


@dataclass(frozen=True, kw_only=True)
class Stores:
    """The two parts of a corpus."""

    train: Store
    held_out: Store
    info: dict[str, Any]

    @property
    def unigram_entropy(self) -> float:
        """In nats: the loss on held-out text of a model that knows only how frequent tokens are in the training text.

        It is a cross-entropy: held-out documents may be unlike the others. One is added to each count, so that nothing is impossible.
        """
        asked, known = (np.asarray(store.counts, np.float64) for store in (self.held_out, self.train))
        if not asked.sum():
            return self.train.unigram_entropy
        return float(-(asked / asked.sum()) @ np.log((known + 1) / (known + 1).sum()))


def build_stores(
    corpus: Corpus,
    tokenizer: Tokenizer,
    *,
    words: Words,
    cache: Path | None = None,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
    small: int = SMALL,
) -> Stores:
    """The corpus as ids: from the cache if it is there and whole, or built now.

    The key is the content: text, tokenizer, kind of words, fields carried. `progress` is told how many characters are done, of `census().characters`.
    Any number of `workers` (processes; as many as there are cores and memory for, if not given) gives the same files; a corpus under
    `small` bytes is encoded in this process.
    """
    home = (cache_home() if cache is None else Path(cache)) / "stores"
    key = _key(corpus, tokenizer, words)
    with _alone(key):
        for _ in range(3):  # where nothing can be locked, another process may replace a damaged store at the same moment
            try:
                return _open(home / key)
            except (PlumeError, OSError, KeyError, TypeError, ValueError):
                _set_aside(home / key)
            inline = corpus.census().bytes < small or workers == 1
            _build(home / key, corpus, tokenizer, words, workers=0 if inline else workers or _usual_workers(words), progress=progress)
        return _open(home / key)


@contextlib.contextmanager
def _alone(key: str) -> Iterator[None]:
    """Of several processes of a machine that want the same store one builds it, and the others find it ready."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            handle = held.enter_context(Path(tempfile.gettempdir(), f"plume-{os.getuid()}-{key}.lock").open("w"))
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def cache_home() -> Path:
    """Where plume keeps what it can make again: $PLUME_CACHE, or ~/.cache/plume."""
    return Path(os.environ.get("PLUME_CACHE") or Path.home() / ".cache" / "plume")


def _key(corpus: Corpus, tokenizer: Tokenizer, words: Words) -> str:
    parts = [str(VERSION), corpus.kind.value, corpus.census().fingerprint, tokenizer.fingerprint, words.value]
    parts += [describe(one) for one in corpus.carries]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _open(folder: Path) -> Stores:
    info = read_json(folder / "info.json", "every store has one")
    for part in ("train", "held_out"):
        for name, size in expected_bytes(info[part], vocabulary=info["vocabulary"], named=info.get("carries", ())).items():
            if (folder / part / name).stat().st_size != size:
                raise PlumeError(f"{folder / part / name} is damaged")
    parts = {part: Store(folder / part, info=info) for part in ("train", "held_out")}
    return Stores(**parts, info=info)


def _set_aside(folder: Path) -> None:
    """Out of the way in one step, so that no other process finds half of it."""
    if not folder.exists():
        return
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.damaged")
    try:
        folder.rename(aside)
    except FileNotFoundError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def _build(
    folder: Path, corpus: Corpus, tokenizer: Tokenizer, words: Words, *, workers: int, progress: Callable[[int], None] | None
) -> None:
    _sweep(folder.parent)
    try:
        write_folder(folder, lambda target: _fill(target, corpus, tokenizer, words, workers=workers, progress=progress))
    except OSError:
        if not (folder / "info.json").exists():
            raise  # otherwise another process has built the same one meanwhile
    except PlumeError as error:
        if "Cannot write" not in str(error):
            raise
        raise PlumeError(f"{error} (This is plume's cache; the environment variable PLUME_CACHE moves it.)") from None


def _sweep(home: Path) -> None:
    """Remove what builds that were killed left behind more than a day ago."""
    for leftover in home.glob(".*.tmp"):
        with contextlib.suppress(FileNotFoundError):  # another process has just finished it
            if time.time() - leftover.stat().st_mtime > 86_400:
                shutil.rmtree(leftover, ignore_errors=True)


def _fill(
    folder: Path, corpus: Corpus, tokenizer: Tokenizer, words: Words, *, workers: int, progress: Callable[[int], None] | None
) -> None:
    census = corpus.census()
    pairs = corpus.kind is CorpusKind.PAIRS
    names = [one.name for one in corpus.carries]
    writers = {part: StoreWriter(folder / part, tokenizer, pairs=pairs, named=names) for part in ("train", "held_out")}
    encoded = encode_corpus(corpus, tokenizer, words, workers=workers, progress=progress)
    for piece in split_off(encoded, documents=census.documents, whole=corpus.kind is not CorpusKind.TEXT):
        writers["held_out" if piece.held_out else "train"].add(piece.encoded)
    sizes = {part: writer.finish() for part, writer in writers.items()}
    if not sizes["train"]["tokens"] or not sizes["held_out"]["tokens"]:
        raise PlumeError("The tokenizer finds less than two sentences with tokens in this corpus. Add text, or use another tokenizer.")
    unknown = sum(int(writer.counts[tokenizer.unknown]) for writer in writers.values()) if tokenizer.unknown is not None else 0
    info = {
        "version": VERSION,
        "corpus": census.fingerprint,
        "tokenizer": tokenizer.fingerprint,
        "words": words.value,
        "kind": corpus.kind.value,
        "labels": list(census.labels),
        "languages": list(census.languages),
        "codes": [-1 if number is None else number for number in (control_id(tokenizer, label) for label in census.labels)],
        "carries": names,
        "vocabulary": tokenizer.size,
        "documents": census.documents,
        "paragraphs": census.paragraphs,
        "characters": census.characters,
        "bytes": census.bytes,
        "unknown_share": unknown / max(1, sum(int(writer.counts.sum()) for writer in writers.values())),
    }
    write_json(folder / "info.json", info | sizes)


def _usual_workers(words: Words) -> int:
    if given := os.environ.get("PLUME_WORKERS"):
        if not given.isdecimal() or int(given) == 0:
            raise PlumeError(f"PLUME_WORKERS={given} is not a number of processes: set it to 1 or more.")
        return int(given)
    return max(1, min(cores(), MEMORY_FOR_ALL // MEMORY[words]))
