"""The two records that cross the boundary between data and network. B batch, T time, D width."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

Array = Any  # numpy on the data side, torch in the network


class Order(enum.StrEnum):
    """Who may look at whom. FULL and CAUSAL are the two rank patterns with a fast path; RANKED reads `Batch.rank`."""

    FULL = "full"
    CAUSAL = "causal"
    RANKED = "ranked"


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a head must predict: `value[i]` at position `index[i]` of the flattened rows."""

    index: Array  # [N] into B*T
    value: Array  # [N]
    slot: Array | None = None  # [N] into B*M: the same positions among those that the batch says are `read`
    whole: bool = False  # every position is asked about, in order: nothing to pick

    def map(self, change: Callable[[Array], Array]) -> Target:
        return Target(
            index=change(self.index), value=change(self.value), slot=None if self.slot is None else change(self.slot), whole=self.whole
        )


@dataclass(frozen=True, kw_only=True)
class Batch:
    tokens: Array  # [B, T]
    length: Array | None = None  # [B] tokens before the padding; None: no row is padded
    order: Order = Order.FULL
    rank: Array | None = None  # [B, T] a query sees the keys of rank <= its own; only for RANKED
    document: Array | None = None  # [B, T] and only those of its own document; None: one document a row
    position: Array | None = None  # [B, T]; None: 0, 1, 2 …
    segment: Array | None = None  # [B, T]; None: all 0
    read: Array | None = None  # [B, M] the positions that heads read; None: all. The last block computes only these
    labels: dict[str, Target] = field(default_factory=dict)  # by objective

    def map(self, change: Callable[[Array], Array]) -> Batch:
        """The same batch with `change` applied to each array (to torch, to a device)."""
        changed: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "labels":
                value = {name: target.map(change) for name, target in value.items()}
            elif value is not None and item.name != "order":
                value = change(value)
            changed[item.name] = value
        return replace(self, **changed)


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """What a network hands to the heads."""

    last: Array  # [B, T or M, D]
    layers: tuple[Array, ...] = ()  # embedding output and each block's, kept on demand
    attention: tuple[Array, ...] = ()  # [B, H, T, T] a block, kept on demand
