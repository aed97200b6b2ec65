"""Only biases learn (BitFit, arXiv:2106.10199)."""

from dataclasses import dataclass
from typing import ClassVar

from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body


@dataclass(frozen=True, kw_only=True)
class BitFit(Adaptation):
    least: int = 0  # biases of fewer numbers do not learn

    rate_factor: ClassVar[float] = 10.0
    exports: ClassVar[bool] = True

    def prepare(self, body: Body) -> None:
        for name, parameter in body.named_parameters():
            if not name.endswith("bias") or parameter.numel() < self.least:
                parameter.requires_grad_(False)


WAY = BitFit()
