"""The two records that cross the boundary between data and network. B batch, T time, D width."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

# numpy on the data side, torch in the network. As a union of the two, each use of what only one of them has would be an error of types (132
# of them in 37 files); as a type parameter it would stand in every signature between. So it stays open.
Array = Any


class Order(enum.StrEnum):
    """Who may look at whom. FULL and CAUSAL are the two rank patterns with a fast path; RANKED reads `Batch.rank`."""

    FULL = "full"
    CAUSAL = "causal"
    REVERSED = "reversed"  # right to left; the data side writes it as rank
    PREFIX = "prefix"  # segment 0 sees itself, segment 1 reads left to right after it (UniLM); written as rank
    RANKED = "ranked"


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a head must predict: `value[i]` at position `index[i]` of the flattened rows."""

    index: Array  # [N] into B*T
    value: Array  # [N]
    slot: Array | None = None  # [N] into B*M: the same positions among those that the batch says are `read`
    whole: bool = False  # every position is asked about, in order: nothing to pick
    context: Array | None = None  # [N, K] other positions that the head reads, like `index` or, where there is one, like `slot` (span ends)
    feature: Array | None = None  # [N] what else the head is told of each (the place inside a span)
    links: Array | None = None  # [G, N, N] 1 where, of a group's rows in `context`, the first points at the second

    def map(self, change: Callable[[Array], Array]) -> Target:
        """The same target with `change` applied to each array."""
        arrays = {name: value for name, value in vars(self).items() if name != "whole" and value is not None}
        return replace(self, **{name: change(value) for name, value in arrays.items()})


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a network reads, and what its heads must predict of it."""

    tokens: Array  # [B, T]
    length: Array | None = None  # [B] tokens before the padding; None: no row is padded
    order: Order = Order.FULL
    rank: Array | None = None  # [B, T] a query sees the keys of rank <= its own; only for RANKED
    until: Array | None = None  # [B, T] and of these only keys whose `until` is above its own rank (MPNet's mask copies); None: all
    document: Array | None = None  # [B, T] and only those of its own document; None: one document a row
    position: Array | None = None  # [B, T]; None: 0, 1, 2 …
    within: Array | None = None  # [B, T] GLM's second position, inside a span; None: all 0
    segment: Array | None = None  # [B, T]; None: all 0
    read: Array | None = None  # [B, M] the positions that heads read; None: all. The last block computes only these
    query: Array | None = None  # [B, M] the tokens that a query stream shows at the positions read; None: it shows nothing
    labels: dict[str, Target] = field(default_factory=dict)  # by objective
    source: Batch | None = None  # what the encoder reads, where this is a decoder's batch
    backward: Array | None = None  # [B] rows whose tokens stand in the reversed order of the text (ELMo's second direction); None: none
    named: dict[str, Array] = field(default_factory=dict)  # [B, T] by name, what the corpus carries beside its tokens; -1: nothing
    extra: Array | None = None  # [U, E] vectors of ids behind the vocabulary, put there by a network: soft prompts, entities
    unseen: Array | None = None  # [U, C] characters of words that the vocabulary lacks; their ids follow its last
    foreign: Array | None = None  # [B] so many cached keys, the first ones, are not the row's own: a longer row stands beside it
    stream: int | None = None  # these rows go on where the last batch of the same stream ended: there is memory to use
    begins: bool = False  # … but not here: the stream starts anew

    def map(self, change: Callable[[Array], Array]) -> Batch:
        """The same batch with `change` applied to each array (to torch, to a device)."""
        changed: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "labels":
                value = {name: target.map(change) for name, target in value.items()}
            elif item.name == "named":
                value = {name: change(array) for name, array in value.items()}
            elif item.name == "source":
                value = None if value is None else value.map(change)
            elif value is not None and item.name not in ("order", "stream", "begins"):
                value = change(value)
            changed[item.name] = value
        return replace(self, **changed)


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """What a network hands to the heads."""

    last: Array  # [B, T or M, D]
    source: Batch | None = None  # what the encoder read, where this is a decoder's
    read: Array | None = None  # [B, S, D] and what it made of it, for heads that copy
    state: tuple[Any, ...] = ()  # of each layer of a recurrent encoder, after its last token
    layers: tuple[Array, ...] = ()  # embedding output and each block's, kept on demand
    attention: tuple[Array, ...] = ()  # [B, H, T, T] a block's probabilities of its self-attention, kept on demand
    cross_attention: tuple[Array, ...] = ()  # [B, H, T, S] a decoder block's, of its look at the source
    named: dict[str, Array] = field(default_factory=dict)  # what modules between the blocks left for the heads
