"""Which stacks there are to watch in a model, and heads of them switched off."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from plume.nn.attention import Attended
from plume.nn.stack import Stack
from plume.nn.watching import Watch, watched
from plume.view.recording.subject import Subject


class AttentionPlace(enum.StrEnum):
    """Where attention is: the only stack's own, an encoder's, a decoder's own, and its look across; two streams share their heads."""

    SELF = "self"
    QUERIES = "queries"
    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


Gates = Mapping[AttentionPlace, Sequence[Tensor]]  # a layer's factors: [H], or [B, H] with others in each row


def gated_places(subject: Subject) -> dict[AttentionPlace, Stack]:
    """Those with heads of their own."""
    stacks = subject.stacks
    if len(stacks) == 1:
        return {AttentionPlace.SELF: stacks[0]}
    return {AttentionPlace.ENCODER: stacks[0], AttentionPlace.DECODER: stacks[1], AttentionPlace.CROSS: stacks[1]}


def heads_of(stack: Stack, place: AttentionPlace) -> list[int]:
    """How many there are in each layer; some may have been pruned."""
    blocks = [stack.block(layer) for layer in range(stack.part.depth)]
    found = [block.across if place is AttentionPlace.CROSS else block.attention for block in blocks]
    return [one.heads for one in found if one is not None]


def without(subject: Subject, place: AttentionPlace, layer: int, head: int) -> Gates:
    """All heads but one."""
    stack = gated_places(subject)[place]
    like = next(stack.parameters())
    gates = [torch.ones(count, device=like.device, dtype=like.dtype) for count in heads_of(stack, place)]
    gates[layer][head] = 0.0
    return {place: gates}


@contextmanager
def gated(subject: Subject, gates: Gates, looks: Mapping[AttentionPlace, list[Attended]] | None = None) -> Iterator[None]:
    """Within the block the model runs with these gates; what it looks at is appended to the lists of `looks`."""
    kept = looks or {}
    first, *rest = subject.stacks
    own = AttentionPlace.ENCODER if rest else AttentionPlace.SELF
    pairs = [(first, Watch(gates=gates.get(own), looks=kept.get(own)))]
    for decoder in rest:
        pairs.append(
            (
                decoder,
                Watch(
                    gates=gates.get(AttentionPlace.DECODER),
                    across_gates=gates.get(AttentionPlace.CROSS),
                    looks=kept.get(AttentionPlace.DECODER),
                    across_looks=kept.get(AttentionPlace.CROSS),
                ),
            )
        )
    with watched(*pairs):
        yield
