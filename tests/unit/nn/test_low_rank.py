"""Low-rank tuning: nothing changes at the start, only the factors learn, and merging them changes nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import plume
from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.model.networks.model import Model
from plume.nn.low_rank import LowRank, LowRankLinear, add_low_rank, merge_low_rank
from plume.nn.stack import Sharing, Stack

FAMILIES = ["bert", "gpt2", "albert", "t5", "xlnet"]
LENGTH = torch.tensor([7, 4])


def batch_for(family: str, *, vocabulary: int = 100) -> Batch:
    tokens = torch.randint(5, vocabulary, (2, 7), generator=torch.Generator().manual_seed(1))
    batch = Batch(tokens=tokens, length=LENGTH, order=Order.CAUSAL if family == "gpt2" else Order.FULL)
    return Batch(tokens=tokens.flip(1), order=Order.CAUSAL, source=batch) if family == "t5" else batch


def states(model: Model, family: str) -> Tensor:
    found: Tensor = model.token_states(batch_for(family)).last
    return found


def shake(model: nn.Module) -> None:
    """Factors as after some training."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith((".up", ".down")):
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype) * 0.05)


@pytest.fixture
def model_of(built: Any) -> Callable[[str], Model]:
    return lambda family: built(plume.recipe(f"{family}/tiny"), vocabulary=100).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_begins_as_it_was_and_only_its_factors_learn(family: str, model_of: Callable[[str], Model]) -> None:
    model = model_of(family)
    before, names = states(model, family).detach(), list(model.state_dict())
    frozen = copy.deepcopy(model.state_dict())
    adapted = add_low_rank(model, LowRank(rank=4))
    blocks = len(model.stack.blocks) + (2 * model.recipe.transformer.depth if family == "t5" else 0)  # a decoder's look across, too
    assert len(adapted) == 2 * blocks
    assert {name.rpartition(".")[2] for name in adapted} == {"query", "value"}
    assert set(model.state_dict()) == {*names, *(f"{name}.{factor}" for name in adapted for factor in ("down", "up"))}
    assert {name for name, value in model.named_parameters() if value.requires_grad} == set(model.state_dict()) - set(names)
    assert torch.equal(states(model, family), before)
    optimizer = torch.optim.AdamW([value for value in model.parameters() if value.requires_grad], lr=1e-2)
    for _ in range(2):  # at first B is zero, so A has no gradient
        optimizer.zero_grad()
        states(model.train(), family).square().mean().backward()
        optimizer.step()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in frozen.items())
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in model.parameters() if value.requires_grad)
    assert (states(model.eval(), family) - before).abs().max() > 1e-3


# A layer agrees to 1e-6 in single precision (below); blocks on top of each other add to its rounding (measured: T5's 1.5e-6).
@pytest.mark.parametrize(("kind", "near"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("family", FAMILIES)
def test_merged_equals_unmerged(family: str, kind: torch.dtype, near: float, model_of: Callable[[str], Model]) -> None:
    model = model_of(family).to(kind)
    plain, before = list(model.state_dict()), states(model, family).detach()
    add_low_rank(model, LowRank(rank=4))
    shake(model)
    learning = states(model, family).detach()
    with torch.no_grad():
        apart = states(model, family)  # another attention kernel than where gradients are wanted
    merge_low_rank(model)
    with torch.no_grad():
        merged = states(model, family)
    assert (learning - before).abs().max() > 1e-3
    assert (merged - apart).abs().max() < near
    assert (states(model, family) - learning).abs().max() < near
    assert list(model.state_dict()) == plain
    assert not any(isinstance(module, LowRankLinear) for module in model.modules())


def test_the_product_is_the_paper_s() -> None:
    holder = nn.ModuleDict({"query": nn.Linear(6, 5).double()})
    plain = copy.deepcopy(holder["query"])
    add_low_rank(holder, LowRank(rank=2, alpha=3.0, targets=("query",)))
    shake(holder)
    layer = holder["query"]
    assert isinstance(layer, LowRankLinear)
    assert (layer.in_features, layer.out_features) == (6, 5)
    assert layer.down.shape == (2, 6)
    assert layer.up.shape == (5, 2)
    for shape in [(6,), (4, 6), (2, 3, 6), (0, 6)]:
        value = torch.randn(shape, dtype=torch.float64)
        expected = plain(value) + 1.5 * value @ layer.down.t() @ layer.up.t()
        assert torch.allclose(layer(value), expected, atol=1e-12)
        assert torch.allclose(nn.functional.linear(value, layer.weight, layer.bias), expected, atol=1e-12)


def test_a_merged_layer_agrees_in_single_precision() -> None:
    torch.manual_seed(0)
    holder = nn.ModuleDict({"query": nn.Linear(256, 256)})
    add_low_rank(holder, LowRank(targets=("query",)))
    shake(holder)
    value = torch.randn(40, 256)
    apart = holder["query"](value)
    merge_low_rank(holder)
    assert (holder["query"](value) - apart).abs().max() < 1e-6 * apart.abs().max()


def test_the_factors_start_as_in_the_paper() -> None:
    holder = nn.ModuleDict({"value": nn.Linear(300, 200)})
    add_low_rank(holder, LowRank(rank=64, targets=("value",)))
    layer = holder["value"]
    assert isinstance(layer, LowRankLinear)
    assert not layer.up.any()
    assert float(layer.down.std().detach()) == pytest.approx((3 * 300) ** -0.5, rel=0.03)  # loralib: uniform within 1/sqrt(fan in)
    assert float((layer.down.abs() > 2 * layer.down.std()).float().mean()) == pytest.approx(0.0455, abs=0.01)  # and a Gaussian's tails


def test_dropout_is_of_the_product_alone_and_in_training_alone() -> None:
    holder = nn.ModuleDict({"query": nn.Linear(50, 4).double()})
    plain = copy.deepcopy(holder["query"])
    add_low_rank(holder, LowRank(rank=2, alpha=2.0, dropout=0.5, targets=("query",)))
    value = torch.randn(3, 50, dtype=torch.float64)
    assert torch.equal(holder["query"](value), plain(value))  # the plain product sees all of it
    shake(holder)
    torch.manual_seed(0)
    assert not torch.equal(holder["query"](value), holder["query"](value))
    mean = torch.stack([holder["query"](value) for _ in range(2000)]).mean(0)
    holder.eval()
    assert torch.equal(holder["query"](value), holder["query"](value))
    assert torch.allclose(mean, holder["query"](value), atol=0.05)
    merge_low_rank(holder)
    add_low_rank(holder, LowRank(rank=2, dropout=0.5, targets=("query",)))
    assert not holder["query"].training  # as the layer was that it replaces


@pytest.mark.parametrize("sharing", [Sharing.ATTENTION, Sharing.ALL])
def test_a_shared_layer_is_adapted_once(sharing: Sharing, stack_of: Callable[..., Stack]) -> None:
    stack = stack_of(sharing=sharing)
    assert add_low_rank(stack, LowRank()) == ["blocks.0.attention.query", "blocks.0.attention.value"]
    assert all(stack.block(0).attention.query is stack.block(layer).attention.query for layer in range(3))


def test_a_layer_with_many_parents_and_names_stays_one() -> None:
    linear = nn.Linear(4, 4)
    model = nn.ModuleDict({"one": nn.ModuleDict({"key": linear, "query": linear}), "two": nn.ModuleDict({"query": linear})})
    assert add_low_rank(model, LowRank(targets=("query",))) == ["one.query"]
    places = [model["one"]["key"], model["one"]["query"], model["two"]["query"]]  # type: ignore[index]
    assert isinstance(places[0], LowRankLinear)
    assert places[0] is places[1] is places[2]
    merge_low_rank(model)
    places = [model["one"]["key"], model["one"]["query"], model["two"]["query"]]  # type: ignore[index]
    assert type(places[0]) is nn.Linear
    assert places[0] is places[1] is places[2]


def test_an_adapted_model_is_saved_copied_and_moved_like_any(model_of: Callable[[str], Model]) -> None:
    model = model_of("bert")
    add_low_rank(model, LowRank(rank=4))
    shake(model)
    twin = copy.deepcopy(model)
    assert torch.equal(states(twin, "bert"), states(model, "bert"))
    again = model_of("bert")
    add_low_rank(again, LowRank(rank=4))
    again.load_state_dict(model.state_dict())
    assert torch.equal(states(again, "bert"), states(model, "bert"))
    again.load_state_dict(copy.deepcopy(model.state_dict()), assign=True)
    assert torch.equal(states(again, "bert"), states(model, "bert"))
    assert {value.dtype for value in model.float().parameters()} == {torch.float32}


def test_what_cannot_be_adapted_is_said(model_of: Callable[[str], Model], miniature: Any, built: Any) -> None:
    model = model_of("bert")
    with pytest.raises(PlumeError, match=r"called valeu.*dense, inner, key, output, query, value"):
        add_low_rank(model, LowRank(targets=("query", "valeu")))
    assert all(value.requires_grad for value in model.parameters())  # left as it was
    with pytest.raises(PlumeError, match="Recurrent layers are not adapted"):
        add_low_rank(built(miniature("elmo")), LowRank())
    with pytest.raises(PlumeError, match="no linear layers here"):
        add_low_rank(nn.Embedding(3, 4), LowRank())
    add_low_rank(model, LowRank())
    with pytest.raises(PlumeError, match="adapted already"):
        add_low_rank(model, LowRank(targets=("key",)))


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"alpha": 0.0}, {"dropout": 1.0}, {"targets": ()}])
def test_impossible_declarations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlumeError, match=next(iter(wrong))):
        LowRank(**wrong)


def test_the_declaration_round_trips() -> None:
    part = LowRank(rank=2, targets=("query", "inner"))
    assert part_from_json(part.to_json()) == part
    assert LowRank().override("targets=(key, output)").targets == ("key", "output")
