"""Token masking (BART, arXiv:1910.13461 §2.2): tokens show a mask, and the whole text is written as it was.

Always the mask, as the paper says; fairseq's --mask-random shows a random token one time in ten: corrupt=Mask(mask=0.9, random=0.1)."""

from __future__ import annotations

from plume.heads.head import Head
from plume.noise.corrupt import Corrupt, Mask
from plume.noise.rearrange import InOrder
from plume.noise.select import Select, Tokens
from plume.objectives._objective import Objective
from plume.objectives.denoising import HEAD, denoising


def token_masking(
    *, select: Select = Tokens(), corrupt: Corrupt = Mask(mask=1.0, random=0.0), head: Head = HEAD, weight: float = 1.0
) -> Objective:
    """The text as it was, from one with masks (BART, arXiv:1910.13461 §2.2)."""
    return denoising(rearrange=InOrder(), select=select, corrupt=corrupt, head=head, weight=weight, name="token_masking")
