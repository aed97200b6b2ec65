"""Translation language modelling (XLM, arXiv:1901.07291 §3.3): masked LM on a sentence and its translation side by side."""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.pairs import Translations
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.objectives._objective import Objective
from plume.objectives.masked_lm import masked_lm


def translation_lm(*, head: Head = TokenPrediction(), head_of: str | None = None, weight: float = 1.0) -> Objective:
    """Masked LM on a sentence and its translation side by side (XLM, arXiv:1901.07291 §3.3)."""
    hidden = masked_lm(head=head, weight=weight)
    return replace(hidden, name="translation_lm", paper="arXiv:1901.07291", layout=Translations(), head_of=head_of)
