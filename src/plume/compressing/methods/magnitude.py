"""Magnitude: heads and feed-forward neurons with the smallest weights are taken out, which needs no data to judge by.

Structured, because single weights that are nought make nothing faster on a CPU, and nothing smaller that is stored dense: at a tenth of the weights
MNLI is 78.3 of 84.5 (arXiv:2005.07683 §6), at the old speed. Whole heads and neurons make smaller matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.job import CompressionJob
from plume.compressing.pruning.magnitude import magnitudes
from plume.compressing.pruning.method import Pruning
from plume.compressing.shrinking.tuned import network_of
from plume.model.gating import GatedUnit, Gates
from plume.model.use.language_model import LanguageModel
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class MagnitudePruning(Pruning):
    """By the sum of |w| over all weights that belong to a head or a neuron alone."""

    def stay(self, job: CompressionJob, model: TunedModel | LanguageModel, unit: GatedUnit) -> Gates:
        network = network_of(model)
        return self.best(network, unit, lambda unit, _: magnitudes(network, unit))


METHOD = MagnitudePruning()
