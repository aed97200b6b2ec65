"""A module that is handed what a knowledge base says: nothing of it is learned, and it may be exchanged without training."""

from __future__ import annotations

from torch import nn

from plume.core.knowledge import Knowledge


class Knowing(nn.Module):
    """What `Model.know` finds, wherever in the network it is. It keeps what it reads in buffers that are not saved with the weights."""

    def know(self, knowledge: Knowledge) -> None:
        """Take from it what this module reads."""
        raise NotImplementedError
