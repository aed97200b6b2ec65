"""Whole layers (LayerDrop §3.2, arXiv:1909.11556): some of the blocks stay, evenly spread, as given, or by what the loss is without each.

No training is needed, least by models that have learned with `layer_drop`; where labelled rows are known, some follows.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from plume.compressing.job import CompressionJob
from plume.compressing.shrinking.layer_choice import by_loss
from plume.compressing.shrinking.layered import fewer_layers
from plume.compressing.shrinking.layers import every_kth
from plume.compressing.shrinking.method import Shrinking
from plume.compressing.shrinking.tuned import network_of
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.tuning.preparing import prepare
from plume.tuning.task_loss import TaskLoss
from plume.tuning.tuned import TunedModel


class LayerChoice(enum.StrEnum):
    """Which layers stay: evenly spread ones, or those without which the loss on labelled rows is highest."""

    EVENLY = "evenly"
    IMPORTANCE = "importance"


@dataclass(frozen=True, kw_only=True)
class Layers(Shrinking):
    """`depth` of them, or the given `layers`; of a decoder the same, unless it is told which."""

    depth: int | None = None  # None: half of them
    layers: tuple[int, ...] = ()
    decoder: tuple[int, ...] = ()
    choose: LayerChoice = LayerChoice.EVENLY
    rows: int = 200  # by which importance is measured

    def smaller(self, job: CompressionJob, model: TunedModel | LanguageModel) -> TunedModel | LanguageModel:
        return fewer_layers(model, self._kept(job, model), name=self.name, decoder=self.decoder or None, quiet=job.quiet)

    def _kept(self, job: CompressionJob, model: TunedModel | LanguageModel) -> Sequence[int]:
        depth = network_of(model).recipe.transformer.depth
        if self.layers:
            if self.depth is not None and self.depth != len(self.layers):
                raise PlumeError(f"--depth {self.depth} and layers={self.layers} do not agree: leave one of them out.")
            return self.layers
        kept = max(1, depth // 2) if self.depth is None else self.depth
        if self.choose is LayerChoice.EVENLY:
            return every_kth(depth, kept)
        if not isinstance(model, TunedModel):
            raise PlumeError(f"{job.source} has no task whose loss would say which layers matter: name them (layers=(0,2,4)), or tune it.")
        every_kth(depth, kept)  # refuses what cannot be
        read = [prepare(one, known=True, seed=job.settings.split) for one in job.need_data()]
        return by_loss(network_of(model), [TaskLoss(model, one.task, one.train[: self.rows]) for one in read], kept)


METHOD = Layers()
