"""Document rotation (BART, arXiv:1910.13461 §2.2): the text begins at a random token and goes on from its start; it is written as it was."""

from __future__ import annotations

from plume.heads.head import Head
from plume.noise.corrupt import Keep
from plume.noise.rearrange import RotatedDocument
from plume.noise.select import Nothing
from plume.objectives._objective import Objective
from plume.objectives.denoising import HEAD, denoising


def document_rotation(*, head: Head = HEAD, weight: float = 1.0) -> Objective:
    """The text as it was, from one that begins at a random token (BART, arXiv:1910.13461 §2.2)."""
    return denoising(rearrange=RotatedDocument(), select=Nothing(), corrupt=Keep(), head=head, weight=weight, name="document_rotation")
