"""Every family of blocks: without some of its layers it computes what a pass computes that leaves them out, in whatever it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch

from plume.compressing.shrinking.layers import every_kth, with_layers
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.networks.model import Model
from plume.nn.route import Stop, routed
from plume.nn.stack import Stack
from plume.recipes import _catalog as catalog

DEPTH = 3
RECURRENT = {name for name in catalog.networks() if catalog.recipe(f"{name}/tiny").recurrent}
FAMILIES = [name for name in catalog.networks() if name not in RECURRENT]


def without(model: Model, dropped: Sequence[int]) -> AbstractContextManager[None]:
    """Passes through all of its stacks leave these blocks out."""
    stacks = [part for part in model.modules() if isinstance(part, Stack)]
    routes = [[Stop(layer=i, block=None if i in dropped else stack.block(i)) for i in range(stack.part.depth)] for stack in stacks]
    return routed(*zip(stacks, routes, strict=True))


@pytest.mark.parametrize("dropped", [(1,), (0,), (1, 2)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_pass_that_leaves_layers_out_is_one_of_a_network_without_them(
    family: str, dropped: tuple[int, ...], miniature: Any, built: Any, kinds_of: Any, tokenizer_for: Any, batch_of: Any, on_cpu: Any
) -> None:
    recipe = miniature(family, depth=DEPTH)
    whole = built(recipe, vocabulary=tokenizer_for(recipe).size).eval()
    kept = [layer for layer in range(DEPTH) if layer not in dropped]
    if any(one.after > kept[-1] for one in recipe.transformer.between):
        with pytest.raises(PlumeError, match="nothing would read what it makes"):
            with_layers(whole, kept)
        return
    small = with_layers(whole, kept)
    small.spell(tokenizer_for(recipe).tokens())
    for _, reader in kinds_of(recipe):
        for step in range(1 if recipe.memory is None else 2):  # the second goes on from what the first remembered
            batch = on_cpu(batch_of(reader, step))
            with without(whole, dropped):
                assert whole.flops(batch) == small.flops(batch)
                losses, slope = gradient(whole, batch)
            theirs, other = gradient(small, batch)
            assert losses.keys() == theirs.keys()
            assert all(torch.allclose(losses[name], theirs[name], rtol=1e-12, atol=0) for name in losses)
            assert torch.allclose(slope, other, rtol=1e-9, atol=1e-14)


def gradient(model: Model, batch: Any) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """All losses, and what token vectors would learn from them."""
    torch.manual_seed(0)  # ELECTRA samples
    losses = {name: loss.total for name, loss in model.losses(batch).items()}
    (slope,) = torch.autograd.grad(torch.stack(list(losses.values())).sum(), [model.embedding.token.weight])
    return losses, slope


@pytest.mark.parametrize("family", FAMILIES)
def test_all_layers_are_the_network(family: str, miniature: Any, built: Any) -> None:
    whole = built(miniature(family, depth=DEPTH))
    same = with_layers(whole, range(DEPTH))
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), same.parameters(), strict=True))
    assert same.recipe == whole.recipe


@pytest.mark.parametrize("family", sorted(RECURRENT))
def test_recurrent_networks_have_no_blocks(family: str, miniature: Any) -> None:
    recipe = miniature(family)
    with pytest.raises(PlumeError, match="is no Transformer"):
        with_layers(recipe.assembly.build(recipe, vocabulary=60), [0])


def test_a_decoder_of_another_depth_keeps_its_share(miniature: Any, built: Any) -> None:
    recipe = miniature("bart", depth=4)
    deep = built(replace(recipe, assembly=replace(recipe.assembly, depth=2)))
    small = with_layers(deep, [1, 3])
    assert (small.stack.part.depth, small.decoder.part.depth) == (2, 1)
    only = with_layers(deep, range(4), decoder=[1])
    assert (only.stack.part.depth, only.decoder.part.depth) == (4, 1)
    assert torch.equal(only.decoder.blocks[0].across.query.weight, deep.decoder.blocks[1].across.query.weight)
    with pytest.raises(PlumeError, match="has no decoder"):
        with_layers(built(miniature("bert", depth=4)), [0], decoder=[0])


def test_what_blocks_were_pruned_of_goes_with_them(miniature: Any, built: Any) -> None:
    recipe = miniature("bert", depth=DEPTH)
    recipe = replace(recipe, network=replace(recipe.transformer, pruned=((0,), (), (1, 2)), inner=(20, 30, 40), layer_drop=0.2))
    small = with_layers(built(recipe), [0, 2])
    assert (small.recipe.transformer.pruned, small.recipe.transformer.inner) == (((0,), (1, 2)), (20, 40))
    assert small.recipe.transformer.layer_drop == 0, "the layers that could go are gone"


@pytest.mark.parametrize("kept", [(), (0, 3), (1, 0), (1, 1), (-1,)], ids=str)
def test_layers_that_cannot_stay(kept: tuple[int, ...], miniature: Any, built: Any) -> None:
    with pytest.raises(PlumeError, match="Layers 0 to 2 can stay, each once and in their order"):
        with_layers(built(miniature("bert", depth=DEPTH)), kept)


@pytest.mark.parametrize(("depth", "kept"), [(12, 6), (12, 5), (7, 3), (3, 3), (6, 1)])
def test_layers_are_spread_evenly(depth: int, kept: int) -> None:
    chosen = every_kth(depth, kept)
    assert len(set(chosen)) == kept and chosen[0] == 0 and max(chosen) < depth
