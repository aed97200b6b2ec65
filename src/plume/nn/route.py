"""The way of a pass through a stack: all of its blocks, some of them (LayerDrop), or some of another's instead (BERT-of-Theseus)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.utils.checkpoint import checkpoint

from plume.nn.attention import Sight
from plume.nn.block import Block, BlockCache, pick
from plume.nn.positions.scheme import PositionModule
from plume.nn.watching import having

if TYPE_CHECKING:
    from plume.nn.stack import Stack


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A place on the way. What is told layer by layer (positions, memory, cache) is that of `layer`."""

    layer: int
    block: Block | None  # None: passed by, its input is its output
    positions: PositionModule | None = None  # of the stack that the block belongs to, where that is another


Route = Sequence[Stop]


def narrowing(route: Route, *, all_kept: bool) -> int | None:
    """At which stop only the positions that are read are computed: the last block that runs. Where the layers after it are looked at as well, it must
    be the last stop. None: they are picked at the end."""
    run = [number for number, stop in enumerate(route) if stop.block is not None]
    last = run[-1] if run else None
    return last if not all_kept or last == len(route) - 1 else None


@dataclass(frozen=True, kw_only=True)
class Passing:
    """What all blocks of a pass are told, as `Stack.forward` has it."""

    sight: Sight
    seen: int | None = None
    memory: Sequence[Tensor] | None = None
    cache: list[BlockCache] | None = None

    def through(self, stop: Stop, block: Block, value: Tensor, *, read: Tensor | None = None, again: bool = False) -> Tensor:
        """What a block makes of the states: of all, or at the positions `read`. `again`: it is computed once more for its gradient."""
        content = value if self.seen is None else value[:, : self.seen]
        asking = None if self.seen is None else value
        sight = self.sight
        if stop.positions is not None:
            sight = replace(sight, positions=stop.positions, shared={})
            sight.positions.prepare(sight)
        if read is not None:
            asking, sight = pick(value, read), narrowed(sight, read, content.shape[1])
            sight.positions.prepare(sight)
        given: dict[str, Any] = {
            "sight": sight,
            "layer": stop.layer,
            "asking": asking,
            "memory": None if self.memory is None else self.memory[stop.layer],
            "cache": None if self.cache is None else self.cache[stop.layer],
        }
        made: Tensor = checkpoint(block, content, **given, use_reentrant=False) if again else block(content, **given)
        return made


def narrowed(sight: Sight, read: Tensor, length: int) -> Sight:
    """Who sees whom where only the positions `read` look."""
    rows = read.shape[0]  # which a trace does not take for constant, as it does len
    position = sight.query_position.expand(rows, -1).gather(1, read)
    segment = None if sight.query_segment is None else sight.query_segment.expand(rows, -1).gather(1, read)
    # What a scheme shared was made for all queries.
    return replace(sight, mask=sight.mask.rows(read, length), query_position=position, query_segment=segment, in_order=False, shared={})


def routed(*pairs: tuple[Stack, Route]) -> AbstractContextManager[None]:
    """Within the block these stacks are passed so."""
    return having("route", pairs)
