"""Movement (arXiv:2005.07683): heads and feed-forward neurons whose weights move towards nought while the task is learned are taken out.

Structured: scores of single weights are summed over a head or neuron, and what is gone is gone from the matrices. The paper's single weights make
nothing faster on a CPU (MNLI 80.1 of 84.5 at a tenth of them). The first run closes gates; then what is left is made a network, which recovers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from plume.compressing.job import CompressionJob
from plume.compressing.pruning.choosing import kept_of
from plume.compressing.pruning.method import Pruning
from plume.compressing.pruning.movement import Cubic, MovementSettings, scores_of, still_open
from plume.compressing.recovering import finish_shrunk, plan_after, resume_recovery
from plume.compressing.shrinking.tuned import network_of, require_network, with_body
from plume.compressing.shrinking.units import with_units
from plume.core.errors import PlumeError
from plume.model.checkpoint import WEIGHTS, load_weights, read_weights
from plume.train.checkpoint import checkpoints, read_carried
from plume.train.settings import RUN
from plume.tuning.planning import PlannedTuning
from plume.tuning.tune import begin_planned, read_settings
from plume.tuning.tune import resume as resume_tuning
from plume.tuning.tuned import TunedModel

_MOVING = Path("train") / "moving"  # the run that closes gates
_NEVER = 1_000  # measurements without a better one before that run ends: it gets worse as it must


@dataclass(frozen=True, kw_only=True)
class MovementPruning(Pruning):
    """All stay until `begin` of the run is done, `keep` from `end` on."""

    begin: float = 0.1
    end: float = 0.7

    def __post_init__(self) -> None:
        if not 0 <= self.begin < self.end <= 1:
            raise PlumeError(f"Pruning begins and ends within the run: 0 <= begin < end <= 1, not {self.begin:g} and {self.end:g}.")

    @property
    def trains(self) -> bool:
        return True  # also where nothing is learned again afterwards

    def run(self, job: CompressionJob) -> str | None:
        model = require_network(job.source, self.name)
        if not isinstance(model, TunedModel):
            raise PlumeError(
                f"{job.source} is not tuned for a task, and movement is judged while one is learned: tune it first (plume tune)."
            )
        if model.model.frozen:
            raise PlumeError(f"{job.source} is frozen below its task (--mode {model.model.adaptation.mode}): none of its weights moves.")
        self.refuse(network_of(model))
        planned = self._planned(job, model)
        job.save()
        return self._after(job, begin_planned(planned, job.folder / _MOVING, quiet=job.quiet).outcome.stopped_by)

    def resume(self, job: CompressionJob) -> str | None:
        if (job.folder / RUN).exists():
            return resume_recovery(job)
        return self._after(job, resume_tuning(job.folder / _MOVING, quiet=job.quiet).outcome.stopped_by)

    def _planned(self, job: CompressionJob, model: TunedModel) -> PlannedTuning[MovementSettings]:
        schedule = Cubic(keep=self.keep, begin=self.begin, end=self.end)
        return plan_after(
            job, model, MovementSettings, model=job.source, patience=_NEVER, schedule=schedule, units=self.units, even=self.even,
            normalise=self.normalise,
        )  # fmt: skip

    def _after(self, job: CompressionJob, stopped_by: str | None) -> str | None:
        return stopped_by if stopped_by is not None else finish_shrunk(job, self._moved(job.folder / _MOVING), recover=self.recover)

    def _moved(self, folder: Path) -> TunedModel:
        """The last model of the run, which is not its best, without what has been closed."""
        tuned, last = TunedModel.load(folder), checkpoints(folder)[-1]
        load_weights(tuned.model, read_weights(last / WEIGHTS), last / WEIGHTS)
        whole = made = network_of(tuned)
        carried, settings = read_carried(last, torch.device("cpu")), read_settings(folder)
        assert isinstance(settings, MovementSettings)
        for unit in self.units:
            made = with_units(made, unit, kept_of(still_open(scores_of(carried, whole, unit), settings, self.keep)))
        return with_body(tuned, made)


METHOD = MovementPruning()
