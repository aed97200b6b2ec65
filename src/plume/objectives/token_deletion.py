"""Token deletion (BART, arXiv:1910.13461 §2.2): tokens vanish, and the text is written as it was."""

from __future__ import annotations

from plume.heads.head import Head
from plume.noise.infilling import Delete
from plume.noise.rearrange import InOrder
from plume.noise.select import Select, Tokens
from plume.objectives._objective import Objective
from plume.objectives.denoising import HEAD, denoising


def token_deletion(*, select: Select = Tokens(), head: Head = HEAD, weight: float = 1.0) -> Objective:
    """The text as it was, from one without some of its tokens (BART, arXiv:1910.13461 §2.2)."""
    return denoising(rearrange=InOrder(), select=select, corrupt=Delete(), head=head, weight=weight, name="token_deletion")
