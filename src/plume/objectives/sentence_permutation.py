"""Sentence permutation (BART, arXiv:1910.13461 §2.2): the sentences stand in random order, and the text is written as it was."""

from __future__ import annotations

from plume.heads.head import Head
from plume.noise.corrupt import Keep
from plume.noise.rearrange import PermutedSentences
from plume.noise.select import Nothing
from plume.objectives._objective import Objective
from plume.objectives.denoising import HEAD, denoising


def sentence_permutation(*, head: Head = HEAD, weight: float = 1.0) -> Objective:
    """The text as it was, from its sentences in random order (BART, arXiv:1910.13461 §2.2)."""
    return denoising(rearrange=PermutedSentences(), select=Nothing(), corrupt=Keep(), head=head, weight=weight, name="sentence_permutation")
