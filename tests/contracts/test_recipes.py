"""What every family that the catalog lists must do. A new recipe joins by being there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.data.layout import Layout, Plan
from plume.data.loader import Cursor
from plume.model.checkpoint import load_model, save_model, state_of
from plume.model.model import Model
from plume.model.recipe import Recipe
from plume.nn.stack import Sharing
from plume.nn.visibility import ranks, visible
from plume.objectives._objective import Answers
from plume.recipes import _catalog as catalog
from plume.train.optimiser import make_optimiser

FAMILIES = catalog.families()
SIZES = [f"{family}/{size}" for family in FAMILIES for size in catalog.sizes(family)]
every_family = pytest.mark.parametrize("family", FAMILIES)

# Of the transformers classes that hold the same heads, tied weights counted once; ELECTRA's is discriminator plus generator
# without the embeddings that they share.
PARAMETERS = {
    "bert/base": 110_106_428,
    "bert/large": 336_226_108,
    "bert-wwm/base": 110_106_428,
    "roberta-wwm/base": 109_514_298,
    "roberta/base": 124_697_433,
    "roberta/large": 355_412_057,
    "albert/base": 11_813_810,
    "albert/large": 17_847_474,
    "albert/xlarge": 59_021_490,
    "albert/xxlarge": 223_158_450,
    "gpt/base": 116_534_784,
    "gpt2/base": 124_439_808,
    "gpt2/medium": 354_823_168,
    "gpt2/large": 774_030_080,
    "gpt2/xl": 1_557_611_200,
    "electra/base": 119_386_427,
    "electra/small-paper": 14_196_219,
    "electra/large": 354_655_291,
}


@pytest.mark.parametrize("name", SIZES)
def test_every_size_builds_and_has_the_published_number_of_parameters(name: str) -> None:
    found = catalog.parameters(catalog.recipe(name))
    assert found == PARAMETERS.get(name, found)
    assert found > 100_000


@pytest.mark.parametrize("name", SIZES)
def test_a_recipe_survives_json(name: str) -> None:
    recipe = catalog.recipe(name)
    assert part_from_json(recipe.to_json()) == recipe
    assert (recipe.name, recipe.size) == tuple(name.split("/"))


@every_family
def test_small_sizes_change_numbers_only(family: str) -> None:
    base, tiny = catalog.recipe(family), catalog.recipe(f"{family}/tiny")
    assert type(base.layout) is type(tiny.layout)
    assert [objective.to_json() for objective in base.objectives] == [objective.to_json() for objective in tiny.objectives]
    assert (base.network.norm, base.network.activation, base.sharing, base.format) == (
        tiny.network.norm, tiny.network.activation, tiny.sharing, tiny.format,
    )  # fmt: skip


def scales(model: Model, batch: Batch) -> dict[str, torch.Tensor]:
    weight = {objective.name: objective.weight for objective in model.recipe.objectives}
    return {name: torch.tensor(weight[name] / max(count, 1)) for name, count in model.counts(batch).items()}


def total(model: Model, batch: Batch) -> torch.Tensor:
    return model(batch, scales(model, batch))[0]


@dataclass(frozen=True, kw_only=True)
class FirstRows(Layout):
    """The first rows that another layout plans, the same in every epoch."""

    of: Layout
    rows: int = 4

    @property
    def texts(self) -> int:
        return self.of.texts

    @property
    def wrapped(self) -> bool:
        return self.of.wrapped

    def plan(self, store: Any, *, room: int, generator: np.random.Generator) -> Plan:
        plan = self.of.plan(store, room=room, generator=np.random.default_rng(0))
        return Plan(start=plan.start[: self.rows], end=plan.end[: self.rows], label=None if plan.label is None else plan.label[: self.rows])


@every_family
def test_overfits_a_few_sentences(family: str, miniature: Any, reader_for: Any, on_cpu: Any) -> None:
    """Masks are drawn anew each time, so that what is learned is the text."""
    recipe = miniature(family, width=64, rows=4)
    reader = replace(reader_for(recipe), layout=FirstRows(of=recipe.layout))
    model = recipe.assembly.build(recipe, vocabulary=reader.tokenizer.size).train()
    model.initialise(0)
    optimiser = make_optimiser(model, replace(recipe.training, peak=4e-3, decay=0.0))
    torch.manual_seed(0)
    history = []
    for step in itertools.islice(reader.batches(Cursor(), workers=0), 160):
        batch = on_cpu(step.batches[0])
        loss, losses = model(batch, scales(model, batch))
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        history.append({name: float(part.total.detach()) / int(part.count) for name, part in losses.items()})
    for objective in recipe.objectives:
        start, end = history[0][objective.name], sum(step[objective.name] for step in history[-10:]) / 10
        # A generator that has learned leaves few tokens to detect, so a detector's loss has no such floor.
        assert end < (0.6 if objective.answers is Answers.GENERATOR else 0.3) * start, objective.name


@every_family
def test_saves_and_loads_bit_equal(family: str, miniature: Any, reader_for: Any, on_cpu: Any, tmp_path: Path) -> None:
    recipe = miniature(family)
    reader = reader_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=reader.tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "model", model, reader.tokenizer)
    loaded, tokenizer = load_model(tmp_path / "model")
    assert loaded.recipe == recipe
    assert tokenizer.fingerprint == reader.tokenizer.fingerprint
    ours, theirs = state_of(model), state_of(loaded)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    batch = on_cpu(reader.batch(Cursor()))
    found = []
    for one in (model.eval(), loaded):
        torch.manual_seed(0)
        with torch.no_grad():
            found.append({name: float(loss.total) for name, loss in one.losses(batch).items()})
    assert found[0] == found[1]


@every_family
def test_a_pruned_model_saves_and_loads(family: str, miniature: Any, reader_for: Any, tmp_path: Path) -> None:
    whole = miniature(family)
    pruned = replace(whole, network=replace(whole.network, pruned=((0, 2), ())))
    tokenizer = reader_for(whole).tokenizer
    if whole.sharing is Sharing.ALL:
        with pytest.raises(PlumeError, match="share one attention"):
            pruned.assembly.build(pruned, vocabulary=tokenizer.size)
        return
    model = pruned.assembly.build(pruned, vocabulary=tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "model", model, tokenizer)
    loaded, _ = load_model(tmp_path / "model")
    assert loaded.recipe.network.pruned == ((0, 2), ())
    assert loaded.stack.block(0).attention.heads == 2
    assert all(torch.equal(value, state_of(loaded)[name]) for name, value in state_of(model).items())
    with torch.device("meta"):
        fewer = sum(p.numel() for p in whole.assembly.build(whole, vocabulary=9).parameters())
        fewer -= sum(p.numel() for p in pruned.assembly.build(pruned, vocabulary=9).parameters())
    width, head_width = whole.network.width, whole.network.head_width
    assert fewer == 2 * (3 * (width * head_width + head_width) + head_width * width)


@every_family
def test_starts_the_same_from_the_same_seed(family: str, miniature: Any) -> None:
    recipe = miniature(family)
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(states))  # the state around it must not matter
        model = recipe.assembly.build(recipe, vocabulary=60)
        model.initialise(seed)
        states.append(state_of(model))
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[0]["embedding.token.weight"], states[2]["embedding.token.weight"])


# Who sees whom

TIME, VOCABULARY = 7, 60


def sighted_batches(recipe: Recipe) -> list[Batch]:
    """The family's own order, and every other that the one stack must serve, with padding and documents."""
    tokens = torch.randint(5, VOCABULARY, (1, TIME), generator=torch.Generator().manual_seed(1))
    rank = torch.tensor([[3, 0, 0, 2, 1, 1, 4]])
    document = torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    length = torch.tensor([5])
    return [
        Batch(tokens=tokens, order=recipe.noise.order),
        Batch(tokens=tokens, order=recipe.noise.order, length=length),
        Batch(tokens=tokens, order=recipe.noise.order, document=document),
        Batch(tokens=tokens, order=Order.CAUSAL),
        Batch(tokens=tokens, order=Order.RANKED, rank=rank),
        Batch(tokens=tokens, order=Order.RANKED, rank=rank, length=length, document=document),
    ]


@every_family
@pytest.mark.parametrize("gradients", [True, False], ids=["training", "inference"])  # the plain and the fused path
def test_no_token_leaks(family: str, gradients: bool, miniature: Any, built: Any) -> None:
    """Change token j: the output at i changes iff i may see j."""
    recipe = miniature(family)
    model = built(recipe, vocabulary=VOCABULARY).eval()
    for batch in sighted_batches(recipe):
        many = changed_everywhere(batch)
        rank = ranks(batch)
        allowed = visible(query=rank, key=rank, query_document=batch.document, key_document=batch.document)[0]
        text = torch.arange(TIME) < (TIME if batch.length is None else int(batch.length))
        for encode in (model.encode, model.token_states):
            with torch.set_grad_enabled(gradients):
                states = encode(many).last.detach()
            moved = (states[1:] - states[:1]).abs().amax(-1) > 1e-12  # [j, i]
            assert torch.equal(moved.T[text], allowed[text]), f"{batch.order}, padded {batch.length is not None}"


def changed_everywhere(batch: Batch) -> Batch:
    """Row 0 as it is, row j + 1 with token j changed."""
    repeated = batch.map(lambda array: array.repeat(TIME + 1, *[1] * (array.ndim - 1)))
    tokens = repeated.tokens.clone()
    tokens[torch.arange(TIME) + 1, torch.arange(TIME)] = 59 - (tokens[0] == 59).long()
    return replace(repeated, tokens=tokens)


# Reading only what the heads need


@every_family
def test_reading_some_positions_changes_no_loss_and_no_gradient(
    family: str, miniature: Any, reader_for: Any, on_cpu: Any, built: Any
) -> None:
    recipe = miniature(family)
    readers = reader_for(recipe), reader_for(recipe, narrow=False)
    found = []
    for reader in readers:
        model = built(recipe, vocabulary=reader.tokenizer.size).train()
        batch = on_cpu(reader.batch(Cursor(step=1)))
        torch.manual_seed(1)
        loss, losses = model(batch, scales(model, batch))
        loss.backward()
        found.append((losses, [parameter.grad for parameter in model.parameters()], batch.read is not None))
    (narrow, narrow_gradients, reads), (whole, whole_gradients, _) = found
    assert reads == (recipe.noise.order is Order.FULL)
    for name in whole:
        assert float((narrow[name].total - whole[name].total).detach().abs()) < 1e-9
        assert int(narrow[name].count) == int(whole[name].count)
    for ours, theirs in zip(narrow_gradients, whole_gradients, strict=True):
        assert float((ours - theirs).abs().max()) < 1e-9


# FLOPs


@every_family
@pytest.mark.parametrize("narrow", [True, False], ids=["narrow", "whole"])
def test_flops_are_those_that_torch_counts(family: str, narrow: bool, miniature: Any, reader_for: Any, on_cpu: Any, built: Any) -> None:
    """Forward and backward, every product that ran, to the last one."""
    recipe = miniature(family)
    reader = reader_for(recipe, narrow=narrow)
    model = built(recipe, vocabulary=reader.tokenizer.size).train()
    batch = on_cpu(reader.batch(Cursor()))
    with FlopCounterMode(display=False) as counter:
        total(model, batch).backward()
    assert model.flops(batch) == counter.get_total_flops()


@every_family
def test_counts_are_known_before_the_network_runs(family: str, miniature: Any, reader_for: Any, on_cpu: Any, built: Any) -> None:
    recipe = miniature(family)
    reader = reader_for(recipe)
    batch = on_cpu(reader.batch(Cursor()))
    model = built(recipe, vocabulary=reader.tokenizer.size)
    assert model.counts(batch) == {name: int(loss.count) for name, loss in model.losses(batch).items()}


@every_family
def test_every_parameter_learns(family: str, miniature: Any, reader_for: Any, on_cpu: Any, built: Any) -> None:
    recipe = miniature(family)
    reader = reader_for(recipe)
    model = built(recipe, vocabulary=reader.tokenizer.size).train()
    total(model, on_cpu(reader.batch(Cursor()))).backward()
    still = [name for name, parameter in model.named_parameters() if parameter.grad is None or float(parameter.grad.abs().max()) == 0.0]
    # A bias of the keys moves all scores of a query alike, which the softmax does not notice.
    assert [name for name in still if not name.endswith("key.bias")] == []
