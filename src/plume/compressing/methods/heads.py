"""Heads (arXiv:1905.10650): attention heads whose gates the loss feels least are taken out, in rounds; then the model learns its task again."""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.pruning.method import GradientPruning
from plume.model.gating import GatedUnit


@dataclass(frozen=True, kw_only=True)
class HeadPruning(GradientPruning):
    """Of an encoder–decoder, heads of both and of the looks across."""

    units: tuple[GatedUnit, ...] = (GatedUnit.HEAD,)


METHOD = HeadPruning()
