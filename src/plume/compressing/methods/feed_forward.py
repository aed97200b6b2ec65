"""Feed-forward (TextPruner, arXiv:2203.15996): neurons are taken out by the same importance as heads; blocks end with widths of their own."""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.pruning.method import GradientPruning
from plume.model.gating import GatedUnit


@dataclass(frozen=True, kw_only=True)
class NeuronPruning(GradientPruning):
    """Of an encoder–decoder, neurons of both."""

    units: tuple[GatedUnit, ...] = (GatedUnit.NEURON,)


METHOD = NeuronPruning()
