"""Rows as the data side would hand them to noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plume.core.seeds import Draws
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.target import Aim

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


@pytest.fixture(scope="session")
def one_row() -> Callable[[Rows, int], Rows]:
    """One row of a batch by itself, without the padding that the others gave it."""

    def take(rows: Rows, row: int) -> Rows:
        length = int(rows.length[row])
        cut: dict[str, Any] = {
            name: value[row : row + 1, :length] for name, value in vars(rows).items() if isinstance(value, np.ndarray) and value.ndim == 2
        }
        units = {name: value[row : row + 1, :length] for name, value in rows.units.items()}
        return Rows(**cut, length=rows.length[row : row + 1], units=units)

    return take


@pytest.fixture(scope="session")
def sees() -> Callable[..., np.ndarray]:
    """[T, T] who sees whom in one row, by the rule of rank and until; `strict` for the query stream."""

    def matrix(aim: Aim, row: int = 0, *, strict: bool = False) -> np.ndarray:
        length = int(aim.length[row])
        assert aim.rank is not None
        rank = aim.rank[row, :length]
        until = np.full(length, np.iinfo(np.int64).max) if aim.until is None else aim.until[row, :length]
        query, key = rank[:, None], rank[None, :]
        return (key < query) & (query <= until) if strict else (key <= query) & (query < until)

    return matrix


@pytest.fixture(scope="session")
def assert_no_leak(sees: Callable[..., np.ndarray]) -> Callable[..., None]:
    """No answer's token stands anywhere that its query hears of, through any number of layers. Each token of the text must be unique."""

    def check(aim: Aim, *, strict: bool) -> None:
        for row, length in enumerate(aim.length.tolist()):
            content = sees(aim, row)
            heard = content | np.eye(length, dtype=bool)
            for _ in range(length.bit_length()):
                heard = heard @ heard
            first = sees(aim, row, strict=strict)
            tokens = aim.shown[row, :length]
            for place in np.flatnonzero(aim.where[row]):
                known = tokens[heard[first[place]].any(0)]
                assert len(known), "a query that sees nothing"
                assert aim.what[row, place] not in known

    return check


@pytest.fixture(scope="session")
def unique() -> Callable[[Rows], Rows]:
    """The same rows with another token at every place of the text."""
    return lambda rows: replace(rows, tokens=np.where(rows.special, rows.tokens, 1000 + np.arange(rows.tokens.shape[1])))


@pytest.fixture(scope="session")
def same_alone(one_row: Callable[[Rows, int], Rows], alphabet: Alphabet) -> Callable[[Noise, Rows], None]:
    """Each row gets the same example by itself as in its batch."""

    def check(noise: Noise, rows: Rows) -> None:
        letters = replace(alphabet, start=1, end=SEPARATOR, counts=np.arange(VOCABULARY))
        index = np.arange(len(rows.length)) * 7 + 3
        together = noise(rows, Draws(seed=1, epoch=4, index=index), letters)
        for row in range(len(index)):
            alone = noise(one_row(rows, row), Draws(seed=1, epoch=4, index=index[row : row + 1]), letters)
            length = int(alone.length[0])
            assert together.length[row] == length
            for one, whole in _arrays(alone, together):
                assert (one[0, :length] == whole[row, :length]).all()

    def _arrays(alone: Aim, together: Aim) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for name in ("shown", "where", "what", "rank", "until", "position", "within", "segment", "query"):
            if getattr(alone, name) is not None:
                asked = alone.where if name in ("what", "query") else np.ones_like(alone.where)
                whole_asked = together.where if name in ("what", "query") else np.ones_like(together.where)
                yield np.where(asked, getattr(alone, name), 0), np.where(whole_asked, getattr(together, name), 0)
        for name, answer in alone.others.items():
            for field in ("where", "what", "context", "feature"):
                if getattr(answer, field) is not None:
                    yield getattr(answer, field), getattr(together.others[name], field)

    return check
