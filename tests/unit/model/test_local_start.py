"""Small networks with learned positions begin by looking at their neighbours; the published sizes begin as published."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.part import replace
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.positions.learned import Learned
from plume.recipes import _catalog as catalog

TIME = 48


def begun(recipe: Recipe) -> Model:
    model = recipe.assembly.build(recipe, vocabulary=200)
    model.initialise(0)
    return model.eval()


@torch.no_grad()
def by_distance(model: Model) -> Tensor:
    """[depth, TIME] how much attention goes so far to the left, a key, averaged over rows, heads and queries."""
    tokens = torch.randint(5, 200, (8, TIME), generator=torch.Generator().manual_seed(1))
    maps = model.encode(Batch(tokens=tokens), record_attention=True).attention
    return torch.stack([torch.stack([one.diagonal(-far, 2, 3).mean() for far in range(TIME)]) for one in maps])


# ALBERT's mini widens its embedding by a projection, ELECTRA's discriminator shares one with a narrower generator, BART reads and writes.
@pytest.mark.parametrize("name", ["bert/tiny", "roberta/small", "albert/mini", "electra/mini", "bart/tiny", "xlm/tiny"])
def test_attention_begins_at_the_neighbours(name: str) -> None:
    recipe = catalog.recipe(name)
    assert isinstance(recipe, Recipe) and isinstance(recipe.positions, Learned)
    near = by_distance(begun(recipe))
    assert (near[:, 1] > 1.5 / TIME).all() and (near[:, 1] > 3 * near[:, 20:].mean(1)).all()
    assert (near[:, :4].diff(dim=1) < 0).all(), "the nearer the more"
    random = by_distance(begun(replace(recipe, positions=replace(recipe.positions, local=False))))
    assert (random[:, 1:] - 1 / TIME).abs().max() < 0.5 / TIME


def test_tokens_do_not_change_where_a_new_network_looks() -> None:
    model = begun(catalog.recipe("bert/tiny"))  # type: ignore[arg-type]
    maps = [model.encode(Batch(tokens=torch.full((1, TIME), token)), record_attention=True).attention[0] for token in (7, 91)]
    assert (maps[0] - maps[1]).abs().max() < 0.1 and maps[0].max() > 0.15


def test_a_generator_looks_near_too() -> None:
    model = begun(catalog.recipe("electra/tiny"))  # type: ignore[arg-type]
    attention = model.generator.blocks[0].attention  # type: ignore[attr-defined,union-attr,index]
    product = attention.query.weight.T @ attention.key.weight
    assert (product.diagonal()[:8] > 5 * product.diagonal()[8:].abs().mean()).all()


def test_narrow_heads_have_no_room_for_it() -> None:
    recipe = catalog.recipe("bert/tiny")
    assert isinstance(recipe, Recipe)
    narrow = replace(recipe, network=replace(recipe.transformer, heads=32))
    table = begun(narrow).embedding.position.table.weight  # type: ignore[union-attr]
    assert float(table.detach().std()) == pytest.approx(recipe.transformer.initial_range, rel=0.05)


def test_published_sizes_begin_at_random() -> None:
    for family in ("bert", "roberta", "albert", "electra", "gpt2", "bart"):
        for size, recipe in catalog.declarations(family).items():
            assert isinstance(recipe, Recipe) and isinstance(recipe.positions, Learned)
            assert (recipe.positions.local) == (size in ("tiny", "mini", "small") and recipe.transformer.dropout == 0), (family, size)
