"""Fewer heads, fewer neurons: those that stay, by place and layer. A network without some is the same as one in which they are switched off."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.assembly import EncoderDecoder
from plume.model.gating import AttentionPlace, GatedUnit, gated_places
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.stack import Sharing, Stack, Transformer

Kept = Mapping[AttentionPlace, Sequence[Sequence[int]]]  # of each layer, as the model counts them now


def refuse_misfit(model: Model, unit: GatedUnit) -> None:
    """Of a network without blocks, or whose blocks are one, nothing can be taken out block by block."""
    name = model.recipe.name
    if not isinstance(getattr(model, "stack", None), Stack):
        raise PlumeError(f"{name} is a recurrent network: it has no attention heads and no feed-forward networks to prune.")
    shared = Sharing.ATTENTION if unit is GatedUnit.HEAD else Sharing.FEED_FORWARD
    if model.recipe.sharing in (Sharing.ALL, shared):
        what = "attention" if unit is GatedUnit.HEAD else "feed-forward network"
        raise PlumeError(f"All blocks of {name} share one {what}, so no block can lose a {unit.value} of its own.")


def with_units(model: Model, unit: GatedUnit, kept: Kept) -> Model:
    """A network of these heads, or of these neurons."""
    refuse_misfit(model, unit)
    made = copy.deepcopy(model)
    for place, stack in gated_places(made, unit).items():
        for layer, stay in enumerate(kept[place]):
            _keep(made, stack, unit, place, layer, stay)
    _declare(made, unit, kept)
    return made.eval()


def _keep(model: Model, stack: Stack, unit: GatedUnit, place: AttentionPlace, layer: int, stay: Sequence[int]) -> None:
    block = stack.block(layer)
    if unit is GatedUnit.NEURON:
        block.feed_forward.prune(_others(stay, block.feed_forward.neurons))
        return
    attention = block.across if place is AttentionPlace.CROSS else block.attention
    assert attention is not None, "a place that looks across has something to look with"
    gone = _others(stay, attention.heads)
    if not gone:
        return
    attention.prune(gone)
    if place is not AttentionPlace.CROSS:
        embedding = (
            model.decoder_embedding if place is AttentionPlace.DECODER and isinstance(model, EncoderDecoderModel) else model.embedding
        )
        embedding.position.prune(layer, gone)


def _others(stay: Sequence[int], count: int) -> list[int]:
    kept = set(stay)
    return [number for number in range(count) if number not in kept]


def _declare(model: Model, unit: GatedUnit, kept: Kept) -> None:
    """The recipe says what is gone, and so do the stacks."""
    recipe = model.recipe
    network, assembly = recipe.transformer, recipe.assembly
    own = AttentionPlace.ENCODER if AttentionPlace.ENCODER in kept else AttentionPlace.SELF
    if unit is GatedUnit.HEAD:
        network = replace(network, pruned=_gone(network.heads, network.pruned, kept[own]))
    else:
        network = replace(network, inner=tuple(len(stay) for stay in kept[own]))
    if isinstance(assembly, EncoderDecoder):
        if unit is GatedUnit.HEAD:
            gone = {
                name: _gone(network.heads, getattr(assembly, name), kept[place])
                for name, place in (("pruned", AttentionPlace.DECODER), ("pruned_across", AttentionPlace.CROSS))
            }
            assembly = replace(assembly, **gone)
        else:
            assembly = replace(assembly, inner=tuple(len(stay) for stay in kept[AttentionPlace.DECODER]))
    model.recipe = _plain(replace(recipe, network=network, assembly=assembly))
    model.stack.part = model.recipe.transformer
    if isinstance(model, EncoderDecoderModel) and isinstance(model.recipe.assembly, EncoderDecoder):
        model.decoder.part = model.recipe.assembly.decoder(model.recipe.transformer)


def _gone(heads: int, before: Sequence[Sequence[int]], kept: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Heads without these, as the whole network counts them.

    >>> _gone(4, ((1,), ()), [[0, 2], [0, 1, 2, 3]])
    ((1, 2), ())
    """
    found = []
    for layer, stay in enumerate(kept):
        there = _others(before[layer] if before else (), heads)
        found.append(tuple(_others([there[head] for head in stay], heads)))
    return tuple(found) if any(found) else ()


def _plain(recipe: Recipe) -> Recipe:
    """Widths that are all the same are one number, as every other program knows it; where no second network takes after it."""
    network: Transformer = recipe.transformer
    if recipe.assembly.generates or recipe.assembly.decodes or len(set(network.inner)) != 1:
        return recipe
    return replace(recipe, network=replace(network, feed_forward=network.inner[0], inner=()))
