"""Co-occurrence counts: against a dictionary, and the same whatever the memory."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from plume.static import cooccurrence as module
from plume.static.cooccurrence import ENTRY, build, sorted_runs
from plume.static.text import WordText

generator = np.random.default_rng(3)
LENGTHS = generator.integers(1, 60, 400)
TEXT = WordText(
    ids=np.minimum(generator.zipf(1.4, LENGTHS.sum()) - 1, 999).astype(np.int32),
    start=np.concatenate([[0], np.cumsum(LENGTHS)]),
)


def entries(folder: Path, *, memory: int, symmetric: bool = True, seed: int = 5, window: int = 6) -> np.ndarray:
    path = build(TEXT, window=window, symmetric=symmetric, x_max=10.0, alpha=0.75, seed=seed, memory=memory, folder=folder)
    assert [one.name for one in folder.iterdir()] == ["entries.bin"]
    return np.fromfile(path, ENTRY)


def by_hand(window: int, symmetric: bool) -> dict[tuple[int, int], float]:
    """cooccur.c: each word with those before it in its line, 1/distance; in symmetric counting also with the roles exchanged."""
    counts: dict[tuple[int, int], float] = defaultdict(float)
    for begin, end in zip(TEXT.start[:-1], TEXT.start[1:], strict=True):
        line = TEXT.ids[begin:end].tolist()
        for place, word in enumerate(line):
            for distance in range(1, min(window, place) + 1):
                counts[line[place - distance], word] += 1 / distance
                if symmetric:
                    counts[word, line[place - distance]] += 1 / distance
    return counts


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("memory", [1 << 14, 1 << 28])
def test_counts_are_those_of_a_dictionary(tmp_path: Path, symmetric: bool, memory: int) -> None:
    found, expected = entries(tmp_path, memory=memory, symmetric=symmetric), by_hand(6, symmetric)
    assert len(found) == len(expected) > 5000
    truth = np.array([expected[pair] for pair in zip(found["word"].tolist(), found["context"].tolist(), strict=True)])
    np.testing.assert_allclose(np.exp(found["log"]), truth, rtol=1e-5)
    np.testing.assert_allclose(found["weight"], np.minimum(truth / 10, 1) ** 0.75, rtol=1e-5)


def test_a_small_memory_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = list(sorted_runs(TEXT, window=6, symmetric=True, memory=1 << 14))
    assert len(runs) > 5 and all((np.diff(run["key"]) > 0).all() for run, _ in runs)
    assert [done for _, done in runs] == sorted(done for _, done in runs) and runs[-1][1] == 1
    whole = entries(tmp_path / "whole", memory=1 << 28)
    monkeypatch.setattr(module, "_AT_ONCE", 777)
    assert entries(tmp_path / "small", memory=1 << 14).tobytes() == whole.tobytes()


def test_the_order_is_a_shuffle_by_the_seed(tmp_path: Path) -> None:
    one, other = (entries(tmp_path / str(seed), memory=1 << 28, seed=seed) for seed in (1, 2))
    assert one.tobytes() != other.tobytes()
    assert np.sort(one, order=["word", "context"]).tobytes() == np.sort(other, order=["word", "context"]).tobytes()
    ranks = one["word"].astype(float)
    assert abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) < 0.05
    assert abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) < 0.05
