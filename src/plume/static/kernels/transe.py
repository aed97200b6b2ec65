"""TransE's loops: a margin between a triple and a corrupted one, and the ranks of the right entity among all."""

from __future__ import annotations

import numpy as np

from plume.static.kernels.sampling import below, following, helper, kernel, loop


@helper
def _distance(entities, relations, head, relation, tail, squares):  # type: ignore[no-untyped-def]
    """Of head + relation from tail: the sum of the differences, or (`squares`) of their squares."""
    total = np.float32(0)
    for column in range(entities.shape[1]):
        difference = entities[head, column] + relations[relation, column] - entities[tail, column]
        total += difference * difference if squares else abs(difference)
    return total


@helper
def _move(entities, relations, head, relation, tail, squares, step):  # type: ignore[no-untyped-def]
    """Against the gradient of the distance, `step` far; a negative step moves apart."""
    for column in range(entities.shape[1]):
        difference = entities[head, column] + relations[relation, column] - entities[tail, column]
        slope = step * (np.float32(2) * difference if squares else np.sign(difference))
        entities[head, column] -= slope
        relations[relation, column] -= slope
        entities[tail, column] += slope


@helper
def _to_unit(entities, row):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for column in range(entities.shape[1]):
        total += entities[row, column] * entities[row, column]
    if total > 0:
        scale = np.float32(1) / np.sqrt(total)
        for column in range(entities.shape[1]):
            entities[row, column] *= scale


@loop
def train_triples(triples, order, entities, relations, margin, rate, negatives, squares, seed):  # type: ignore[no-untyped-def]
    """Algorithm 1 of the paper over the triples in this order, one at a time: a random entity in the place of the head or of the tail; where the
    right triple is not nearer by the margin, both move, and the entities that moved are made unit vectors again. Returns the summed loss."""
    state, loss = np.uint64(seed), 0.0
    for place in range(len(order)):
        head, relation, tail = triples[order[place], 0], triples[order[place], 1], triples[order[place], 2]
        for _ in range(negatives):
            state = following(state)
            at_head = (state >> np.uint64(63)) == np.uint64(1)
            state = following(state)
            other = below(state, len(entities))
            wrong_head, wrong_tail = (other, tail) if at_head else (head, other)
            gap = (
                margin
                + _distance(entities, relations, head, relation, tail, squares)
                - _distance(entities, relations, wrong_head, relation, wrong_tail, squares)
            )
            if gap > 0:
                loss += gap
                _move(entities, relations, head, relation, tail, squares, rate)
                _move(entities, relations, wrong_head, relation, wrong_tail, squares, -rate)
                _to_unit(entities, head)
                _to_unit(entities, tail)
                _to_unit(entities, other)
    return loss


@kernel
def tail_distances(entities, relations, head, relation, squares):  # type: ignore[no-untyped-def]
    """[N] of every entity as the tail."""
    found = np.empty(len(entities), np.float32)
    for entity in range(len(entities)):
        found[entity] = _distance(entities, relations, head, relation, entity, squares)
    return found


@kernel
def head_distances(entities, relations, relation, tail, squares):  # type: ignore[no-untyped-def]
    """[N] of every entity as the head."""
    found = np.empty(len(entities), np.float32)
    for entity in range(len(entities)):
        found[entity] = _distance(entities, relations, entity, relation, tail, squares)
    return found
