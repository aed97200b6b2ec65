"""The network itself, in its own precision."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.model.networks.model import Model
from plume.text.tokenizer import Tokenizer


class TorchRuntime:
    """`Model.encode`, without gradients."""

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self.model = model

    @torch.inference_mode()
    def layers(self, batch: Batch, *, last_only: bool) -> Sequence[Tensor]:
        """[B, T, D] each: the last layer alone, or all from the embedding on."""
        encoded = self.model.encode(batch, keep_layers=not last_only)
        return encoded.layers or (encoded.last,)


RUNTIME = TorchRuntime
