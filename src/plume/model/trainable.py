"""Trainable: what the training loop asks of a network, whether it learns from text alone or from labels."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.heads.head import Loss
from plume.model.memory import States


class Trainable(nn.Module):
    """A network with losses. What a checkpoint keeps of it, what it carries from step to step beside its weights, and what it does between
    two steps, it says itself."""

    memories: dict[int, States]  # what streams of text left behind, by stream; they belong to a run and not to the model

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The parameters that belong to the model, by name: these are trained, saved and loaded. A teacher's are not among them."""
        return self.named_parameters()

    def aside(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Those that are trained with the model and do not belong to it, such as a map from its states to a teacher's: only checkpoints keep them."""
        return iter(())

    def pace(self, name: str) -> float:
        """At how many times the run's learning rate the parameter of this name learns."""
        return 1.0

    def carried(self) -> dict[str, Tensor]:
        """What a run needs beside the weights to go on as if it had not stopped: the streams' memories, or a queue of negatives. Each process
        has its own, of the same names and shapes; it is saved with every checkpoint."""
        return {f"{stream}.{number:03d}": layer for stream, layers in sorted(self.memories.items()) for number, layer in enumerate(layers)}

    def carry_on(self, carried: dict[str, Tensor]) -> None:
        """Take up what `carried` gave."""
        self.memories = {}
        for name in sorted(carried):
            stream, _, _ = name.partition(".")
            self.memories.setdefault(int(stream), []).append(carried[name])

    def before_step(self, progress: float) -> None:
        """Called before each step with the share of the run that is done: the place to weigh one loss against another, and to draw what
        all processes are to draw alike."""

    def after_step(self, steps: int) -> None:
        """Called when so many steps of the run are done, after the weights have moved: the place to refresh an index, or move a teacher."""

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


def trained_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """All that a run moves: what a trainable keeps, and what it has aside."""
    return kept_parameters(model) | (dict(model.aside()) if isinstance(model, Trainable) else {})


def kept_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Those that a trainable keeps; of any other module all."""
    return dict(model.kept() if isinstance(model, Trainable) else model.named_parameters())
