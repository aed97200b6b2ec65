"""fastText's `.bin` in and out (version 12): fastText itself and gensim open ours, and we open theirs.

The layout is that of fastText's src/{fasttext,args,dictionary,densematrix}.cc: magic and version, the arguments, the dictionary (words, then
labels), the input matrix (words, then buckets), the output matrix; everything little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError, suggest
from plume.core.files import write_atomic
from plume.static.vectors import CharacterNGrams, WordVectors

MAGIC = 793712314
_VERSIONS = (11, 12)  # 11 differs in one thing only: its classifiers never used character n-grams
_ARGS = ("dim", "ws", "epoch", "minCount", "neg", "wordNgrams", "loss", "model", "bucket", "minn", "maxn", "lrUpdateRate", "t")
_ARGS_LAYOUT = struct.Struct("<12id")
_LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
_MODELS = {1: "cbow", 2: "sg", 3: "sup"}
_WORD, _LABEL = 0, 1
_WORDS_AT_ONCE = 20_000

Value = int | float | str


@dataclass(frozen=True, kw_only=True, eq=False)
class FastTextFile:
    """What a `.bin` holds, under fastText's own names. fastText builds its tree and tables from the counts, so words must come by falling count."""

    args: Mapping[str, Value]  # see fasttext_args
    words: tuple[str, ...]
    counts: NDArray[np.int64]
    labels: tuple[str, ...] = ()  # with their prefix, __label__
    label_counts: NDArray[np.int64]
    tokens: int  # how many words were read in training
    input: NDArray[np.float32]  # [V + bucket, D]
    output: NDArray[np.float32]  # [V, D], of a classifier [labels, D]

    def __post_init__(self) -> None:
        dimension, bucket = self.args["dim"], self.args["bucket"]
        outputs = len(self.labels) if self.args["model"] == "sup" else len(self.words)
        for name, matrix, rows in (("input", self.input, len(self.words) + int(bucket)), ("output", self.output, outputs)):
            if matrix.shape != (rows, dimension):
                raise PlumeError(
                    f"fastText's {name} matrix is {matrix.shape}, and its words, labels and arguments ask for {(rows, dimension)}."
                )
        if len(self.counts) != len(self.words) or len(self.label_counts) != len(self.labels):
            raise PlumeError(
                f"{len(self.counts)} counts for {len(self.words)} words, {len(self.label_counts)} for {len(self.labels)} labels."
            )

    def vectors(self) -> WordVectors:
        """For use: each word's row and those of its n-grams averaged, as fastText's getWordVector does."""
        size, longest = len(self.words), int(self.args["maxn"])
        if longest < 1 or len(self.input) == size:
            return WordVectors(words=self.words, counts=self.counts, matrix=self.input[:size])
        ngrams = CharacterNGrams(matrix=self.input[size:], shortest=int(self.args["minn"]), longest=longest)
        return WordVectors(words=self.words, counts=self.counts, matrix=compose(self.words, self.input[:size], ngrams), ngrams=ngrams)


def fasttext_args(**changed: Value) -> dict[str, Value]:
    """fastText's arguments, by its names and with its defaults (args.cc).

    >>> fasttext_args(dim=50, model="cbow")["bucket"]
    2000000
    """
    defaults: dict[str, Value] = dict(zip(_ARGS, (100, 5, 5, 5, 5, 1, "ns", "sg", 2_000_000, 3, 6, 100, 1e-4), strict=True))
    for name in changed:
        if name not in defaults:
            raise PlumeError(f"fastText's file has no argument '{name}': {suggest(name, defaults)}")
    return defaults | changed


def compose(words: Sequence[str], rows: NDArray[np.float32], ngrams: CharacterNGrams) -> NDArray[np.float32]:
    """[V, D]: the mean of each word's own row and its n-grams' rows (fasttext.cc, getWordVector)."""
    made = np.empty_like(rows)
    for first in range(0, len(words), _WORDS_AT_ONCE):
        part = slice(first, first + _WORDS_AT_ONCE)
        sizes, ids = ngrams.lists(words[part])
        sums, some = rows[part].copy(), sizes > 0
        if some.any():
            sums[some] += np.add.reduceat(ngrams.matrix[ids], (np.cumsum(sizes) - sizes)[some], axis=0)
        made[part] = sums / (1 + sizes)[:, None].astype(np.float32)
    return made


def is_fasttext(path: Path) -> bool:
    """Does the file begin as fastText's do?"""
    with path.open("rb") as file:
        return file.read(4) == struct.pack("<i", MAGIC)


def read_fasttext(path: Path) -> FastTextFile:
    """A `.bin` of fastText: cbow, skip-gram or a classifier; not a quantised one (`.ftz`)."""
    with path.open("rb") as file:
        reader = _Reader(path, file)
        magic, version = reader.unpack("<2i")
        if magic != MAGIC or version not in _VERSIONS:
            raise PlumeError(
                f"{path} is not a fastText model of version 11 or 12 (magic {magic}, version {version}). "
                "Load it with the fastText that wrote it and save it again."
            )
        args: dict[str, Value] = dict(zip(_ARGS, _ARGS_LAYOUT.unpack(reader.take(_ARGS_LAYOUT.size)), strict=True))
        args["loss"], args["model"] = _LOSSES.get(int(args["loss"]), "?"), _MODELS.get(int(args["model"]), "?")
        if args["loss"] == "?" or args["model"] == "?":
            raise PlumeError(f"{path}: names a loss or a model that fastText does not have. The file is damaged: fetch or write it again.")
        if version == 11 and args["model"] == "sup":
            args["maxn"] = 0
        size, words, labels, tokens, pruned = reader.unpack("<3i2q")
        if size != words + labels or min(words, labels) < 0:
            raise PlumeError(
                f"{path}: {size} entries, but {words} words and {labels} labels. The file is damaged: fetch or write it again."
            )
        names, counts = reader.entries(size)
        input_matrix = reader.matrix("input", quantised=pruned >= 0)
        output_matrix = reader.matrix("output", quantised=False)
    return FastTextFile(
        args=args, words=tuple(names[:words]), counts=counts[:words], labels=tuple(names[words:]), label_counts=counts[words:],
        tokens=tokens, input=input_matrix, output=output_matrix,
    )  # fmt: skip


def write_fasttext(path: Path, model: FastTextFile) -> None:
    """A `.bin` that `fasttext.load_model` and gensim's `load_facebook_model` open."""
    args = dict(model.args)
    args["loss"] = _number(_LOSSES, args["loss"], "loss")
    args["model"] = _number(_MODELS, args["model"], "model")
    bad = next((name for name in model.words + model.labels if "\0" in name or not name), None)
    if bad is not None:
        raise PlumeError(f"Cannot write {path}: fastText's format ends a word at a zero byte, and {bad!r} is empty or holds one.")

    def write(target: Path) -> None:
        with target.open("wb") as file:
            file.write(struct.pack("<2i", MAGIC, 12))
            file.write(_ARGS_LAYOUT.pack(*(args[name] for name in _ARGS)))
            file.write(struct.pack("<3i2q", len(model.words) + len(model.labels), len(model.words), len(model.labels), model.tokens, -1))
            for kind, names, counts in ((_WORD, model.words, model.counts), (_LABEL, model.labels, model.label_counts)):
                file.writelines(
                    name.encode() + struct.pack("<bqb", 0, count, kind) for name, count in zip(names, counts.tolist(), strict=True)
                )
            for matrix in (model.input, model.output):
                file.write(struct.pack("<?2q", False, *matrix.shape))
                np.ascontiguousarray(matrix, "<f4").tofile(file)

    write_atomic(path, write)


def _number(names: Mapping[int, str], name: Value, what: str) -> int:
    for number, known in names.items():
        if known == name:
            return number
    raise PlumeError(f"fastText has no {what} '{name}': {suggest(str(name), names.values())}")


class _Reader:
    """Takes bytes off a file, and says where it ended too soon."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._size = path, file, path.stat().st_size

    def _require(self, count: int) -> None:
        if count > self._size - self._file.tell():
            raise PlumeError(
                f"{self._path}: ends at byte {self._size:,}, in the middle of the model. The file was cut short: fetch or write it again."
            )

    def take(self, count: int) -> bytes:
        self._require(count)
        return self._file.read(count)

    def unpack(self, layout: str) -> tuple:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def entries(self, size: int) -> tuple[list[str], NDArray[np.int64]]:
        """The dictionary: each a name, a zero byte, its count and its kind."""
        names, counts = [], []
        begin, buffer, place = self._file.tell(), b"", 0
        for _ in range(size):
            end = buffer.find(b"\0", place)
            if end < 0 or end + 10 > len(buffer):
                buffer, begin, place = buffer[place:] + self._file.read(1 << 22), begin + place, 0
                end = buffer.find(b"\0")
                if end < 0 or end + 10 > len(buffer):
                    self._require(self._size)
            names.append(buffer[place:end].decode("utf-8", "replace"))
            counts.append(struct.unpack_from("<q", buffer, end + 1)[0])
            place = end + 10
        self._file.seek(begin + place)
        return names, np.array(counts, np.int64)

    def matrix(self, name: str, *, quantised: bool) -> NDArray[np.float32]:
        flag = self.take(1)
        if quantised or flag != b"\0":
            raise PlumeError(
                f"{self._path}: a quantised fastText model (.ftz); its {name} matrix is not kept in full. Use the .bin it was made from."
            )
        rows, columns = self.unpack("<2q")
        self._require(rows * columns * 4 if min(rows, columns) >= 0 else self._size)
        return np.fromfile(self._file, "<f4", rows * columns).reshape(rows, columns)
