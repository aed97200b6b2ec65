"""Adaptation: how a trained model is put to a task."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.low_rank import LowRank
from plume.nn.task_network import TaskNetwork

DROPOUT = 0.1  # of a Transformer while it is tuned, as the papers have it (BERT §A.3)


class Mode(enum.StrEnum):
    FULL = "full"  # everything learns (BERT §3.2)
    FEATURES = "features"  # the model is frozen; a recurrent network reads a mixture of its layers (ELMo §3.3, BERT §5.3)
    PROBE = "probe"  # the model is frozen; one linear layer shows what its states say
    ADAPTERS = "adapters"  # low-rank changes to frozen matrices learn (LoRA)

    @property
    def frozen(self) -> bool:
        """Does the model below run as it is, without learning and without dropout?"""
        return self in (Mode.FEATURES, Mode.PROBE)


class Place(enum.StrEnum):
    """Where a task's network gets the mixture of layers: as its input, beside its own output, or both, each with weights of its own (ELMo §3.3)."""

    INPUT = "input"
    OUTPUT = "output"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class Adaptation(Part):
    mode: Mode = Mode.FULL
    frozen_layers: int = 0  # the embedding and the first so many layers do not learn; 0: all do
    adapters: LowRank = LowRank()
    network: TaskNetwork = TaskNetwork()
    place: Place = Place.INPUT  # where the mixture of layers enters the task's network
    penalty: float = 0.0  # λ of Σ w² on the mixture's weights: a large one keeps it near the mean of the layers (ELMo §3.3, §5.1)
    norm: bool = False  # layers brought to mean 0 and variance 1 before they are mixed, which ELMo §3.2 found to help in some cases
    layer: int | None = None  # a probe's, from 0 (the embedding); None: the last
    dropout: float | None = None  # of the model while it is tuned; None: 0.1 for Transformers that learn, else the model's own

    def __post_init__(self) -> None:
        if self.frozen_layers and self.mode is not Mode.FULL:
            raise PlumeError(f"Layers are frozen one by one in --mode full; in --mode {self.mode} the model is frozen as a whole.")
        if self.layer is not None and self.mode is not Mode.PROBE:
            raise PlumeError(f"A layer is chosen for --mode probe; --mode {self.mode} uses them all.")
        if self.frozen_layers < 0 or (self.dropout is not None and not 0 <= self.dropout < 1):
            raise PlumeError("frozen_layers is 0 or more, dropout a share below 1.")
