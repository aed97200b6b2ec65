"""The loss of a tuned model on examples whose answers are known, and what its heads and neurons matter for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.batching import TOKENS
from plume.model.gating import AttentionPlace, GatedUnit, Gates, gated, importance
from plume.model.networks.model import Model
from plume.readers.example import Example
from plume.train.device import to_device
from plume.tuning.adapting.body import network
from plume.tuning.rows.questions import inference_batches
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel

_LEARNING = 2048  # tokens of a batch whose gradient is taken: all that is computed is kept for it


class TaskLoss:
    """Of one task."""

    def __init__(self, tuned: TunedModel, task: Task, examples: Sequence[Example]) -> None:
        self.tuned, self.task = tuned, task
        self.questions, _ = task.questions(examples, tuned.coder())

    @property
    def body(self) -> Model:
        """The network whose heads they are."""
        return network(self.tuned.model.body, f"{self.tuned.model.body.recipe.name} has no attention heads.")

    @torch.inference_mode()
    def mean(self, gates: Gates | None = None) -> float:
        """Of an example, with these gates on its heads."""
        with gated(self.body, gates or {}):
            return sum(float(self._loss(batch)) for batch, _ in self._batches()) / len(self.questions)

    def importance(self, unit: GatedUnit = GatedUnit.HEAD, masks: Gates | None = None) -> dict[AttentionPlace, list[Tensor]]:
        """Of each head or neuron |dL/dξ|, in the mean over examples."""
        model = self.tuned.model
        frozen, model.frozen = model.frozen, False  # gates lie in the body, also where it did not learn
        try:
            sums = importance(self.body, self._batches(_LEARNING), self._loss, unit=unit, masks=masks)
        finally:
            model.frozen = frozen
        return {place: [one / len(self.questions) for one in layers] for place, layers in sums.items()}

    def _batches(self, tokens: int = TOKENS) -> Iterator[tuple[Batch, list[int]]]:
        """With how many rows each example has."""
        for index in inference_batches(self.questions, tokens=tokens):
            batch = to_device(self.tuned.finish(self.questions.batch(index), self.questions), self.tuned.device)
            yield batch, [int(one) for one in np.diff(self.questions.groups)[index]]

    def _loss(self, batch: Batch) -> Tensor:
        (loss,) = self.tuned.model.losses(batch).values()
        return loss.total
