"""What follows from counts alone: noise, subsampling, Huffman codes."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from plume.static.sampling import huffman_tree, keep_shares, keep_thresholds, noise_shares, noise_table

COUNTS = np.array([900, 400, 400, 120, 60, 60, 33, 12, 12, 5], np.int64)


@pytest.mark.parametrize("power", [0.75, 0.5, 0.0])
def test_the_noise_table_holds_the_shares_exactly(power: float) -> None:
    table = noise_table(COUNTS, power)
    own = (table.threshold + 1.0) / 2**32
    found = own / len(COUNTS) + np.bincount(table.alias, weights=(1 - own) / len(COUNTS), minlength=len(COUNTS))
    np.testing.assert_allclose(found, noise_shares(COUNTS, power), atol=1e-8)
    assert noise_shares(COUNTS, power)[0] / noise_shares(COUNTS, power)[-1] == pytest.approx(180**power)


def test_frequent_words_are_thinned_by_the_programs_formula_not_the_papers() -> None:
    counts = np.array([90_000, 9_000, 900, 100], np.int64)
    share = counts[0] / counts.sum()
    assert keep_shares(counts, 1e-3)[0] == pytest.approx((np.sqrt(share / 1e-3) + 1) * 1e-3 / share)
    assert keep_shares(counts, 1e-3)[-1] == 1
    assert (keep_thresholds(counts, 0.0) == 2**32 - 1).all()


def codes(counts: np.ndarray) -> list[str]:
    tree = huffman_tree(counts)
    bits = [
        "".join("01"[int(1 - label)] for label in tree.labels[begin:end])
        for begin, end in zip(tree.begin[:-1], tree.begin[1:], strict=True)
    ]
    roots = {int(tree.points[begin]) for begin in tree.begin[:-1]}
    assert roots == {len(counts) - 2}  # word2vec.c: every path begins at the last node made
    return bits


def optimal_cost(counts: np.ndarray) -> int:
    heap, cost = [int(count) for count in counts], 0
    heapq.heapify(heap)
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        cost += joined
        heapq.heappush(heap, joined)
    return cost


def test_huffman_codes_by_hand() -> None:
    assert [len(code) for code in codes(np.array([8, 4, 2, 1, 1]))] == [1, 2, 3, 4, 4]
    # Ties: word2vec.c takes an inner node before a leaf of the same count, which makes the tree shallow.
    assert codes(np.array([1, 1, 1, 1])) == ["11", "10", "01", "00"]
    assert [len(code) for code in codes(np.array([2, 1, 1]))] == [1, 2, 2]


@pytest.mark.parametrize("seed", range(5))
def test_huffman_codes_are_optimal_and_no_code_begins_another(seed: int) -> None:
    counts = np.sort(np.random.default_rng(seed).zipf(1.3, 300) % 5000 + 1)[::-1]
    found = codes(counts)
    assert sum(len(code) * count for code, count in zip(found, counts, strict=True)) == optimal_cost(counts)
    assert sum(2.0 ** -len(code) for code in found) == 1
    assert not any(one != other and other.startswith(one) for one in found for other in found)


def test_node_weights_are_the_counts_below() -> None:
    tree = huffman_tree(COUNTS)
    assert tree.weights[-1].sum() == COUNTS.sum()
    sums = np.zeros_like(tree.weights)
    for word, count in enumerate(COUNTS):
        for place in range(tree.begin[word], tree.begin[word + 1]):
            sums[tree.points[place], int(1 - tree.labels[place])] += count
    np.testing.assert_array_equal(tree.weights, sums)
