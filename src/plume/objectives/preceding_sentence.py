"""The preceding sentence (Skip-Thought, arXiv:1506.06726 §2): as the following one, by a decoder of its own; the output words are shared."""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.neighbours import Neighbours, NeighbourSide
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.objectives._objective import Objective
from plume.objectives.following_sentence import following_sentence


def preceding_sentence(
    *, head: Head = TokenPrediction(transform=False, tied=False), head_of: str | None = None, weight: float = 1.0
) -> Objective:
    """With `head_of="following_sentence"` it predicts with that objective's words."""
    following = following_sentence(head=head, weight=weight)
    return replace(following, name="preceding_sentence", layout=Neighbours(neighbour=NeighbourSide.PRECEDING), head_of=head_of)
