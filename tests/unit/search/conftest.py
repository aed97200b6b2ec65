"""An embedder that needs no weights, and collections to search."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from plume.search.settings import Analysis
from plume.search.terms import terms


class HashedWords:
    """A text's vector is the sum of random ones, one a word: texts that share words are near each other."""

    def __init__(self, width: int = 256, seed: str = "") -> None:
        self.width, self._seed = width, seed

    def embed(self, texts: str | Sequence[str], *, pooling: str | None = None, language: str | None = None) -> NDArray[np.float32]:
        listed = [texts] if isinstance(texts, str) else texts
        return np.stack([self._sum(text) for text in listed])

    def _sum(self, text: str) -> NDArray[np.float32]:
        total = np.zeros(self.width, np.float32)
        for word in terms(text, Analysis.JIEBA):
            seed = int.from_bytes(hashlib.blake2b(f"{self._seed}{word}".encode(), digest_size=8).digest(), "big")
            total += np.random.default_rng(seed).normal(size=self.width).astype(np.float32)
        return total


@pytest.fixture(scope="session")
def hashed() -> HashedWords:
    return HashedWords()


@pytest.fixture
def another() -> HashedWords:
    """As wide, but with other vectors."""
    return HashedWords(seed="other")


@pytest.fixture(scope="session")
def clustered() -> NDArray[np.float32]:
    """3,000 unit vectors of 32 dimensions around 60 centres."""
    source = np.random.default_rng(4)
    centres = source.normal(size=(60, 32))
    rows = (centres[source.integers(60, size=3_000)] + 0.4 * source.normal(size=(3_000, 32))).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
