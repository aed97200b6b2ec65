"""What the contracts share: every kind of batch of a family, and the loss that training follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from plume.core.batch import Batch
from plume.core.knowledge import Knowledge, needs_knowledge
from plume.data.loader import Reader
from plume.heads.head import Loss
from plume.model.checkpoint import save_model
from plume.model.kinds import BatchKind
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.text.known_languages import Languages


@pytest.fixture(scope="session")
def kinds_of(reader_for: Any) -> Callable[..., list[tuple[BatchKind, Reader]]]:
    """A family's kinds of batch, each with its reader."""

    def make(recipe: Recipe, **options: Any) -> list[tuple[BatchKind, Reader]]:
        return [(kind, reader_for(recipe, kind=kind, **options)) for kind in recipe.kinds]

    return make


@pytest.fixture(scope="session")
def weighed() -> Callable[[Model, BatchKind, Batch], tuple[torch.Tensor, dict[str, Loss]]]:
    """The sum that training follows, and its parts."""

    def loss(model: Model, kind: BatchKind, batch: Batch) -> tuple[torch.Tensor, dict[str, Loss]]:
        weight = {objective.name: kind.scale(objective) for objective in kind.objectives}
        return model(batch, {name: torch.tensor(weight[name] / max(count, 1)) for name, count in model.counts(batch).items()})

    return loss


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any, knowledge: Knowledge) -> Callable[[str], Path]:
    """A family's miniature with first weights, in a directory."""
    made: dict[str, Path] = {}

    def make(family: str) -> Path:
        if family not in made:
            recipe = miniature(family)
            tokenizer = tokenizer_for(recipe)
            model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
            model.initialise(3)
            model.spell(tokenizer.tokens())
            if needs_knowledge(recipe):
                model.know(knowledge)
            if model.languages is not None:
                model.languages = Languages.named(["en", "zh"])
            folder = tmp_path_factory.mktemp("base") / family
            save_model(folder, model, tokenizer)
            made[family] = folder
        return made[family]

    return make
