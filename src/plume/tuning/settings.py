"""What a user asked for when tuning, completed from the data's size and the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.nn.pooling import Pooling
from plume.train.settings import RunSettings
from plume.tuning.adapting.adaptation import Adaptation, way
from plume.tuning.adapting.body import Body, network
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.task import Task

if TYPE_CHECKING:
    from plume.tuning.lesson import Lesson, Pupil  # which are made of what is above

_POOLED_BELOW, _NARROW = 4_000, 256  # examples; width of tiny and mini
_LONGEST = 512  # tokens of a row, where nothing in the model sets a limit


@dataclass(frozen=True, kw_only=True)
class TaskData(Part):
    """A task with its files. Several files are one table, a file a column."""

    task: Task
    train: tuple[str, ...]
    dev: tuple[str, ...] = ()  # empty: a tenth of the training examples


@dataclass(frozen=True, kw_only=True)
class TuneSettings(RunSettings):
    """A tuning run as run.json keeps it."""

    model: str
    data: tuple[TaskData, ...]
    adaptation: Adaptation = FullTuning()
    training: Training
    from_scratch: bool = False
    patience: int = 4  # measurements without a better one before the run ends
    metric: str | None = None  # by which the best model is chosen; None: the task's
    language: str | None = None  # of all texts, where the model has a vector for each; None: of each what its row says, or what is found
    usual: str | None = None  # of texts that say too little by themselves
    split: int | None = None  # seed by which a tenth is held out, where no dev file is given; None: the run's own
    keep_heads: bool = False  # the model is tuned for these tasks already: it goes on with the heads it has

    @property
    def split_seed(self) -> int:
        """By which rows are held out."""
        return self.seed if self.split is None else self.split

    @property
    def files(self) -> tuple[str, ...]:
        """All that the run reads: it must go on with the same."""
        return tuple(path for one in self.data for path in (*one.train, *one.dev))

    def lesson(self, pupil: Pupil) -> Lesson | None:
        """What it learns from; None: from the examples' answers."""
        return None

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
    """The wishes, completed."""
    return Training(
        length=length_for(body, wishes.length),
        batch=wishes.batch or (32 if examples >= 2_000 else 16 if examples >= 200 else 8),
        peak=wishes.rate or rate_for(body, adaptation, from_scratch=from_scratch),
        schedule=Linear(warmup=0.1),
    )


def usual_way(body: Body) -> Adaptation:
    """How the family's paper put it to use: ELMo, CoVe, Skip-Thought and word vectors are features, everything else learns on."""
    return way("features" if body.gives_features else "full")


def pooled(adaptation: Adaptation, body: Body, tasks: Sequence[Task], *, examples: int, order: Order) -> Adaptation:
    """With few examples heads on a narrow encoder that label texts read the mean of all states, where the family's own would read one token's: that
    one has to learn first to gather what the others know. Wide ones, which have learned more, lose nothing by it. What is said goes before."""
    reads_texts = any(task.objective is None and task.head(body.classifier, dropout=0.0).reads_text for task in tasks)
    given = adaptation.pooling is not None or adaptation.frozen or body.task_pooling is not None or body.through_decoder
    if given or not reads_texts or order is not Order.FULL or examples >= _POOLED_BELOW or body.width > _NARROW:
        return adaptation
    return replace(adaptation, pooling=Pooling())


def together(adaptation: Adaptation, body: Body) -> bool:
    """Are the labels of a sentence chosen together (by a CRF), where nothing is said? Narrow models gain five points of F1 by it; over features
    ELMo's and GloVe's taggers have it. A probe asks what a layer says by itself."""
    return (body.width <= _NARROW or body.gives_features) and adaptation.mode != "probe"


def rate_for(body: Body, adaptation: Adaptation, *, from_scratch: bool = False) -> float:
    """Small steps for weights that know something; larger ones for low-rank changes, and at most those of a head on what is frozen."""
    if adaptation.own_rate is not None:
        return adaptation.own_rate
    if adaptation.frozen and not from_scratch:
        return body.head_rate
    return float(f"{min(body.tuning_rate * adaptation.rate_factor, body.head_rate):.2g}")


def length_for(body: Body, wanted: int | None) -> int:
    """As long as the rows it was trained on: of positions beyond them it knows nothing. Schemes without a limit read on."""
    longest = body.longest
    if wanted is not None:
        if longest is not None and wanted > longest:
            raise PlumeError(f"--length {wanted}: {body.recipe.name} places at most {longest} tokens.")
        return wanted
    if longest is None:
        return _LONGEST
    return min(longest, network(body, "Word vectors are not trained on rows.").recipe.training.length)


def with_dropout(recipe: Recipe, adaptation: Adaptation) -> Recipe:
    """The recipe as it is tuned: Transformers that learn drop states, as in the papers' fine-tuning, whatever pre-training did."""
    if adaptation.frozen or recipe.recurrent:
        return recipe
    share, network = adaptation.head_dropout, recipe.transformer
    drop = adaptation.layer_drop if isinstance(adaptation, FullTuning) and adaptation.layer_drop is not None else network.layer_drop
    return replace(
        recipe,
        network=replace(network, dropout=share, attention_dropout=share, layer_drop=drop),
        embedding=replace(recipe.embedding, dropout=share),
    )
