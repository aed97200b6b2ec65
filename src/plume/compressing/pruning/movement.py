"""Movement: while a model is tuned, heads and neurons whose weights move towards nought close one by one (Sanh et al., arXiv:2005.07683)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
import torch.distributed as dist
from torch import Tensor, nn

from plume.compressing.pruning.choosing import chosen, normalised
from plume.core.batch import Batch
from plume.core.part import Part
from plume.heads.head import Loss
from plume.model.gating import AttentionPlace, GatedUnit, Gates, open_gates, watches
from plume.model.networks.model import Model
from plume.model.trainable import Trainable
from plume.tuning.adapting.body import network
from plume.tuning.adapting.network import TaskModel
from plume.tuning.lesson import Lesson, Pupil
from plume.tuning.settings import TuneSettings
from plume.tuning.tune import by_answers


@dataclass(frozen=True, kw_only=True)
class Cubic(Part):
    """The paper's schedule: all stay until `begin` of the run is done, `keep` from `end` on; in between ever fewer, at first quickly.

    >>> [round(Cubic(keep=0.5).share(done), 3) for done in (0.0, 0.1, 0.4, 0.7, 1.0)]
    [1.0, 1.0, 0.562, 0.5, 0.5]
    """

    keep: float
    begin: float = 0.1
    end: float = 0.7

    def share(self, progress: float) -> float:
        """What stays when so much of the run is done."""
        left = 1 - min(max((progress - self.begin) / max(self.end - self.begin, 1e-9), 0.0), 1.0)
        return self.keep + (1 - self.keep) * left**3


@dataclass(frozen=True, kw_only=True)
class MovementSettings(TuneSettings):
    """Such a run, as run.json keeps it."""

    schedule: Cubic
    units: tuple[GatedUnit, ...]
    even: bool
    normalise: bool

    def lesson(self, pupil: Pupil) -> Lesson:
        return replace(by_answers(pupil, self), model=MovingModel(pupil.tuned.model, self))


class MovingModel(Trainable):
    """A score is −Σ w · ∂L/∂w over what a head or neuron writes with (its columns of the output projection), summed over steps: exactly the
    gradient of a gate behind it, with its sign turned. A closed gate has one too, so that it may open again (the paper's straight-through)."""

    def __init__(self, pupil: TaskModel, settings: MovementSettings) -> None:
        super().__init__()
        self.memories = {}
        self.pupil, self.settings = pupil, settings
        body = network(pupil.body, "Only heads and neurons of a network can be pruned.")
        self.gates = {unit: _learning(open_gates(body, unit)) for unit in settings.units}
        self.scores = {unit: {place: [torch.zeros_like(one) for one in layers] for place, layers in gates.items()}
                       for unit, gates in self.gates.items()}  # fmt: skip
        put_gates(body, self.gates)

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The gates are no part of the model: they are 1 or nought."""
        return self.pupil.kept()

    def carried(self) -> dict[str, Tensor]:
        return {name: score for name, score, _ in self._each()}

    def carry_on(self, carried: dict[str, Tensor]) -> None:
        for name, score, _ in self._each():
            score.copy_(carried[name])

    def before_step(self, progress: float) -> None:
        """Open the gates of those that score best, as many as the schedule says."""
        for unit, gates in self.gates.items():
            masks = still_open(self.scores[unit], self.settings, self.settings.schedule.share(progress))
            for place, layers in gates.items():
                for gate, mask in zip(layers, masks[place], strict=True):
                    gate.data.copy_(mask)

    @torch.no_grad()
    def after_step(self, steps: int) -> None:
        for _, score, gate in self._each():
            if gate.grad is not None:
                if dist.is_initialized():
                    dist.all_reduce(gate.grad)  # each process has its rows' share, scaled so that the mean counts
                    gate.grad /= dist.get_world_size()
                score -= gate.grad
                gate.grad = None

    def counts(self, batch: Batch) -> dict[str, int]:
        return self.pupil.counts(batch)

    def flops(self, batch: Batch) -> int:
        return self.pupil.flops(batch)

    def losses(self, batch: Batch) -> dict[str, Loss]:
        return self.pupil.losses(batch)

    def _each(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        for unit, places in self.gates.items():
            for place, layers in places.items():
                for layer, gate in enumerate(layers):
                    yield f"{unit.value}.{place.value}.{layer:03d}", self.scores[unit][place][layer], gate


def still_open(scores: Gates, settings: MovementSettings, share: float) -> dict[AttentionPlace, list[Tensor]]:
    """As many as the share says, at least one a layer."""
    everything = {place: [torch.ones_like(one) for one in layers] for place, layers in scores.items()}
    layers = [one for place in scores.values() for one in place]
    count = max(round(share * sum(len(one) for one in layers)), len(layers))
    return chosen(normalised(scores) if settings.normalise else scores, everything, count, even=settings.even)


def scores_of(carried: dict[str, Tensor], model: Model, unit: GatedUnit) -> dict[AttentionPlace, list[Tensor]]:
    """What a run has carried to its end."""
    return {
        place: [carried[f"{unit.value}.{place.value}.{layer:03d}"] for layer in range(len(layers))]
        for place, layers in open_gates(model, unit).items()
    }


def put_gates(model: Model, gates: dict[GatedUnit, dict[AttentionPlace, list[Tensor]]]) -> None:
    """From now on, also while it is measured."""
    for stack, watch in watches(model, gates.get(GatedUnit.HEAD, {}), neurons=gates.get(GatedUnit.NEURON)):
        stack.watch = watch


def _learning(gates: dict[AttentionPlace, list[Tensor]]) -> dict[AttentionPlace, list[Tensor]]:
    return {place: [one.requires_grad_() for one in layers] for place, layers in gates.items()}
