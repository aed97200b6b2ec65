"""A fresh model of a recipe, or one that starts from another's weights."""

from __future__ import annotations

import torch

from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.recipe import Recipe


def build(recipe: Recipe, *, vocabulary: int, seed: int, initial: Model | None = None) -> Model:
    """A fresh model, or one that starts from another's weights wherever names and shapes agree."""
    model = recipe.assembly.build(recipe, vocabulary=vocabulary)
    model.initialise(seed)
    if initial is not None:
        source, target = dict(initial.named_parameters()), dict(model.named_parameters())
        with torch.no_grad():
            for name in source.keys() & target.keys():
                if source[name].shape != target[name].shape:
                    raise PlumeError(
                        f"--init: {name} has shape {tuple(source[name].shape)} there, in this recipe {tuple(target[name].shape)}."
                    )
                target[name].copy_(source[name])
    return model
