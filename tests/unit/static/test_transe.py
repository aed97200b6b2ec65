"""TransE: its step against plain code, its ranks against a hand-made case, and what it learns of a structured world."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.kernels.transe import head_distances, tail_distances, train_triples
from plume.static.transe import TransE, TripleDistance, by_frequency, by_vectors, ranked

RNG = np.random.default_rng(4)


def world() -> np.ndarray:
    """Thirty people in six towns of two countries: a person lives in a town, is of its country, and the town lies there."""
    rows = []
    for person in range(30):
        town = 30 + person % 6
        rows += [(person, 0, town), (person, 1, 36 + person % 2)]
    rows += [(30 + town, 2, 36 + town % 2) for town in range(6)]
    return np.array(rows)


@pytest.mark.parametrize("squares", [False, True])
def test_a_step_is_the_gradient_of_the_margin(squares: bool) -> None:
    """The one triple (0, 0, 1): whatever was corrupted, the kernel moved along the numerical gradient, then made unit vectors."""
    entities, relations = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=(1, 4)).astype(np.float32)
    entities /= np.linalg.norm(entities, axis=1, keepdims=True)

    def distance(e, r, head, tail):
        gap = e[head] + r[0] - e[tail]
        return (gap * gap).sum() if squares else np.abs(gap).sum()

    candidates = []
    for head, tail in [(other, 1) for other in range(3)] + [(0, other) for other in range(3)]:

        def loss(flat, head=head, tail=tail):
            e, r = flat[:12].reshape(3, 4), flat[12:].reshape(1, 4)
            return max(0.0, 5.0 + distance(e, r, 0, 1) - distance(e, r, head, tail))

        flat = np.concatenate([entities.ravel(), relations.ravel()]).astype(np.float64)
        slope = np.array([(loss(flat + step) - loss(flat - step)) / 2e-6 for step in np.eye(16) * 1e-6])
        moved = flat - 1e-3 * slope
        e = moved[:12].reshape(3, 4)
        for row in {0, 1, head, tail}:
            e[row] /= np.linalg.norm(e[row])
        candidates.append((loss(flat), np.concatenate([e.ravel(), moved[12:]])))
    after, after_relations = entities.copy(), relations.copy()
    # A kernel that moves the right triple first and then the wrong one computes the second slope a step later: a thousandth away.
    total = train_triples(np.array([[0, 0, 1]]), np.array([0]), after, after_relations, np.float32(5), np.float32(1e-3), 1, squares, 7)
    made = np.concatenate([after.ravel(), after_relations.ravel()])
    assert any(
        total == pytest.approx(expected, rel=1e-5) and np.allclose(made, flat, atol=4e-5 if squares else 2e-6)
        for expected, flat in candidates
    )


def test_the_same_seed_gives_the_same_bits_and_unit_entities() -> None:
    part = TransE(dimension=12, epochs=8)
    one, two, other = (part.train(world(), entities=38, relations=3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.entities, two.entities) and np.array_equal(one.relations, two.relations)
    assert not np.array_equal(one.entities, other.entities)
    assert np.linalg.norm(one.entities, axis=1) == pytest.approx(np.ones(38), abs=1e-5)


@pytest.mark.parametrize("distance", list(TripleDistance))
def test_it_infers_what_was_held_out(distance: TripleDistance) -> None:
    """Countries of people whose town is known: never stated of them, and above what frequency says."""
    triples = world()
    asked = np.array([row for row in triples.tolist() if row[1] == 1 and row[0] >= 24])
    known = np.array([row for row in triples.tolist() if not (row[1] == 1 and row[0] >= 24)])
    made = TransE(dimension=16, epochs=300, margin=2.0, distance=distance).train(known, entities=38, relations=3, seed=0)
    tails = [int(np.argmin(by_vectors(made)(head, 1, True))) for head, _, _ in asked.tolist()]
    assert (np.array(tails) == asked[:, 2]).mean() > 0.8
    assert ranked(by_vectors(made), asked, triples).mean_reciprocal > ranked(by_frequency(known, 38), asked, triples).mean_reciprocal


def test_distances_and_ranks_by_hand() -> None:
    entities, relations = np.array([[0, 0], [1, 0], [3, 0], [1, 2]], np.float32), np.array([[1, 0]], np.float32)
    assert tail_distances(entities, relations, 0, 0, False).tolist() == [1, 0, 2, 2]
    assert tail_distances(entities, relations, 0, 0, True).tolist() == [1, 0, 4, 4]
    assert head_distances(entities, relations, 0, 1, False).tolist() == [0, 1, 3, 3]
    scores = {True: np.array([0.0, 1.0, 1.0, 5.0]), False: np.array([4.0, 3.0, 2.0, 1.0])}
    known = np.array([[0, 0, 0], [0, 0, 2]])
    # Tails of 0: entity 0 is right as well and is left out; 1 is as near as 2 and shares ranks 1 and 2. Heads of 2: nothing is left out, last of 4.
    found = ranked(lambda given, relation, of_tail: scores[of_tail], np.array([[0, 0, 2]]), known)
    assert found.questions == 2 and found.mean_reciprocal == pytest.approx((1 / 1.5 + 1 / 4) / 2) and found.hits_at_1 == 0
    assert found.hits_at_10 == 1


@pytest.mark.parametrize(
    ("changes", "reason"), [({"dimension": 0}, "at least 1"), ({"rate": 0.0}, "above 0"), ({"margin": math.inf}, "above 0")]
)
def test_settings_that_cannot_work(changes: dict, reason: str) -> None:
    with pytest.raises(PlumeError, match=reason):
        TransE(**changes)
    with pytest.raises(PlumeError, match="there are none"):
        TransE().train(np.zeros((0, 3), np.int64), entities=3, relations=1, seed=0)
