"""What a user asked for when training sentence vectors, completed from the method and the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.model.networks.model import Model
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.nn.pooling import FIRST, Pooling
from plume.nn.recurrent.recurrent import Recurrent
from plume.objectives._objective import Answers, Objective
from plume.objectives.text_after_text import text_after_text
from plume.sentences.layer import PooledLayer
from plume.sentences.method import SentenceMethod
from plume.train.settings import RunSettings
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.rows.questions import Floats
from plume.tuning.settings import Wishes, with_dropout
from plume.vectors.sentence import SentenceVectors

_SMALL = 512  # width up to which the first token's state makes a poor vector (STS-B dev, bert/tiny: 28 against the mean's 60)


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(RunSettings):
    """A run as run.json keeps it."""

    model: str
    method: SentenceMethod
    text: tuple[str, ...]
    dev: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # the texts', by name or number; none: found
    score: str | None = None
    vectors: SentenceVectors = SentenceVectors()  # how a text becomes one, at use
    training: Training
    dropout: float
    parts: int = 1  # a batch is read in so many, to save memory; its negatives are the whole batch's
    language: str | None = None  # of texts that say too little by themselves, where the model has a vector for each

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise PlumeError(f"--dropout is a share from 0 to below 1, not {self.dropout}.")
        if self.method.views.by_dropout and self.dropout == 0:
            raise PlumeError(
                f"{self.method.name} tells the two views of a text apart by dropout alone: with --dropout 0 they are equal, and there is nothing to "
                "learn. Leave it out (0.1)."
            )
        if not 1 <= self.parts <= self.training.batch:
            raise PlumeError(f"A batch of {self.training.batch} rows does not divide into {self.parts} parts: --accumulate is 1 or more.")

    def lower_rate(self, rate: float) -> str:
        return f"--rate {rate:.2g}"

    @property
    def pooling(self) -> Pooling | None:
        """None: as the family pools."""
        return self.vectors.pooling if isinstance(self.vectors.pooling, Pooling) else None

    @property
    def files(self) -> tuple[str, ...]:
        """What a run that goes on must find unchanged."""
        return (*self.text, *self.dev)

    def taught(self, texts: Sequence[str]) -> Floats | None:
        """[N, D] a teacher's vector for each text, where one teaches."""
        return None

    @property
    def layer(self) -> PooledLayer | None:
        """What stands on the pooled vector in training, or for good."""
        return self.method.layer if self.pooling == Pooling(tokens=(FIRST,)) else None


def training_for(body: Model, method: SentenceMethod, wishes: Wishes, *, groups: int) -> Training:
    """The wishes, completed by the method's."""
    longest = body.longest
    if wishes.length is not None and longest is not None and wishes.length > longest:
        raise PlumeError(f"--length {wishes.length}: {body.recipe.name} places at most {longest} tokens.")
    return Training(
        length=wishes.length or min(method.length, longest or method.length),
        batch=min(wishes.batch or method.batch, groups),
        peak=wishes.rate or float(f"{body.tuning_rate * method.rate_factor:.2g}"),
        schedule=Linear(warmup=0.1),
    )


def pooling_for(
    method: SentenceMethod, body: Model, order: Order, *, asked: Pooling | None, before: SentenceVectors | None
) -> Pooling | None:
    """What was asked for, or what the model had; else the first token, where the method and the width suit it, or as the family pools."""
    first = Pooling(tokens=(FIRST,))
    if method.views.writes:
        if asked not in (None, first):
            raise PlumeError(
                f"{method.name} reads the first token, which sees the first text of a row and not what is written: leave out --pooling."
            )
        return first
    if asked is not None:
        if asked.mixed:
            raise PlumeError("The weights of mixed layers would not be kept: name layers, or leave it out.")
        return asked
    if before is not None and isinstance(before.pooling, Pooling):
        return before.pooling
    begins = body.recipe.format.single[0] == body.recipe.format.begin
    return (
        first
        if method.layer is not None and order is Order.FULL and begins and body.width > _SMALL and not body.recipe.assembly.decodes
        else None
    )


def dropping(recipe: Recipe, share: float) -> Recipe:
    """The recipe as it is trained: whatever its own dropout, that share of all states is dropped."""
    if not isinstance(recipe.network, Recurrent):
        return with_dropout(recipe, FullTuning(dropout=share))
    names = {field.name for field in fields(recipe.network)} & {"dropout", "input_dropout", "output_dropout"}
    network: Part = replace(recipe.network, **dict.fromkeys(names, share))
    return replace(recipe, network=network, embedding=replace(recipe.embedding, dropout=share))


def writing_recipe(recipe: Recipe, method: SentenceMethod) -> Recipe:
    """With the objective that says how the model writes from now on, by the head that it has."""
    if not method.views.writes:
        return recipe
    if any(objective.name == text_after_text().name for objective in recipe.objectives):
        return recipe
    head = token_head(recipe)
    reads = not (recipe.recurrent or recipe.assembly.decodes or recipe.assembly.streams or recipe.assembly.generates)
    if head is None or not reads or not any(recipe.format.segments):
        why = "has no head that predicts tokens in place" if reads and head is None else "reads or frames texts otherwise"
        raise PlumeError(
            f"{method.name} reads a text both ways and writes another after it, as bert, albert, ernie and unilm can; {recipe.name} {why}."
        )
    return replace(recipe, objectives=(*recipe.objectives, text_after_text(head=head.head, head_of=head.name)))


def token_head(recipe: Recipe) -> Objective | None:
    """The objective that owns the head by which hidden tokens are found from both sides."""
    for objective in recipe.objectives:
        noise = objective.noise
        plain = objective.answers is Answers.NOISE and objective.asks is None and objective.head_of is None
        if plain and noise is not None and noise.order is Order.FULL and not noise.target.decoder and not noise.target.streams:
            return objective
    return None
