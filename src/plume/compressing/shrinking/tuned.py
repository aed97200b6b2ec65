"""A tuned model over another body: what stands above stays."""

from __future__ import annotations

from pathlib import Path

import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.model.trainable import kept_parameters
from plume.model.use.language_model import LanguageModel
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.body import Body, network
from plume.tuning.declared import Declared
from plume.tuning.loaded import load
from plume.tuning.tuned import TunedModel, assemble


def require_network(folder: Path, name: str) -> TunedModel | LanguageModel:
    """The model in a directory, of whose network the method of that name takes something out."""
    model = load(folder)
    if not isinstance(model, LanguageModel | TunedModel):
        raise PlumeError(f"{folder} holds word vectors, and {name} takes something out of a network.")
    if isinstance(model, TunedModel) and not isinstance(model.model.body, Model):
        raise PlumeError(f"{folder} has no network below its task, and {name} takes something out of one.")
    return model


def network_of(model: TunedModel | LanguageModel) -> Model:
    """The network that a model directory has, below its task if it has one."""
    if isinstance(model, LanguageModel):
        return model.model
    return network(model.model.body, f"{model.model.body.recipe.name} has no network below its task.")


@torch.no_grad()
def with_body(
    tuned: TunedModel,
    body: Body,
    *,
    tokenizer: Tokenizer | None = None,
    declared: Declared | None = None,
) -> TunedModel:
    """The same tasks, heads and way to read over `body`; its tokenizer, or what it declares, where that has changed too."""
    told = declared or tuned.declared
    if tokenizer is not None and isinstance(body, Model):
        told = replace(told, tasks=tuple(task.over_tokens(body, tokenizer) for task in told.tasks))
    model = assemble(body, told).to(next(tuned.model.parameters()))
    above = {name: value for name, value in state_of(tuned.model).items() if not name.startswith("body.")}
    for name, parameter in kept_parameters(model).items():
        if name.startswith("body."):
            continue
        if name not in above or above[name].shape != parameter.shape:
            raise PlumeError(f"What was tuned on {body.recipe.name} does not fit the smaller network: {name} depends on what is taken out.")
        parameter.copy_(above[name])
    return TunedModel(model, tokenizer or tuned.tokenizer, told, tuned.sentence)
