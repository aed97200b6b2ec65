"""Small models with weights of their own, for families whose rows stream, permute or relate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plume.core.part import replace
from plume.heads.sentence_classification import SentenceClassification
from plume.model.networks.model import Model
from plume.recipes import _catalog as catalog

VOCABULARY, HEADS, DEPTH = 60, 4, 3


def _tiny(family: str) -> Any:
    recipe = catalog.recipe(f"{family}/tiny")
    heads = {o.name: replace(o.head, dropout=0.0) if isinstance(o.head, SentenceClassification) else o.head for o in recipe.objectives}
    return replace(
        recipe,
        objectives=tuple(replace(objective, head=heads[objective.name]) for objective in recipe.objectives),
        embedding=replace(recipe.embedding, width=32),
        network=replace(recipe.network, width=32, depth=DEPTH, heads=HEADS, feed_forward=48),
        positions=replace(recipe.positions, longest=None if recipe.positions.longest is None else 16),
        training=replace(recipe.training, length=16),
    )


def _ours_of(family: str) -> Model:
    """Weights everywhere different from their initial values, norms and biases too."""
    recipe = _tiny(family)
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    return model.train()


@pytest.fixture(scope="session")
def tiny() -> Callable[[str], Any]:
    """A family's tiny recipe, tinier and without dropout in its heads."""
    return _tiny


@pytest.fixture(scope="session")
def ours_of() -> Callable[[str], Model]:
    """Its model in float64, whose weights are everywhere different from their initial values."""
    return _ours_of
