"""Looking inside a stack, and switching its heads off, from outside: whatever runs it meanwhile need not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor

from plume.nn.attention import Attended, Sight

if TYPE_CHECKING:
    from plume.nn.stack import Stack

Factors = Tensor | Sequence[Tensor]


@dataclass(kw_only=True)
class Watch:
    """Gates are factors of what heads give, a layer's [H], or [B, H]; looks are kept in lists that were given for them."""

    gates: Factors | None = None
    across_gates: Factors | None = None  # of a decoder's look at its source
    looks: list[Attended] | None = None
    across_looks: list[Attended] | None = None

    def over(self, sight: Sight) -> Sight:
        """The sight of a pass through the stack, with all this."""
        across = sight.across
        if across is not None:
            across = replace(across, head_mask=_both(across.head_mask, self.across_gates), looks=self.across_looks)
        return replace(sight, head_mask=_both(sight.head_mask, self.gates), looks=self.looks, across=across)


def _both(one: Factors | None, other: Factors | None) -> Factors | None:
    return other if one is None else one if other is None else [a * b for a, b in zip(one, other, strict=True)]


@contextmanager
def watched(*pairs: tuple[Stack, Watch]) -> Iterator[None]:
    """Within the block these stacks are watched so."""
    with ExitStack() as after:
        for stack, watch in pairs:
            after.callback(setattr, stack, "watch", stack.watch)
            stack.watch = watch
        yield
