"""BERT-flow: a small normalising flow that maps sentence vectors to a standard Gaussian (arXiv:2011.05864)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.vectors.transform import Floats, Transform, VectorRows


@dataclass(frozen=True, kw_only=True)
class Flow(Transform):
    """Glow over the pooled vector, learned by maximum likelihood in one pass over the text; the model stays as it is.

    Steps are actnorm, a fixed reversal of the dimensions, additive coupling; after each level but the last half of the dimensions is done.
    """

    learns: ClassVar[tuple[str, ...]] = ("step0.scale",)  # and all other parameters, by their names
    levels: int = 3
    steps: int = 3  # a level
    hidden: int = 32  # of the net that couples
    rate: float = 1e-3
    batch: int = 64
    epochs: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.levels, self.steps, self.hidden, self.batch, self.epochs) < 1:
            raise PlumeError("A flow needs at least one level, step, hidden unit, epoch and vector a batch.")

    def _learned(self, rows: VectorRows) -> dict[str, NDArray[Any]]:
        from plume.vectors.glow import learn

        if rows.width < 2**self.levels:
            raise PlumeError(f"Vectors of {rows.width} dimensions are too narrow for a flow of {self.levels} levels.")
        return learn(self, rows)

    def _applied(self, rows: Floats) -> NDArray[Any]:
        from plume.vectors.glow import run

        return run(self, rows)
