"""How a trained model goes on: its family's objective, on rows and at a rate for going on (arXiv:2004.10964)."""

from __future__ import annotations

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.layout import FullSentences, Layout, SentencePairs
from plume.model.optimizers.adamw import AdamW
from plume.model.recipe import Recipe, Training, unchecked
from plume.model.schedule import Linear
from plume.objectives._objective import Answers, Objective
from plume.recipes import _catalog as catalog

LENGTH = 128  # at most
_LARGE, _BATCH = 32, 8  # published batches of hundreds of rows are minutes a step on a laptop: many small steps learn more in an hour
_WARMUP = 0.06
# Times 1/width: half of what the small sizes start from nothing with (recipes/_sizes.py). all-MiniLM-L6-v2 (width 384) on 100,000 tokens of news,
# held-out masked LM: 6.01 at 1e-4, 5.47 at 3e-4, 5.52 at 1e-3.
_RATE = 0.128
_SHARE = 0.5  # of its own rate, where the width says nothing: recurrent networks


def continuing_recipe(recipe: Recipe) -> Recipe:
    """The recipe of a model directory, or of config.json, as it is trained on.

    Objectives that the model has heads for stay. Where none of them hides text, the family's come back: their heads are made anew. Dropout,
    vocabulary and shape are the model's own.

    >>> import plume
    >>> bare = replace(plume.recipe("bert/base"), objectives=())
    >>> going_on = continuing_recipe(bare)
    >>> [one.name for one in going_on.objectives], going_on.training.length, going_on.training.peak
    (['masked_lm'], 128, 0.00017)
    """
    with unchecked():
        made = replace(recipe, objectives=_objectives(recipe))
        made = replace(made, layout=_layout(made), training=_training(made))
    made.check()
    return made


def _objectives(recipe: Recipe) -> tuple[Objective, ...]:
    if any(one.noise is not None for one in recipe.objectives):
        return recipe.objectives
    if recipe.name not in catalog.networks():
        raise PlumeError(f"{recipe.name} has no pre-training objective, and is no family of plume's: name one with --objective.")
    held = {one.name for one in recipe.objectives}
    family = catalog.recipe(recipe.name)
    return tuple(one for one in family.objectives if one.name in held or one.answers is not Answers.LAYOUT)


def _layout(recipe: Recipe) -> Layout:
    """Pairs of sentences are for objectives that ask about them; without one, rows are filled with sentences (RoBERTa §4.2)."""
    asked = any(one.pair_label is not None for one in recipe.objectives)
    return recipe.layout if asked or not isinstance(recipe.layout, SentencePairs) else FullSentences(carries=recipe.layout.carries)


def _training(recipe: Recipe) -> Training:
    own = recipe.training
    rate = _SHARE * own.peak if recipe.recurrent else _RATE / recipe.network.width
    return replace(
        own,
        length=min(LENGTH, own.length, recipe.positions.longest or LENGTH),
        batch=own.batch if own.batch <= _LARGE else _BATCH,
        peak=float(f"{rate:.2g}"),
        schedule=Linear(warmup=_WARMUP),
        optimizer=AdamW(),
        clip=own.clip or 1.0,
        layer_decay=1.0,
        thaw=0.0,
    )
