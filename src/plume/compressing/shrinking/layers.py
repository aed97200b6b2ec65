"""Fewer blocks: some of a network's, in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.assembly import EncoderDecoder
from plume.model.checkpoint import state_of
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.networks.model import Model
from plume.model.recipe import Recipe

_NUMBERED = re.compile(
    r"^((decoder|stack|generator|retriever)\.blocks|(decoder_)?embedding\.position\.\w+)\.(\d+)(\..*)?$"
)  # a block's, or what positions learn for it
_BY_BLOCK = ("pruned", "pruned_across", "inner")  # fields that tell something of each block


def every_kth(depth: int, kept: int) -> list[int]:
    """So many of them, evenly spread, the first among them.

    >>> every_kth(12, 6), every_kth(6, 3), every_kth(6, 4)
    ([0, 2, 4, 6, 8, 10], [0, 2, 4], [0, 2, 3, 4])
    """
    if not 1 <= kept <= depth:
        raise PlumeError(f"Of {depth} layers at least one and at most all can stay, not {kept}.")
    return [number * depth // kept if depth % kept == 0 else round(number * depth / kept) for number in range(kept)]


@torch.no_grad()
def with_layers(model: Model, kept: Sequence[int], *, decoder: Sequence[int] | None = None) -> Model:
    """A network of these blocks, and of these of its decoder, if it has one (None: the same, or as many where it is of another depth).

    Where all blocks share their weights the network is not smaller, but faster.
    """
    recipe, written = recipe_with(model, kept, decoder=decoder)
    made = recipe.assembly.build(recipe, vocabulary=model.vocabulary).to(next(model.parameters()))
    made.inherit(model)
    source = dict(model.named_parameters(remove_duplicate=False))  # shared ones by all of their names
    there = Counter(found[1] for name in source if (found := _NUMBERED.match(name)) and found[5] is None)  # biases: one, or one a block
    for name, parameter in state_of(made).items():
        found = _NUMBERED.match(name)
        origin = name
        if found is not None and there[found[1]] != 1:
            numbers = written if name.startswith("decoder") else kept
            origin = f"{found[1]}.{numbers[int(found[4])]}{found[5] or ''}"
        parameter.copy_(source[origin] if origin in source else source[name])  # what all blocks share has one name
    return made.eval()


def recipe_with(model: Model, kept: Sequence[int], *, decoder: Sequence[int] | None = None) -> tuple[Recipe, Sequence[int]]:
    """The recipe of such a network, and which blocks of the decoder are left."""
    _refuse_unknown(kept, model.recipe.transformer.depth)
    written: Sequence[int] = ()
    if isinstance(model, EncoderDecoderModel):
        written = decoder if decoder is not None else like(kept, model)
        _refuse_unknown(written, model.decoder.part.depth)
    elif decoder is not None:
        raise PlumeError(f"{model.recipe.name} has no decoder to take layers out of.")
    return _with_depth(model.recipe, kept, written), written


def like(kept: Sequence[int], model: EncoderDecoderModel) -> Sequence[int]:
    """Which layers of the decoder stay where these of the encoder do."""
    depth, written = model.recipe.transformer.depth, model.decoder.part.depth
    return kept if written == depth else every_kth(written, max(1, round(len(kept) * written / depth)))


def _refuse_unknown(kept: Sequence[int], depth: int) -> None:
    if any(not 0 <= number < depth for number in kept) or not kept or list(kept) != sorted(set(kept)):
        raise PlumeError(f"Layers 0 to {depth - 1} can stay, each once and in their order, not {', '.join(map(str, kept)) or 'none'}.")


def _with_depth(recipe: Recipe, kept: Sequence[int], written: Sequence[int]) -> Recipe:
    """The recipe of so many layers. None is dropped in training any more: those that can go are gone."""
    made = recipe.transformer.with_blocks(kept)
    assembly = recipe.assembly
    if isinstance(assembly, EncoderDecoder):
        depth = None if len(written) == len(kept) else len(written)
        assembly = replace(assembly, depth=depth, **_chosen(assembly, written))
    return replace(recipe, network=made, assembly=assembly)


def _chosen(part: Any, kept: Sequence[int]) -> dict[str, Any]:
    told = {name: getattr(part, name) for name in _BY_BLOCK}
    return {name: tuple(value[number] for number in kept) if value else () for name, value in told.items()}
