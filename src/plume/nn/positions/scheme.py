"""What a position scheme may do. Each hook does nothing by default; a scheme overrides the ones its paper uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from plume.core.part import Part

if TYPE_CHECKING:
    from plume.nn.attention import Sight


class PositionModule(nn.Module):
    """The network side of a scheme. `layer` is the block that asks; what is the same for all blocks belongs in `sight.shared`."""

    changes_values: ClassVar[bool] = False  # at_values needs the probabilities written out: no fused kernel

    def prepare(self, sight: Sight) -> None:
        """Fill `sight.shared`, before the first block: one that is recomputed for its gradient must find it as it was."""

    def at_input(self, position: Tensor, within: Tensor | None) -> Tensor | None:
        """[B or 1, T, E] to add to the token embeddings; `within` is a second position inside a span (GLM)."""
        return None

    def at_query_key(self, query: Tensor, key: Tensor, *, sight: Sight, layer: int) -> tuple[Tensor, Tensor]:
        """Queries and keys [B, H, T, D/H] changed before their product; a cached key has been through here already.

        The keys are the last ones of `sight.key_position`.
        """
        return query, key

    def at_scores(self, query: Tensor, *, sight: Sight, layer: int) -> Tensor | None:
        """[B or 1, H, Tq, Tk] to add to the scaled scores; `query` is as it was before at_query_key."""
        return None

    def at_values(self, probability: Tensor, *, sight: Sight, layer: int) -> Tensor | None:
        """[B, H, Tq, D/H] to add to the mixed values; `probability` is [B, H, Tq, Tk]."""
        return None

    def prune(self, layer: int, heads: Sequence[int]) -> None:
        """These heads of a block are taken out for good; a scheme that has something for each head forgets theirs."""

    def flops(self, *, rows: int, queries: int, keys: int, before: int = 0) -> int:
        """Of this scheme's own matrix products in one block's forward pass; `before` keys stand before all queries."""
        return 0

    def fixed_flops(self, *, rows: int, queries: int, keys: int, before: int = 0) -> int:
        """Those of them with a side that learns nothing: their backward pass costs them once, not twice."""
        return 0

    def initialise(self, spread: float) -> None:
        """First values of parameters that are neither linear layers nor embeddings."""


@dataclass(frozen=True, kw_only=True)
class PositionScheme(Part):
    """Declares a scheme; `longest` is the longest input it can place (None: any)."""

    per_head: ClassVar[bool] = False  # it has something for each head, so that networks which share it have as many
    mirrors: ClassVar[bool] = False  # places may run down as well as up: rows may be read backwards
    longest: int | None = 512

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if self.longest is not None and recipe.training.length > self.longest:
            yield f"rows of {recipe.training.length} tokens, but positions only up to {self.longest}."
        if self.per_head and recipe.assembly.generates:
            yield f"{type(self).__name__} positions belong to heads, and do not fit a generator with other heads."

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        """`width` is the embedding's; `causal` says that no query of this stack looks ahead (T5 then buckets one side only)."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NoPositions(PositionScheme):
    """Order is not told."""

    longest: int | None = None

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return PositionModule()
