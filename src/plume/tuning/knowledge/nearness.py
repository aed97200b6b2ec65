"""What sentence vectors say of a question and a relation: how near they are in meaning, where they share no letter."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.core.identity import folder_hash
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel, is_word_model

_KEPT = 200_000  # texts; relations come again and again, questions do not


class Nearness:
    """Cosines of the vectors of a model that learns nothing here; each text is read once."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def read(self, texts: Iterable[str]) -> None:
        """Those that are new, at one go."""
        if len(self._vectors) > _KEPT:
            self._vectors.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = self._model.embed(new).astype(np.float32)
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
            self._vectors.update(zip(new, vectors, strict=True))

    def alike(self, one: str, other: str) -> float:
        """Their cosine; both have been read."""
        return float(self._vectors[one] @ self._vectors[other])


@lru_cache(maxsize=2)
def nearness(folder: str) -> Nearness:
    """By the model in a directory, opened once."""
    path = Path(folder)
    return Nearness(WordModel.load(path) if is_word_model(path) else LanguageModel.load(path))


@lru_cache(maxsize=8)
def vectors_hash(folder: str) -> str:
    """Of the model in a directory, looked at once; empty where there is no directory to be named."""
    if not folder:
        return ""
    if not Path(folder).is_dir():
        raise PlumeError(
            f"The model {folder}, whose sentence vectors compare questions and relations, is not there: put it back, or ask with "
            "vectors=DIRECTORY."
        )
    return folder_hash(Path(folder))
