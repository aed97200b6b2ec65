"""The stretches of a run in which a student learns from different things."""

from __future__ import annotations

from collections.abc import Sequence

from plume.compressing.distilling.comparisons import DistilLoss


def stages_of(comparisons: Sequence[DistilLoss]) -> tuple[float, ...]:
    """Where the run changes what it learns from."""
    return tuple(sorted({bound for one in comparisons for bound in one.during}))
