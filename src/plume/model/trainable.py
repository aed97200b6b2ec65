"""Trainable: what the training loop asks of a network, whether it learns from text alone or from labels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.heads.head import Loss
from plume.model.networks.memory import States


class Trainable(nn.Module):
    memories: dict[int, States]  # what streams of text left behind, by stream; they belong to a run and not to the model

    def counts(self, batch: Batch) -> dict[str, int]:
        """How many predictions each loss is a sum of; known before the network runs."""
        raise NotImplementedError

    def flops(self, batch: Batch) -> int:
        """Of one training step on the batch: its matrix products forward, and twice that backward. One rule for every family."""
        raise NotImplementedError

    def losses(self, batch: Batch) -> dict[str, Loss]:
        """One for each name that the batch has labels for."""
        raise NotImplementedError

    def forward(self, batch: Batch, scale: dict[str, Tensor]) -> tuple[Tensor, dict[str, Loss]]:
        """The weighted sum that training follows: each summed loss times its scale (weight over the global count).

        Measuring gives no scales and takes the losses; it comes this way too, because sharded parameters are gathered here.
        """
        losses = self.losses(batch)
        weighted = [loss.total * scale[name] for name, loss in losses.items() if name in scale]
        return torch.stack(weighted).sum() if weighted else torch.zeros(()), losses
