"""Entities and Facts as Experts, which no library has, against a page of plain numpy in float64."""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Batch, Target
from plume.core.knowledge import Knowledge
from plume.model.resources import exchange
from plume.nn.knowledge.entity_memory import EntityMemory
from plume.nn.knowledge.mentions import marked, tagged, wholly_seen
from plume.nn.visibility import AttentionMask

VOCABULARY = 60


def numbers(model: Any, name: str) -> np.ndarray:
    return dict(model.named_parameters(remove_duplicate=False))[name].detach().numpy()


def linear(model: Any, name: str, value: np.ndarray, *, bias: bool = True) -> np.ndarray:
    return value @ numbers(model, f"{name}.weight").T + (numbers(model, f"{name}.bias") if bias else 0)


def softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def normed(model: Any, name: str, value: np.ndarray) -> np.ndarray:
    centred = value - value.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * numbers(model, f"{name}.weight") + numbers(
        model, f"{name}.bias"
    )


def batch() -> Batch:
    """Two rows; entities 4, 9, 4 again, and two beside each other."""
    generator = torch.Generator().manual_seed(2)
    named = torch.full((2, 12), -1)
    named[0, 2:4], named[0, 6], named[1, 1:4], named[1, 4:6] = 4, 9, 4, 11
    return Batch(tokens=torch.randint(5, VOCABULARY, (2, 12), generator=generator), length=torch.tensor([12, 9]), named={"mentions": named})


ENDS = ([2, 6, 13, 16], [3, 6, 15, 17])  # of the flattened rows
ENTITY = [4, 9, 4, 11]


def target(value: list[int], **changes: Any) -> Target:
    first, last = (torch.tensor(one) for one in ENDS)
    return Target(index=first, value=torch.tensor(value), context=last[:, None], feature=last - first + 1, **changes)


@pytest.mark.parametrize("training", [True, False], ids=["all entities", "the best three"])
def test_the_memory(miniature: Any, built: Any, training: bool) -> None:
    recipe = miniature("eae").override("network.between=(EntityMemory(after=1, entities=17, width=16, top=3),)")
    model = built(recipe, vocabulary=VOCABULARY).train(training)
    given = batch()
    encoded = model.encode(given, keep_layers=True)
    states = encoded.layers[1].detach().numpy()
    flat = states.reshape(-1, states.shape[-1])
    scores = (
        linear(model, "stack.between.0.query", np.concatenate([flat[ENDS[0]], flat[ENDS[1]]], -1))
        @ numbers(model, "stack.between.0.entity.weight").T
    )
    weights = softmax(scores)
    if not training:
        kept = scores >= np.sort(scores, -1)[:, [-3]]
        weights = softmax(np.where(kept, scores, -np.inf))
    added = np.zeros_like(flat)
    added[ENDS[0]] = linear(model, "stack.between.0.value", weights @ numbers(model, "stack.between.0.entity.weight"))
    expected = normed(model, "stack.between.0.norm", states + added.reshape(states.shape))
    again = model.stack.block(1)(torch.from_numpy(expected), sight=model._told(model.sight(given), {}), layer=1)
    assert np.abs((encoded.layers[2] - again).detach().numpy()[0]).max() < 1e-12

    linking = model.head("entity_linking").loss(encoded, target(ENTITY))
    assert float(linking.total.detach()) == pytest.approx(-np.log(softmax(scores)[range(4), ENTITY]).sum(), abs=1e-9)
    last = encoded.last.detach().numpy().reshape(-1, states.shape[-1])
    ends = np.concatenate([last[ENDS[0]], last[ENDS[1]]], -1)
    logits = linear(model, "heads.entity_prediction.query", ends) @ numbers(model, "stack.between.0.entity.weight").T
    found = model.head("entity_prediction").loss(encoded, target(ENTITY))
    assert float(found.total.detach()) == pytest.approx(-np.log(softmax(logits)[range(4), ENTITY]).sum(), abs=1e-9)
    tags = np.zeros((2, 12), int)
    tags[0, [2, 6]] = tags[1, [1, 4]] = 1
    tags[0, 3] = tags[1, 2] = tags[1, 3] = tags[1, 5] = 2
    said = softmax(linear(model, "stack.between.0.detect", states))
    every = Target(index=torch.arange(24), value=torch.from_numpy(tags.ravel()), whole=True)
    wanted = -np.log(np.take_along_axis(said, tags[..., None], -1)).sum()
    assert float(model.head("mention_detection").loss(encoded, every).total.detach()) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("inverse", [True, False])
def test_facts_mixed_with_context(miniature: Any, built: Any, knowledge: Knowledge, inverse: bool) -> None:
    recipe = miniature("fae").override(f"objectives.fact_prediction.head.inverse={inverse}")
    model = built(recipe, vocabulary=VOCABULARY).train()
    triples = np.concatenate([knowledge.array("triples"), [[9, 1, 4], [9, 1, 6], [9, 2, 4], [4, 0, 9]]])
    model.know(with_fields(knowledge, arrays={"triples": triples}))
    encoded = model.encode(batch())
    last = encoded.last.detach().numpy().reshape(-1, model.width)
    ends = np.concatenate([last[ENDS[0]], last[ENDS[1]]], -1)
    table, name = numbers(model, "stack.between.0.entity.weight"), "heads.fact_prediction"
    objects: dict[tuple[int, int], set[int]] = {}
    for subject, relation, object in triples.tolist():
        objects.setdefault((subject, relation), set()).add(object)
        if inverse:
            objects.setdefault((object, relation + 3), set()).add(subject)
    relations = linear(model, f"{name}.relation_key", numbers(model, f"{name}.relation.weight"), bias=False)
    keys = [linear(model, f"{name}.subject_key", table[s]) + relations[r] for s, r in objects]
    scores = linear(model, f"{name}.ask", ends) @ np.stack([*keys, numbers(model, f"{name}.none.weight")[0]]).T
    share = softmax(scores)
    values = np.stack([table[sorted(some)].mean(0) for some in objects.values()])
    answer = share[:, [-1]] * linear(model, f"{name}.query", ends) + share[:, :-1] @ values
    logits = answer @ table.T

    # Who is hidden is no subject. Of the first row's 4, the 9 beside it knows by two relations, and by a third that is asked from its object.
    for hidden, visible, known in ((ENTITY, [set()] * 4, 0), ([4], [{9}], 3 if inverse else 2)):
        some = range(len(hidden))
        right = []
        for number in some:
            fits = [n for n, (key, held) in enumerate(objects.items()) if key[0] in visible[number] and hidden[number] in held]
            assert len(fits) == known
            right.append(share[number, fits or [-1]].sum())
        asked = target(ENTITY).map(lambda array, count=len(hidden): array[:count])
        found = model.head("fact_prediction").loss(encoded, asked)
        wanted = -np.log(softmax(logits)[list(some), hidden]).sum() - np.log(right).sum()
        assert float(found.total.detach()) == pytest.approx(wanted, abs=1e-8)


def test_an_answer_follows_the_facts_of_today(miniature: Any, built: Any, knowledge: Knowledge) -> None:
    """With keys that are found, the answer is what the fact says: without, with, with another, and without again; no weight moves."""
    model = built(miniature("fae"), vocabulary=VOCABULARY).eval()
    head = model.head("fact_prediction")
    with torch.no_grad():
        entity = model.stack.between[0].entity.weight
        entity.copy_(
            torch.nn.functional.normalize(torch.randn(entity.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)) * 6
        )
        head.query.weight.zero_()
        head.query.bias.copy_(entity[0])  # what the context says
        head.none.weight.zero_()
        wanted = head.subject_key(entity[5]) + head.relation_key(head.relation.weight[1])
        head.ask.weight.zero_()
        head.ask.bias.copy_(wanted / wanted.norm() * 60)
    ends = torch.zeros(1, head.ask.in_features, dtype=torch.float64)
    plain = np.array([[2, 0, 3]], np.int32)
    for facts, answer in (([], 0), ([[5, 1, 8]], 8), ([[5, 1, 12]], 12), ([], 0)):
        exchange(model, with_fields(knowledge, arrays={"triples": np.concatenate([plain, np.array(facts, np.int32).reshape(-1, 3)])}))
        said = head.respond(ends)
        if facts:
            assert int(said.scores.argmax()) == answer and float(said.keys[0, -1].exp().detach()) < 0.01
            assert head.facts.objects(int(said.keys.argmax())).tolist() == [answer]
        assert float(said.keys.exp().sum().detach()) == pytest.approx(1)


def test_mentions_found_by_tags_never_reach_what_their_first_token_does_not_see() -> None:
    tags = torch.tensor([[0, 1, 2, 2, 0, 1, 0, 2]])
    ends = tagged(tags, None)
    assert [one.tolist() for one in ends] == [[1, 5, 7], [3, 5, 7]]
    assert wholly_seen(ends, AttentionMask(), 8) is None
    causal = wholly_seen(ends, AttentionMask(causal=True), 8)
    assert causal is not None and causal.tolist() == [False, False, True]  # what follows a mention decides where it ends
    documents = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1])
    parted = wholly_seen(ends, AttentionMask(allowed=(documents[:, None] == documents)[None, None]), 8)
    assert parted is not None and parted.tolist() == [True, False, True]
    assert marked(torch.full((2, 3), -1)).first.tolist() == []


@pytest.mark.parametrize("family", ["eae", "fae"])
def test_a_batch_that_mentions_nothing_is_learned_from_too(miniature: Any, built: Any, family: str) -> None:
    model = built(miniature(family), vocabulary=VOCABULARY).train()
    none = torch.zeros(0, dtype=torch.long)
    nobody = Target(index=none, value=none, context=none[:, None], feature=none)
    given = batch()
    labels = {one.name: nobody for one in model.recipe.objectives if one.asks is not None and "mentions" in one.asks}
    losses = model.losses(
        Batch(tokens=given.tokens, length=given.length, named={"mentions": torch.full_like(given.tokens, -1)}, labels=labels)
    )
    assert set(losses) == set(labels) and all(float(one.total.detach()) == 0 for one in losses.values())
    torch.stack([one.total for one in losses.values()]).sum().backward()
    assert all(parameter.grad is None or bool(torch.isfinite(parameter.grad).all()) for parameter in model.parameters())


def test_a_memory_is_of_some_size() -> None:
    with pytest.raises(Exception, match="at least one"):
        EntityMemory(after=1, entities=0)
