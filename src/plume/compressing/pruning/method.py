"""Pruning: heads and neurons go by what they score, in rounds; what is left is a smaller network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from plume.compressing.job import CompressionJob
from plume.compressing.pruning.choosing import chosen, kept_of, normalised, wanted
from plume.compressing.pruning.text_loss import TextLoss
from plume.compressing.shrinking.method import Shrinking
from plume.compressing.shrinking.tuned import network_of
from plume.compressing.shrinking.units import refuse_misfit, with_units
from plume.core.errors import PlumeError
from plume.model.gating import AttentionPlace, GatedUnit, Gates, open_gates, units_of
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel
from plume.tuning.preparing import prepare
from plume.tuning.task_loss import TaskLoss
from plume.tuning.tuned import TunedModel

Scores = Callable[[GatedUnit, Gates], dict[AttentionPlace, list[Tensor]]]


@dataclass(frozen=True, kw_only=True)
class Pruning(Shrinking):
    """Base. What stays is the best of all layers together, so that layers end with unlike numbers, at least one each; with `even` all lose the
    same share, which other programs can read."""

    keep: float = 0.5  # share that stays
    normalise: bool = False  # scores by the length of each layer's
    even: bool = False
    units: tuple[GatedUnit, ...] = (GatedUnit.HEAD, GatedUnit.NEURON)

    def body(self, job: CompressionJob, model: TunedModel | LanguageModel) -> Model:
        made = network_of(model)
        self.refuse(made)
        kept = {unit: kept_of(self.stay(job, model, unit)) for unit in self.units}
        for unit in self.units:
            made = with_units(made, unit, kept[unit])
        return made

    def refuse(self, network: Model) -> None:
        """What cannot be pruned, and what would leave nothing."""
        if not self.units:
            raise PlumeError("Name what is pruned: units=('head', 'neuron'), or one of them.")
        for unit in self.units:
            refuse_misfit(network, unit)
            wanted(units_of(network, unit), self.keep, unit)

    def stay(self, job: CompressionJob, model: TunedModel | LanguageModel, unit: GatedUnit) -> Gates:
        """Gates that are open for what stays."""
        raise NotImplementedError

    def best(self, network: Model, unit: GatedUnit, scores: Scores, rounds: int = 1) -> Gates:
        """Take out as many each round, by scores that are taken without those that went before."""
        counts = units_of(network, unit)
        total, last = sum(sum(place) for place in counts.values()), wanted(counts, self.keep, unit)
        masks: Gates = open_gates(network, unit)
        for number in range(1, rounds + 1):
            found = scores(unit, masks)
            count = total - (total - last) * number // rounds
            masks = chosen(normalised(found) if self.normalise else found, masks, count, even=self.even)
        return masks


@dataclass(frozen=True, kw_only=True)
class GradientPruning(Pruning):
    """By Σ|∂L/∂ξ|, ξ a gate behind each head or neuron: of a tuned model the loss of its task on labelled rows, else that of pre-training on text.
    The more rounds the better (TextPruner at half size: 85.2 in one, 90.9 in sixteen)."""

    rounds: int = 4
    examples: int = 512  # at most, of the training rows

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.examples < 1:
            raise PlumeError(f"Pruning takes at least one round and one example, not {self.rounds} and {self.examples}.")

    def reads_text(self, *, tuned: bool) -> bool:
        return not tuned  # what matters to a task is told by its labelled rows

    def stay(self, job: CompressionJob, model: TunedModel | LanguageModel, unit: GatedUnit) -> Gates:
        return self.best(network_of(model), unit, self._scores(job, model), self.rounds)

    def _scores(self, job: CompressionJob, model: TunedModel | LanguageModel) -> Scores:
        if isinstance(model, TunedModel):
            return _task_scores(job, model, self.examples)
        if not job.settings.text:
            raise PlumeError(
                f"{job.source} is not tuned for a task, so its {self.name} are judged by the loss it was pre-trained on: give --text FILE."
            )
        made = job.settings
        return TextLoss(model, made.text, rows=self.examples, folder=job.source, seed=made.seed, quiet=job.quiet).importance


def _task_scores(job: CompressionJob, model: TunedModel, most: int) -> Scores:
    """Of all its tasks together."""
    losses = []
    for one in job.need_data():
        train = prepare(one, known=True, seed=job.settings.split).train
        few = train if len(train) <= most else [train[round(place)] for place in np.linspace(0, len(train) - 1, most)]
        losses.append(TaskLoss(model, model.task(one.task.called), few))

    def scores(unit: GatedUnit, masks: Gates) -> dict[AttentionPlace, list[Tensor]]:
        found = [loss.importance(unit, masks) for loss in losses]
        return {place: [torch.stack(layer).sum(0) for layer in zip(*(one[place] for one in found), strict=True)] for place in masks}

    return scores
