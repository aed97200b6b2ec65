"""What a position scheme may do. Each hook does nothing by default; a scheme overrides the ones its paper uses."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from plume.core.part import Part


class PositionModule(nn.Module):
    """The network side of a scheme."""

    def at_input(self, position: Tensor) -> Tensor | None:
        """[B or 1, T, E] to add to the token embeddings."""
        return None

    def at_query_key(self, query: Tensor, key: Tensor, query_position: Tensor, key_position: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys [B, H, T, D/H] changed before their product; a cached key has been through here already."""
        return query, key

    def at_scores(self, query: Tensor, query_position: Tensor, key_position: Tensor) -> Tensor | None:
        """[B or 1, H, Tq, Tk] to add to the scores; `query` is as it was before at_query_key."""
        return None


@dataclass(frozen=True, kw_only=True)
class PositionScheme(Part):
    """Declares a scheme; `longest` is the longest input it can place (None: any)."""

    longest: int | None = 512

    def build(self, *, width: int, head_width: int) -> PositionModule:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NoPositions(PositionScheme):
    """Order is not told."""

    longest: int | None = None

    def build(self, *, width: int, head_width: int) -> PositionModule:
        return PositionModule()
