"""Gates on the heads and neurons of a model: factors by which they are switched off, and by whose gradient is known what they matter."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.networks.model import Model
from plume.nn.attention import Attended
from plume.nn.stack import Stack
from plume.nn.watching import Watch, watched


class AttentionPlace(enum.StrEnum):
    """Where attention is: the only stack's own, an encoder's, a decoder's own, and its look across; two streams share their heads."""

    SELF = "self"
    QUERIES = "queries"
    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


class GatedUnit(enum.StrEnum):
    """What a gate stands behind: a head of an attention, or a neuron inside a feed-forward network."""

    HEAD = "head"
    NEURON = "neuron"


Gates = Mapping[AttentionPlace, Sequence[Tensor]]  # a layer's factors: [H], or [B, H] with others in each row
Examples = Iterable[tuple[Batch, Sequence[int]]]  # batches, and how many rows each example of them has


def stacks_of(model: Model) -> list[Stack]:
    """The encoder's or the only one; and a decoder's."""
    return [model.stack, model.decoder] if isinstance(model, EncoderDecoderModel) else [model.stack]


def gated_places(model: Model, unit: GatedUnit = GatedUnit.HEAD) -> dict[AttentionPlace, Stack]:
    """Those with heads, or neurons, of their own."""
    stacks = stacks_of(model)
    if len(stacks) == 1:
        return {AttentionPlace.SELF: stacks[0]}
    both = {AttentionPlace.ENCODER: stacks[0], AttentionPlace.DECODER: stacks[1]}
    return both if unit is GatedUnit.NEURON else both | {AttentionPlace.CROSS: stacks[1]}


def heads_of(stack: Stack, place: AttentionPlace) -> list[int]:
    """How many there are in each layer; some may have been pruned."""
    blocks = [stack.block(layer) for layer in range(stack.part.depth)]
    found = [block.across if place is AttentionPlace.CROSS else block.attention for block in blocks]
    return [one.heads for one in found if one is not None]


def units_of(model: Model, unit: GatedUnit) -> dict[AttentionPlace, list[int]]:
    """How many heads or neurons there are, by place and layer."""
    if unit is GatedUnit.HEAD:
        return {place: heads_of(stack, place) for place, stack in gated_places(model).items()}
    return {
        place: [stack.block(layer).feed_forward.neurons for layer in range(stack.part.depth)]
        for place, stack in gated_places(model, unit).items()
    }


def open_gates(model: Model, unit: GatedUnit = GatedUnit.HEAD) -> dict[AttentionPlace, list[Tensor]]:
    """All ones."""
    like = next(model.parameters())
    return {
        place: [torch.ones(count, device=like.device, dtype=like.dtype) for count in counts]
        for place, counts in units_of(model, unit).items()
    }


def without(model: Model, place: AttentionPlace, layer: int, head: int) -> Gates:
    """All heads but one."""
    gates = open_gates(model)[place]
    gates[layer][head] = 0.0
    return {place: gates}


Looks = Mapping[AttentionPlace, list[Attended]]


def watches(model: Model, gates: Gates, looks: Looks | None = None, *, neurons: Gates | None = None) -> list[tuple[Stack, Watch]]:
    """What each stack of the model is watched by, with these gates of heads and of neurons."""
    kept, inner = looks or {}, neurons or {}
    first, *rest = stacks_of(model)
    own, decoder, cross = AttentionPlace.ENCODER if rest else AttentionPlace.SELF, AttentionPlace.DECODER, AttentionPlace.CROSS
    made = [(first, Watch(gates=gates.get(own), inner_gates=inner.get(own), looks=kept.get(own)))]
    for stack in rest:
        watch = Watch(
            gates=gates.get(decoder), across_gates=gates.get(cross), inner_gates=inner.get(decoder), looks=kept.get(decoder),
            across_looks=kept.get(cross),
        )  # fmt: skip
        made.append((stack, watch))
    return made


@contextmanager
def gated(model: Model, gates: Gates, looks: Looks | None = None, *, neurons: Gates | None = None) -> Iterator[None]:
    """Within the block the model runs with these gates, of heads and of neurons; what it looks at is appended to the lists of `looks`."""
    with watched(*watches(model, gates, looks, neurons=neurons)):
        yield


def importance(
    model: Model, examples: Examples, loss: Callable[[Batch], Tensor], *, unit: GatedUnit = GatedUnit.HEAD, masks: Gates | None = None
) -> dict[AttentionPlace, list[Tensor]]:
    """Of each head (or neuron) the sum of |dL(x)/dξ| over examples, ξ its gate (Michel et al., arXiv:1905.10650 §4.1). There is a gate for each
    row: one backward pass gives those of all its examples. `masks`: with some switched off already."""
    masks = masks or open_gates(model, unit)
    sums = {place: [torch.zeros(len(one), dtype=torch.float64) for one in layers] for place, layers in masks.items()}
    for batch, sizes in examples:
        rows = sum(sizes)
        gates = {place: [one.repeat(rows, 1).requires_grad_() for one in layers] for place, layers in masks.items()}
        with (
            torch.enable_grad(),
            gated(model, gates if unit is GatedUnit.HEAD else {}, neurons=gates if unit is GatedUnit.NEURON else None),
        ):
            total = loss(batch)
        flat = [gate for layers in gates.values() for gate in layers]
        slopes = iter(torch.autograd.grad(total, flat, allow_unused=True))
        for place, layers in gates.items():
            for layer, gate in enumerate(layers):
                slope = next(slopes)
                parts = torch.split(torch.zeros_like(gate) if slope is None else slope, list(sizes))
                sums[place][layer] += torch.stack([one.sum(0).abs() for one in parts]).sum(0).double().cpu()
    return sums
