"""Word vectors from wherever they lie."""

from __future__ import annotations

from pathlib import Path

from plume.core.errors import PlumeError
from plume.static.formats.detect import open_vectors
from plume.static.model import WordModel, is_word_model
from plume.static.vectors import WordVectors


def load_vectors(path: Path | str) -> WordVectors:
    """A model directory, or a file: word2vec's text or binary, GloVe's text, fastText's .bin."""
    path = Path(path)
    if not path.is_dir():
        return open_vectors(path)
    if not is_word_model(path):
        raise PlumeError(f"{path} holds no word vectors: give a directory that 'plume pretrain word2vec' made, or a file of vectors.")
    return WordModel.load(path).vectors
