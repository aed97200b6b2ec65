"""Looking inside a stack, and switching its heads and neurons off, from outside: whatever runs it meanwhile need not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor, nn

from plume.nn.attention import Attended, Sight

if TYPE_CHECKING:
    from plume.nn.stack import Stack

Factors = Tensor | Sequence[Tensor]


@dataclass(kw_only=True)
class Watch:
    """Gates are factors of what heads give, a layer's [H], or [B, H]; looks are kept in lists that were given for them."""

    gates: Factors | None = None
    across_gates: Factors | None = None  # of a decoder's look at its source
    inner_gates: Factors | None = None  # of what the neurons of the feed-forward networks give, a layer's [I], or [B, I]
    looks: list[Attended] | None = None
    layers: list[Tensor] | None = None  # what the embedding and each block made
    across_looks: list[Attended] | None = None

    def over(self, sight: Sight) -> Sight:
        """The sight of a pass through the stack, with all this."""
        across = sight.across
        if across is not None:
            across = replace(across, head_mask=_both(across.head_mask, self.across_gates), looks=self.across_looks)
        inner = _both(sight.inner_mask, self.inner_gates)
        return replace(sight, head_mask=_both(sight.head_mask, self.gates), inner_mask=inner, looks=self.looks, across=across)


def _both(one: Factors | None, other: Factors | None) -> Factors | None:
    return other if one is None else one if other is None else [a * b for a, b in zip(one, other, strict=True)]


def watched(*pairs: tuple[Stack, Watch]) -> AbstractContextManager[None]:
    """Within the block these stacks are watched so."""
    return having("watch", pairs)


@contextmanager
def having(attribute: str, pairs: Sequence[tuple[nn.Module, object]]) -> Iterator[None]:
    """Within the block each has this, and afterwards what it had before."""
    with ExitStack() as after:
        for stack, value in pairs:
            after.callback(setattr, stack, attribute, getattr(stack, attribute))
            setattr(stack, attribute, value)
        yield
