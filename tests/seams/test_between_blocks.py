"""Hooks of the stack: a module between two blocks reads what the batch carries and leaves something for the heads; vectors behind the
vocabulary; self- and cross-attention under their own names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.build import build
from plume.nn.attention import Sight
from plume.nn.between import Between, BetweenModule

ENTITIES, WIDTH, VOCABULARY = 7, 16, 160


class EntityMemoryModule(BetweenModule):
    """Adds an entity's vector where one is mentioned, and leaves how well each entity fits each state."""

    def __init__(self, width: int, entities: int) -> None:
        super().__init__()
        self.table = nn.Embedding(entities, width)

    def forward(self, value: Tensor, sight: Sight) -> Tensor:
        entity = sight.named["entities"]
        sight.left["fit"] = value @ self.table.weight.t()
        return value + self.table(entity.clamp(min=0)) * (entity >= 0)[..., None]

    def flops(self, *, rows: int, time: int) -> int:
        return 2 * rows * time * self.table.num_embeddings * self.table.embedding_dim


@dataclass(frozen=True, kw_only=True)
class EntityMemory(Between):
    entities: int

    def build(self, width: int) -> EntityMemoryModule:
        return EntityMemoryModule(width, self.entities)


def with_memory(recipe: Any, *, after: int) -> Any:
    return replace(recipe, network=replace(recipe.transformer, between=(EntityMemory(after=after, entities=ENTITIES),)))


def batch() -> Batch:
    tokens = torch.randint(10, VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(0))
    entity = torch.full((2, 9), -1)
    entity[0, 4], entity[1, 2] = 3, 5
    return Batch(tokens=tokens, length=torch.tensor([9, 6]), named={"entities": entity})


@pytest.fixture
def recipe(miniature: Any) -> Any:
    return miniature("bert", width=WIDTH)


@pytest.mark.parametrize("after", [0, 1])
def test_a_module_stands_between_two_blocks(recipe: Any, after: int) -> None:
    plain = build(recipe, vocabulary=VOCABULARY, seed=1)
    model = build(with_memory(recipe, after=after), vocabulary=VOCABULARY, seed=1)
    with torch.no_grad():
        own = dict(model.named_parameters())
        for name, value in plain.named_parameters():
            own[name].copy_(value)
    given = batch()
    before, now = plain.encode(given, keep_layers=True), model.encode(given, keep_layers=True)
    for layer in range(after + 1):  # what was made before it is the same
        assert torch.equal(before.layers[layer], now.layers[layer])
    assert not torch.allclose(before.layers[-1], now.layers[-1])
    table = model.stack.between[0].table.weight
    expected = before.layers[after].clone()
    expected[0, 4] += table[3]
    expected[1, 2] += table[5]
    sight = plain._told(plain.sight(given), {})
    again = plain.stack.block(after)(expected, sight=sight, layer=after)
    torch.testing.assert_close(now.layers[after + 1], again)
    torch.testing.assert_close(now.named["fit"], before.layers[after] @ table.t())


def test_it_learns_and_is_counted(recipe: Any) -> None:
    made = with_memory(recipe, after=1)
    model = build(made, vocabulary=VOCABULARY, seed=1)
    fit = model.encode(batch()).named["fit"]
    nn.functional.cross_entropy(fit[0, 4][None], torch.tensor([3])).backward()
    table = model.stack.between[0].table.weight
    assert table.grad is not None and float(table.grad[3].norm()) > 0
    assert model.embedding.token.weight.grad is not None
    plain = build(recipe, vocabulary=VOCABULARY, seed=1)
    assert model.body_flops(batch()) - plain.body_flops(batch()) == 3 * 2 * 2 * 9 * ENTITIES * WIDTH


def test_it_may_stand_behind_the_last_block_and_no_further(recipe: Any) -> None:
    model = build(with_memory(recipe, after=2), vocabulary=VOCABULARY, seed=1)
    encoded = model.encode(batch(), keep_layers=True)
    before = model.stack.block(1)(encoded.layers[1], sight=model._told(model.sight(batch()), {}), layer=1)
    torch.testing.assert_close(encoded.last[0, 4], before[0, 4] + model.stack.between[0].table.weight[3])
    torch.testing.assert_close(encoded.last[0, 5], before[0, 5])
    with pytest.raises(PlumeError, match="EntityMemory cannot stand after 3 of 2 blocks"):
        with_memory(recipe, after=3)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "xlnet", "glm"])
def test_vectors_behind_the_vocabulary(miniature: Any, family: str) -> None:
    """A soft prompt whose vectors are those of known tokens reads as these tokens do; and it is learnt, not they."""
    recipe = miniature(family, width=WIDTH)
    model = build(recipe, vocabulary=VOCABULARY, seed=1).eval()
    tokens = torch.tensor([[20, 21, 22, 23, 24]])
    order = Order.CAUSAL if family == "gpt2" else Order.FULL
    prompt = model.embedding.token.weight[[21, 23]].detach().clone().requires_grad_(True)
    soft = torch.tensor([[20, VOCABULARY, 22, VOCABULARY + 1, 24]])
    found = model.encode(Batch(tokens=soft, order=order, extra=prompt)).last
    torch.testing.assert_close(found, model.encode(Batch(tokens=tokens, order=order)).last)
    found.square().sum().backward()
    assert prompt.grad is not None and bool((prompt.grad.abs().sum(1) > 0).all())
    looked_up = model.embedding.token.weight.grad
    assert looked_up is not None and float(looked_up[21].abs().sum()) == float(looked_up[23].abs().sum()) == 0


def test_attention_to_oneself_and_across(miniature: Any) -> None:
    model = build(miniature("bart", width=WIDTH), vocabulary=VOCABULARY, seed=1).eval()
    source = Batch(tokens=torch.tensor([[20, 21, 22, 23, 24]]))
    written = model.decode(
        Batch(tokens=torch.tensor([[2, 30, 31]]), order=Order.CAUSAL, source=source), model.encode(source), record_attention=True
    )
    assert [tuple(one.shape[2:]) for one in written.attention] == [(3, 3)] * len(model.decoder.blocks)
    assert [tuple(one.shape[2:]) for one in written.cross_attention] == [(3, 5)] * len(model.decoder.blocks)
    assert model.encode(source, record_attention=True).cross_attention == ()
