"""The body of a model: what the token vectors run through."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Network(Part):
    """A stack of blocks (`Transformer`) or of recurrent layers (`Recurrent`)."""

    width: int
    depth: int

    @property
    def output_width(self) -> int:
        """Of the states that heads read."""
        return self.width
