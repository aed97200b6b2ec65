"""Embedder: what gives a text its vector, for all that searches, compares or clusters texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """A language model, word vectors or a tuned model: whatever `plume.load` returns."""

    @property
    def width(self) -> int:
        """Of its vectors, as they are pooled if nothing else is asked for."""

    def embed(self, texts: str | Sequence[str], *, pooling: str | None = None, language: str | None = None) -> NDArray[np.float32]:
        """[N, D] one vector a text; `pooling` is a word it knows (None: its own), `language` that of all texts, where it has languages."""
