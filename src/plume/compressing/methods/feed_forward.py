"""Feed-forward neurons, by the same gradient importance as heads (TextPruner, arXiv:2203.15996): blocks end with widths of their own."""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.pruning.method import GradientPruning
from plume.model.gating import GatedUnit


@dataclass(frozen=True, kw_only=True)
class NeuronPruning(GradientPruning):
    """Of an encoder–decoder, neurons of both."""

    units: tuple[GatedUnit, ...] = (GatedUnit.NEURON,)


METHOD = NeuronPruning()
