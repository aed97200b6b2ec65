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


def question_vectors(model: Embedder, questions: Sequence[str]) -> NDArray[np.float32]:
    """[N, D] of texts that are asked for others: by an encoder of their own, where the model has one."""
    embed = getattr(model, "embed_questions", model.embed)
    made: NDArray[np.float32] = embed(list(questions))
    return made
