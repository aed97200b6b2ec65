"""Low-rank changes to frozen matrices learn (LoRA, arXiv:2106.09685)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from plume.nn.low_rank import LowRank, add_low_rank, merge_low_rank
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body, module
from plume.tuning.adapting.ways.full import FullTuning


@dataclass(frozen=True, kw_only=True)
class LowRankAdapters(Adaptation):
    """A saved model that is opened again has them folded into its matrices: the same numbers, without the detour."""

    adapters: LowRank = LowRank()

    rate_factor: ClassVar[float] = 10.0
    exports: ClassVar[bool] = True
    elsewhere: ClassVar[Mapping[str, str]] = {"adapters": "Low-rank changes have a rank in --mode adapters; this is --mode {mode}."}

    def prepare(self, body: Body) -> None:
        add_low_rank(module(body), self.adapters)

    def plain(self, body: Body) -> Body:
        body = copy.deepcopy(body)
        merge_low_rank(module(body))
        return body

    def loaded(self, body: Body) -> Adaptation:
        """What is saved again is a whole model."""
        merge_low_rank(module(body))
        return FullTuning(dropout=self.dropout, pooling=self.pooling)


WAY = LowRankAdapters()
