"""What a user asked for when training a bi-encoder, completed from the task and the model."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.model.networks.model import Model
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.tasks.retrieval import Retrieval
from plume.train.settings import RunSettings
from plume.tuning.settings import Wishes
from plume.vectors.sentence import SentenceVectors

QUESTIONS = "questions"  # the folder of the encoder that reads them, where they have one
_BATCH, _LENGTH = 64, 160  # rows; tokens that hold a hundred words with their title


@dataclass(frozen=True, kw_only=True)
class RetrievalData(Part):
    """The files of a run."""

    train: tuple[str, ...]
    dev: tuple[str, ...] = ()  # none: a tenth of the questions, if they are many
    documents: tuple[str, ...] = ()  # none: the passages that the questions bring


@dataclass(frozen=True, kw_only=True)
class RetrievalSettings(RunSettings):
    """A run as run.json keeps it."""

    model: str
    task: Retrieval
    data: RetrievalData
    vectors: SentenceVectors
    training: Training
    dropout: float = 0.1
    parts: int = 1  # a batch is read in so many, to save memory; its negatives are the whole batch's
    patience: int = 4  # measurements without a better one before the run ends

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise PlumeError(f"--dropout is a share from 0 to below 1, not {self.dropout}.")
        if not 1 <= self.parts <= self.training.batch:
            raise PlumeError(f"A batch of {self.training.batch} rows does not divide into {self.parts} parts: --accumulate is 1 or more.")

    def lower_rate(self, rate: float) -> str:
        return f"--rate {rate:.2g}"

    @property
    def files(self) -> tuple[str, ...]:
        """What a run that goes on must find unchanged."""
        return (*self.data.train, *self.data.dev, *self.data.documents)


def retrieval_training(body: Model, wishes: Wishes, *, questions: int) -> Training:
    """The wishes, completed."""
    longest = body.longest
    if wishes.length is not None and longest is not None and wishes.length > longest:
        raise PlumeError(f"--length {wishes.length}: {body.recipe.name} places at most {longest} tokens.")
    return Training(
        length=wishes.length or min(_LENGTH, longest or _LENGTH),
        batch=min(wishes.batch or _BATCH, questions),
        peak=wishes.rate or body.tuning_rate,
        schedule=Linear(warmup=0.1),
    )


def epochs_of(questions: int) -> float:
    """The fewer the questions, the more often each is seen.

    >>> [epochs_of(n) for n in (500, 5_000, 80_000)]
    [20.0, 10.0, 3.0]
    """
    return next(epochs for most, epochs in ((1_000, 20.0), (10_000, 10.0), (float("inf"), 3.0)) if questions < most)
