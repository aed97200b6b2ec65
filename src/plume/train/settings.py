"""What a user asked for: written to train/run.json, so that --resume needs nothing but the directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.machine import cores
from plume.core.part import Part, part_from_json
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.trainable import Trainable
from plume.recipes import _catalog as catalog
from plume.recipes._own import changed, read_recipe_file
from plume.static.recipe import StaticRecipe
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.train.device import Precision

RUN = Path("train") / "run.json"


@dataclass(frozen=True, kw_only=True)
class RunSettings(Part):
    """Of every run of the one loop, pre-training or tuning."""

    budget: Budget
    seed: int = 0
    accumulate: int = 1
    precision: Precision = Precision.AUTO
    device: str = "auto"
    workers: int = 1
    save_every: Budget = Budget(unit="seconds", amount=300.0)
    measurements: int = 10  # how often the held-out loss is taken
    log_every: int = 10  # steps between two lines of metrics
    shard: bool = False
    recompute: bool = False  # gradient checkpointing
    tensorboard: bool = False

    def lower_rate(self, rate: float) -> str:
        """How a user writes another learning rate."""
        return f"--set training.peak={rate:.2g}"


@dataclass(frozen=True, kw_only=True)
class Settings(RunSettings):
    """Of a pre-training run."""

    recipe: Recipe
    corpus: tuple[str, ...]
    tokenizer: str | None = None  # a given one, instead of training it
    initial: str | None = None  # a model directory to start from
    add_words: int = 0  # of the corpus, to the tokenizer of that model
    kb: str | None = None  # a knowledge base, for recipes that are built for one
    lexicon: str | None = None  # phrases and entities, for recipes that hide them whole; None: mined from the corpus
    documents: tuple[str, ...] = ()  # for recipes that look things up; none: the corpus has them

    def learner(self, model: Model, tokenizer: Tokenizer) -> Trainable:
        """What is trained: the model, or something around it that has a teacher."""
        return model

    def __post_init__(self) -> None:
        if self.accumulate < 1 or self.recipe.training.batch % self.accumulate:
            raise PlumeError(f"A batch of {self.recipe.training.batch} rows does not divide into {self.accumulate} accumulated parts.")
        if self.add_words < 0 or (self.add_words and (self.initial is None or self.tokenizer is not None)):
            raise PlumeError("--add-words takes a number of words, which are added to the tokenizer of the model that --init names.")


@dataclass(frozen=True, kw_only=True)
class WordSettings(Part):
    """Of a run that makes word vectors."""

    recipe: StaticRecipe
    corpus: tuple[str, ...]
    budget: Budget | None  # None: the recipe's epochs
    seed: int = 0
    threads: int = 1
    save_every: Budget = Budget(unit="seconds", amount=300.0)

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise PlumeError(f"{self.threads} threads cannot train: give at least 1.")
        for budget in (self.budget, self.save_every):
            if budget is not None and budget.unit not in ("seconds", "tokens"):
                raise PlumeError(f"A budget of {budget} means nothing for word vectors: give a time (10m) or words (5e6tokens).")


def make_word_settings(
    recipe: StaticRecipe,
    *,
    corpus: str | Path | Sequence[str | Path],
    budget: str | None = None,
    overrides: Sequence[str] = (),
    seed: int = 0,
    threads: int | None = None,
    save_every: str = "5m",
    **others: Any,
) -> WordSettings:
    """Settings from what a user writes; of `others`, what only networks have is refused."""
    for name in (name for name, value in others.items() if value):
        raise PlumeError(f"{recipe.name} makes word vectors, and has no use for {name}: leave it out.")
    chosen = with_changes(recipe, overrides=overrides)
    assert isinstance(chosen, StaticRecipe)
    return WordSettings(
        recipe=chosen,
        corpus=_paths(corpus),
        budget=None if budget is None else Budget.parse(budget),
        seed=seed,
        threads=cores() if threads is None else threads,
        save_every=Budget.parse(save_every),
    )


def _paths(corpus: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in ([corpus] if isinstance(corpus, str | Path) else corpus))


def make_settings(
    recipe: str | Recipe,
    *,
    corpus: str | Path | Sequence[str | Path],
    budget: str = "10m",
    objectives: Sequence[str] = (),
    overrides: Sequence[str] = (),
    tokenizer: str | Path | None = None,
    init: str | Path | None = None,
    kb: str | Path | None = None,
    lexicon: str | Path | None = None,
    documents: str | Path | Sequence[str | Path] = (),
    precision: str = "auto",
    save_every: str = "5m",
    **others: Any,
) -> Settings:
    """Settings from what a user writes, on the command line or in Python; `others` are fields of Settings as they are."""
    chosen = recipe if isinstance(recipe, Recipe) else named(recipe)
    chosen = changed(chosen, objectives=objectives, overrides=overrides)
    if precision not in list(Precision):
        raise PlumeError(f"There is no precision '{precision}': choose {', '.join(Precision)}.")
    return Settings(
        recipe=chosen,
        corpus=_paths(corpus),
        budget=Budget.parse(budget),
        tokenizer=None if tokenizer is None else str(tokenizer),
        initial=None if init is None else str(init),
        kb=None if kb is None else os.path.abspath(kb),
        lexicon=None if lexicon is None else os.path.abspath(lexicon),
        documents=_paths(documents),
        precision=Precision(precision),
        save_every=Budget.parse(save_every),
        **others,
    )


def named(recipe: str) -> Recipe:
    """A family of networks, family/size, or a file of the user's own."""
    found = declared(recipe)
    if isinstance(found, StaticRecipe):
        raise PlumeError(f"{recipe} makes word vectors; a network is needed here: {', '.join(catalog.networks())}.")
    return found


def declared(recipe: str) -> Recipe | StaticRecipe:
    """The same, or a family of word vectors."""
    if Path(recipe).suffix in (".py", ".json"):
        return read_recipe_file(Path(recipe))
    return catalog.declaration(recipe)


def with_changes(recipe: Recipe | StaticRecipe, *, objectives: Sequence[str] = (), overrides: Sequence[str] = ()) -> Recipe | StaticRecipe:
    """The recipe with what --objective and --set say."""
    if isinstance(recipe, Recipe):
        return changed(recipe, objectives=objectives, overrides=overrides)
    if objectives:
        raise PlumeError(f"{recipe.name} makes word vectors, and has no objectives to choose from: leave --objective out.")
    for assignment in overrides:
        recipe = recipe.override(assignment)
    return recipe


def save_settings(folder: Path, settings: RunSettings | WordSettings) -> None:
    """As train/run.json."""
    write_json(folder / RUN, settings.to_json())


def read_settings(folder: Path) -> Settings | WordSettings:
    """Of a pre-training run that is to go on."""
    if not (folder / RUN).exists():
        raise PlumeError(f"{folder} holds no run to resume: there is no {RUN} in it.")
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    if not isinstance(settings, Settings | WordSettings):
        raise PlumeError(f"{folder / RUN} holds no run's settings.")
    return settings
