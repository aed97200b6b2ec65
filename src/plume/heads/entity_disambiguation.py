"""Entity disambiguation: which of the things that a name may mean it means here (KnowBERT, arXiv:1909.04164 §3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.heads.head import Dims, Head, HeadModule, Loss, precise
from plume.nn.knowledge.recontextualisation import MEANINGS, PLACES, SCORES


@dataclass(frozen=True, kw_only=True)
class EntityDisambiguation(Head):
    """The scores of the linker between the blocks, by a softmax over a name's candidates (WordNet; eq. 4), or by a `margin` on both sides of 0
    (Wikipedia; eq. 5)."""

    of_tokens: ClassVar[bool] = False

    margin: float | None = None

    def __post_init__(self) -> None:
        if self.margin is not None and not self.margin > 0:
            raise PlumeError(f"EntityDisambiguation(margin={self.margin}): give a number above 0, or none for a softmax.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if not any("candidates" in one.reads_arrays for one in getattr(recipe.network, "between", ())):
            yield f"{name} learns from the scores of a linker, and the network has none; set network.between=(KnowledgeAttention(after=10),)."

    def build(self, dims: Dims) -> EntityDisambiguationModule:
        return EntityDisambiguationModule(self)


class EntityDisambiguationModule(HeadModule):
    """It has no weights: all of them are the linker's. A meaning that is not among the candidates is a wrong answer, and teaches nothing."""

    reads_between: ClassVar[bool] = True

    def __init__(self, part: EntityDisambiguation) -> None:
        super().__init__()
        self.part = part

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        if not len(target.value):
            return Loss(total=encoded.last.sum() * 0, count=0, correct=torch.zeros((), dtype=torch.long, device=encoded.last.device))
        scores, meanings = asked_names(encoded, target)
        gold = meanings == target.value[:, None]
        known = gold.any(1)
        right = gold.gather(1, scores.detach().argmax(1, keepdim=True)).sum()
        return Loss(total=self._total(scores[known], gold[known], meanings[known] >= 0), count=len(target.value), correct=right)

    def _total(self, scores: Tensor, gold: Tensor, there: Tensor) -> Tensor:
        if self.part.margin is None:
            # Two candidates may be the same entity; either is right.
            return -scores.log_softmax(1).masked_fill(~gold, float("-inf")).logsumexp(1).sum()
        wrong = torch.where(there & ~gold, F.relu(self.part.margin + scores.masked_fill(~there, 0.0)), 0.0)
        return wrong.sum() + torch.where(gold, F.relu(self.part.margin - scores.masked_fill(~there, 0.0)), 0.0).sum()


def asked_names(encoded: Encoded, target: Target) -> tuple[Tensor, Tensor]:
    """[N, C] the scores and the candidates of the names that the target asks about."""
    places = encoded.named[PLACES]
    at = torch.searchsorted(places, target.index).clamp(max=len(places) - 1)
    return precise(encoded.named[SCORES][at]), encoded.named[MEANINGS][at]
