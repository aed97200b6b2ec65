"""Word vector files of any kind, told apart by what is in them."""

from __future__ import annotations

from pathlib import Path

from plume.core.errors import PlumeError
from plume.static.formats.fasttext import is_fasttext, read_fasttext
from plume.static.formats.word2vec import read_word2vec
from plume.static.vectors import WordVectors


def open_vectors(path: Path | str) -> WordVectors:
    """word2vec text or binary, GloVe's text (also .gz), or fastText's .bin. The name's ending does not matter."""
    path = Path(path)
    if not path.is_file():
        raise PlumeError(f"There is no file {path} to read word vectors from.")
    return read_fasttext(path).vectors() if is_fasttext(path) else read_word2vec(path)
