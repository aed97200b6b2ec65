"""Entity-level masking (ERNIE, arXiv:1904.09223 §3.2.3): an entity is hidden whole, and words where there is none."""

from __future__ import annotations

from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.select import NGrams
from plume.noise.words import Unit
from plume.objectives._objective import Objective
from plume.objectives.masked_lm import masked_lm


def entity_masking(
    *, head: Head = TokenPrediction(), head_of: str | None = None, during: tuple[float, float] = (0.0, 1.0), weight: float = 1.0
) -> Objective:
    """Entities hidden whole (ERNIE, arXiv:1904.09223 §3.2.3)."""
    hidden = masked_lm(select=NGrams(longest=1, unit=Unit.ENTITY), head=head, weight=weight)
    return replace(hidden, name="entity_masking", paper="arXiv:1904.09223", head_of=head_of, during=during)
