"""ERNIE (Tsinghua)'s blocks with two streams and KnowBERT's linker against a page of plain code each, written from the papers, in float64.

The oracles go row by row and token by token, with lists where the networks gather and scatter.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.batch import Batch, Target
from plume.core.knowledge import Knowledge
from plume.core.part import replace
from plume.model.build import build
from plume.nn.knowledge.fused import links_shown
from plume.nn.knowledge.recontextualisation import MEANINGS, PLACES, SCORES

VOCABULARY, WIDTH, ENTITIES, E = 60, 16, 9, 8


@pytest.fixture(scope="module")
def facts() -> Knowledge:
    """Nine entities with vectors; five names, of one to three meanings."""
    generator = torch.Generator().manual_seed(2)
    candidates = torch.tensor([[0, 1, 2], [3, -1, -1], [4, 5, -1], [6, 7, 8], [2, 4, 6]])
    priors = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0, 0], [0.9, 0.1, 0], [0.4, 0.4, 0.2], [0.6, 0.3, 0.1]])
    arrays = {"vectors": torch.randn(ENTITIES, E, generator=generator).numpy(), "candidates": candidates.numpy(), "priors": priors.numpy()}
    names = tuple(f"e{number}" for number in range(ENTITIES))
    return Knowledge(entities=names, relations=("r",), path="kb", fingerprint="0", arrays=arrays)


def made(recipe: Any, facts: Knowledge) -> Any:
    from plume.core.knowledge import fitted

    recipe = fitted(recipe, facts)
    model = build(recipe, vocabulary=VOCABULARY, seed=1).double().eval()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    model.know(facts)
    return model


def tokens() -> Tensor:
    return torch.randint(10, VOCABULARY, (3, 9), generator=torch.Generator().manual_seed(0))


LENGTH = torch.tensor([9, 7, 9])


def attended(queries: Tensor, seen: Tensor, layer: Any, heads: int) -> Tensor:
    """Multi-head attention of [Q, D] at [K, D], head by head."""
    parts = []
    for one in range(heads):
        size = queries.shape[1] // heads
        own = slice(one * size, (one + 1) * size)
        q, k, v = (F.linear(x, m.weight, m.bias)[:, own] for x, m in ((queries, layer.query), (seen, layer.key), (seen, layer.value)))
        parts.append((q @ k.t() / math.sqrt(size)).softmax(-1) @ v)
    return F.linear(torch.cat(parts, 1), layer.output.weight, layer.output.bias)


def test_two_streams_by_hand(miniature: Any, facts: Knowledge) -> None:
    """Three blocks, of which two have entities: one row with three mentions, one with one, one with none."""
    recipe = miniature("ernie-thu", width=WIDTH, depth=3)
    recipe = replace(recipe, network=replace(recipe.network, fused=2, entity_heads=4))
    model = made(recipe, facts)
    mentions = torch.full((3, 9), -1)
    mentions[0, 1:3], mentions[0, 4], mentions[0, 6:9], mentions[1, 2:4] = 5, 0, 7, 3
    given = Batch(tokens=tokens(), length=LENGTH, named={"mentions": mentions})
    with torch.no_grad():
        found = model.encode(given).last
        for row, linked in enumerate([{1: 5, 4: 0, 6: 7}, {2: 3}, {}]):
            many = int(LENGTH[row])
            words = model.embedding(given.tokens[row : row + 1, :many], torch.arange(many)[None], None, None)[0]
            places = list(linked)
            entities = torch.tensor(facts.arrays["vectors"], dtype=torch.float64)[[linked[place] for place in places]]
            for number, block in enumerate(model.stack.blocks):
                words = block.attention_norm(words + attended(words, words, block.attention, 4))
                reading = block.feed_forward
                hidden = F.linear(words, reading.inner.weight, reading.inner.bias)
                if number > 0 and places:
                    entities = block.entity_norm(entities + attended(entities, entities, block.entity_attention, 4))
                    for which, place in enumerate(places):
                        hidden[place] += reading.entity_inner.weight @ entities[which]
                hidden = F.gelu(hidden)
                if number == 1 and places:
                    entities = block.entity_output_norm(entities + reading.entity_output(hidden[places]))
                words = block.feed_forward_norm(words + F.linear(hidden, reading.output.weight, reading.output.bias))
            assert float((words - found[row, :many]).abs().max()) < 1e-9


def test_the_head_ranks_the_entities_of_the_batch(miniature: Any, facts: Knowledge) -> None:
    model = made(miniature("ernie-thu", width=WIDTH), facts)
    mentions = torch.full((3, 9), -1)
    mentions[0, 1:3], mentions[0, 4], mentions[1, 2] = 5, 0, 3
    index = torch.tensor([1, 4, 11])
    given = Batch(tokens=tokens(), length=LENGTH, named={"mentions": mentions})
    encoded, head = model.encode(given), model.head("entity_denoising")
    loss = head.loss(encoded, Target(index=index, value=torch.tensor([5, 0, 3])))
    vectors = torch.tensor(facts.arrays["vectors"], dtype=torch.float64)
    weight, bias = head.output.weight.detach(), head.output.bias.detach()
    expected, right = 0.0, 0
    for place, entity in zip(index.tolist(), (5, 0, 3), strict=True):
        state = encoded.last.detach().reshape(-1, WIDTH)[place]
        said = {one: float((weight @ state + bias) @ vectors[one]) for one in (0, 3, 5)}
        expected += math.log(sum(math.exp(score) for score in said.values())) - said[entity]
        right += max(said, key=said.__getitem__) == entity
    assert float(loss.total) == pytest.approx(expected, abs=1e-9) and int(loss.correct) == right and loss.count == 3


def test_another_entity_is_really_another() -> None:
    """Numbers −2, −3 … choose among the batch's others: all of them, never the right one; alone in its batch a link is dropped."""
    mentions = torch.tensor([[2, 2, -1, 7, -1, 4]])
    shown = [links_shown({"mentions": mentions, "links": torch.tensor([[-2 - k, -1, -1, 7, -1, -1]])})[0][0].tolist() for k in range(4)]
    assert [one[0] for one in shown] == [4, 7, 4, 7] and all(one[1:] == [-1, -1, 7, -1, -1] for one in shown)
    alone = {"mentions": torch.tensor([[2, 2]]), "links": torch.tensor([[-9, -1]])}
    assert links_shown(alone)[0].tolist() == [[-1, -1]]


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_knowledge_attention_by_hand(miniature: Any, facts: Knowledge, threshold: float | None) -> None:
    """A name of two tokens, a hidden one, one of one token; then one of three; then a row without names, which stays as it was."""
    recipe = miniature("knowbert", width=WIDTH)
    ((between),) = recipe.network.between
    recipe = replace(recipe, network=replace(recipe.network, between=(replace(between, threshold=threshold),)))
    model = made(recipe, facts)
    forms = torch.full((3, 9), -1)
    forms[0, 1:3], forms[0, 4], forms[0, 6], forms[1, 2:5] = 0, -2, 2, 3
    given = Batch(tokens=tokens(), length=LENGTH, named={"forms": forms})
    (module,) = model.stack.between
    vectors = torch.tensor(facts.arrays["vectors"], dtype=torch.float64)
    with torch.no_grad():
        encoded = model.encode(given, keep_layers=True)
        value = encoded.layers[1]
        sight = model.sight(given)
        found = module(value, sight)
        told = 0
        for row, names in enumerate([[(1, 3, 0), (4, 5, None), (6, 7, 2)], [(2, 5, 3)], []]):
            if not names:
                assert torch.equal(found[row], value[row])
                continue
            states = module.project(value[row])
            pooled = []
            for start, end, _ in names:
                share = (states[start:end] @ module.pool.weight[0]).softmax(0)
                pooled.append((share[:, None] * states[start:end]).sum(0))
            spans = narrow(torch.stack(pooled), None, module.mentions)
            meant = []
            for span, (start, _, form) in zip(spans, names, strict=True):
                if form is None:
                    meant.append(module.instead.weight[0])
                    told += 1
                    continue
                scores = {}
                for one, prior in zip(facts.arrays["candidates"][form].tolist(), facts.arrays["priors"][form].tolist(), strict=True):
                    if one >= 0:
                        scores[one] = module.score(torch.tensor([float(span @ vectors[one]) / math.sqrt(E), prior], dtype=torch.float64))
                left = encoded.named
                assert int(left[PLACES][told]) == row * 9 + start
                assert left[MEANINGS][told].tolist()[: len(scores)] == list(scores)
                assert left[SCORES][told][: len(scores)].tolist() == pytest.approx([float(one) for one in scores.values()], abs=1e-6)
                told += 1
                kept = {one: score for one, score in scores.items() if threshold is None or score >= threshold}
                if not kept:
                    meant.append(module.instead.weight[1])
                    continue
                share = torch.cat(list(kept.values())).softmax(0)
                meant.append(sum(weight * vectors[one] for weight, one in zip(share, kept, strict=True)))
            knowing = module.norm_mentions(spans + torch.stack(meant))
            expected = module.norm(value[row] + module.back(narrow(states, knowing, module.tokens)))
            assert float((expected - found[row]).abs().max()) < 1e-7  # the priors are of single precision


def narrow(value: Tensor, seen: Tensor | None, block: Any) -> Tensor:
    looked = block.attention_norm(value + attended(value, value if seen is None else seen, block.attention, 4))
    reading = block.feed_forward
    made: Tensor = block.feed_forward_norm(looked + reading.output(F.gelu(reading.inner(looked))))
    return made


def test_the_way_back_begins_as_the_inverse_of_the_way_in(miniature: Any, facts: Knowledge) -> None:
    """Of a wide projection, where the released code inverts a singular matrix; what comes back is the part of the states that fits."""
    from plume.core.knowledge import fitted

    model = build(fitted(miniature("knowbert", width=WIDTH), facts), vocabulary=VOCABULARY, seed=1)
    (module,) = model.stack.between
    there = module.project.weight.double()
    back = module.back.weight.double()
    assert float((there @ back - torch.eye(E)).abs().max()) < 1e-5
    states = torch.randn(5, WIDTH)
    again = module.back(module.project(states))
    torch.testing.assert_close(module.project(again), module.project(states), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("margin", [None, 0.2])
def test_the_losses_of_the_linker(miniature: Any, margin: float | None) -> None:
    from plume.core.batch import Encoded
    from plume.heads.entity_disambiguation import EntityDisambiguation

    scores = torch.tensor([[0.5, -0.1, -math.inf], [0.3, 0.2, -0.4], [1.0, -math.inf, -math.inf]], dtype=torch.float64)
    left = {SCORES: scores, MEANINGS: torch.tensor([[4, 2, -1], [1, 2, 3], [8, -1, -1]]), PLACES: torch.tensor([2, 5, 11])}
    encoded = Encoded(last=torch.zeros(2, 6, 4), named=left)
    target = Target(index=torch.tensor([2, 5, 11]), value=torch.tensor([2, 1, 7]))  # the last one's meaning is no candidate
    loss = EntityDisambiguation(margin=margin).build(None).loss(encoded, target)  # type: ignore[arg-type]
    if margin is None:
        expected = math.log(math.exp(0.5) + math.exp(-0.1)) + 0.1 + math.log(math.exp(0.3) + math.exp(0.2) + math.exp(-0.4)) - 0.3
    else:
        expected = (0.2 + 0.1) + (0.2 + 0.5) + 0.0 + (0.2 + 0.2) + 0.0
    assert float(loss.total) == pytest.approx(expected, abs=1e-9) and (int(loss.correct), loss.count) == (1, 3)
