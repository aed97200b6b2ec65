"""Rows as the data side would hand them to noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from plume.noise.rows import Alphabet, Rows

VOCABULARY = 50
FIRST_ORDINARY = 5  # lower ids are special tokens
PADDING, BEGIN, SEPARATOR, MASK = 0, 2, 3, 4


@pytest.fixture(scope="session")
def alphabet() -> Alphabet:
    return Alphabet(size=VOCABULARY, mask=MASK)


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., Rows]:
    """Rows of the given lengths: begin, text, a separator in the middle if `pairs`, text, separator; words of 1 to `pieces` tokens."""

    def make(lengths: Sequence[int], *, pieces: int = 1, pairs: bool = False, seed: int = 0) -> Rows:
        generator = np.random.default_rng(seed)
        length = np.asarray(lengths)
        place = np.arange(length.max())
        special = (place == 0) | (place >= length[:, None] - 1)
        if pairs:
            special |= place == length[:, None] // 2
        tokens = generator.integers(FIRST_ORDINARY, VOCABULARY, special.shape)
        tokens = np.where(special, SEPARATOR, tokens)
        tokens[:, 0] = BEGIN
        tokens[place >= length[:, None]] = PADDING
        word_start = generator.integers(0, pieces, special.shape) == 0
        return Rows(tokens=tokens, length=length, special=special, word_start=word_start | special)

    return make
