"""Text infilling (BART, arXiv:1910.13461 §2.2): spans of words leave one mask each, empty ones too; the text is written as it was."""

from __future__ import annotations

from plume.heads.head import Head
from plume.noise.infilling import OneMask
from plume.noise.rearrange import InOrder
from plume.noise.select import Select
from plume.noise.spans import PoissonSpans
from plume.objectives._objective import Objective
from plume.objectives.denoising import HEAD, denoising


def text_infilling(*, select: Select = PoissonSpans(), head: Head = HEAD, weight: float = 1.0) -> Objective:
    """The text as it was, from one with a mask for each span (BART, arXiv:1910.13461 §2.2)."""
    return denoising(rearrange=InOrder(), select=select, corrupt=OneMask(), head=head, weight=weight, name="text_infilling")
