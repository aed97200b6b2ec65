"""What a user asked for when tuning, completed from the data's size and the model's."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.model.networks.model import Model
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.train.settings import RunSettings
from plume.tuning.adapting.adaptation import DROPOUT, Adaptation, Mode
from plume.tuning.adapting.network import Body
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.task import Task

_BASE_RATE, _BASE_WIDTH = 5e-5, 768  # BERT §A.3's largest rate that is safe, at its width; narrower networks take larger steps
_LONGEST = 512  # tokens of a row, where nothing in the model sets a limit


@dataclass(frozen=True, kw_only=True)
class TaskData(Part):
    """A task with its files. Several files are one table, a file a column."""

    task: Task
    train: tuple[str, ...]
    dev: tuple[str, ...] = ()  # empty: a tenth of the training examples


@dataclass(frozen=True, kw_only=True)
class TuneSettings(RunSettings):
    model: str
    data: tuple[TaskData, ...]
    adaptation: Adaptation = Adaptation()
    training: Training
    from_scratch: bool = False
    patience: int = 4  # measurements without a better one before the run ends
    metric: str | None = None  # by which the best model is chosen; None: the task's
    language: str | None = None  # of all texts, where the model has a vector for each; None: of each what its row says, or what is found
    usual: str | None = None  # of texts that say too little by themselves

    def __post_init__(self) -> None:
        if self.accumulate < 1 or self.training.batch % self.accumulate:
            raise PlumeError(f"A batch of {self.training.batch} rows does not divide into {self.accumulate} accumulated parts.")

    def lower_rate(self, rate: float) -> str:
        return f"--rate {rate:.2g}"


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user says of training; what is None is chosen here."""

    epochs: float | None = None
    batch: int | None = None
    rate: float | None = None
    length: int | None = None


def epochs_for(examples: int) -> float:
    """The fewer the examples, the more often each is seen.

    >>> [epochs_for(n) for n in (100, 3_000, 50_000)]
    [20, 10, 3]
    """
    return next(epochs for most, epochs in ((1_000, 20), (4_000, 10), (20_000, 5), (float("inf"), 3)) if examples < most)


def training_for(body: Body, adaptation: Adaptation, wishes: Wishes, *, examples: int, from_scratch: bool = False) -> Training:
    return Training(
        length=length_for(body, wishes.length),
        batch=wishes.batch or (32 if examples >= 2_000 else 16 if examples >= 200 else 8),
        peak=wishes.rate or rate_for(body, adaptation, from_scratch=from_scratch),
        schedule=Linear(warmup=0.1),
    )


def mode_for(body: Body) -> Mode:
    """How the family's paper put it to use: ELMo, CoVe, Skip-Thought and word vectors are features, everything else learns on."""
    if isinstance(body, WordBody):
        return Mode.FEATURES
    assembly = body.recipe.assembly
    if assembly.directions > 1 or (assembly.recurs and assembly.decodes):
        return Mode.FEATURES
    return Mode.FULL


def rate_for(body: Body, adaptation: Adaptation, *, from_scratch: bool = False) -> float:
    """Small steps for weights that know something; larger ones for low-rank changes and for what starts afresh."""
    if adaptation.mode.frozen and not from_scratch:
        return 1e-2 if isinstance(body, WordBody) else 3e-3  # word vectors leave all the work to the network on top
    if not isinstance(body, Model) or body.recipe.recurrent:
        return 1e-3
    rate = _BASE_RATE * _BASE_WIDTH / body.recipe.network.width
    return float(f"{rate * (10 if adaptation.mode is Mode.ADAPTERS else 1):.2g}")


def length_for(body: Body, wanted: int | None) -> int:
    """As long as the rows it was trained on: of positions beyond them it knows nothing. Schemes without a limit read on."""
    longest = body.recipe.positions.longest if isinstance(body, Model) else None
    if wanted is not None:
        if longest is not None and wanted > longest:
            raise PlumeError(f"--length {wanted}: {body.recipe.name} places at most {longest} tokens.")
        return wanted
    return _LONGEST if longest is None else min(longest, body.recipe.training.length)


def with_dropout(recipe: Recipe, adaptation: Adaptation) -> Recipe:
    """The recipe as it is tuned: Transformers that learn drop states, as in the papers' fine-tuning, whatever pre-training did."""
    if adaptation.mode.frozen or recipe.recurrent:
        return recipe
    share = DROPOUT if adaptation.dropout is None else adaptation.dropout
    return replace(
        recipe,
        network=replace(recipe.transformer, dropout=share, attention_dropout=share),
        embedding=replace(recipe.embedding, dropout=share),
    )
