"""The model below a task, from its directory."""

from __future__ import annotations

from pathlib import Path

import torch

from plume.core.errors import PlumeError
from plume.model.checkpoint import load_model, load_weights, state_of
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.trainable import kept_parameters
from plume.static.model import WordModel, is_word_model
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body, network
from plume.tuning.adapting.network import TaskModel
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.declared import is_tuned
from plume.tuning.linear.model import is_linear
from plume.tuning.linear.recipe import TFIDF, TITLE
from plume.tuning.settings import with_dropout
from plume.tuning.tuned import TunedModel


def read_model(folder: Path) -> tuple[Body, Tokenizer]:
    """The model to tune, as it is; a tuned one gives its body, without what learned on top of it."""
    if is_linear(folder):
        raise PlumeError(
            f"{folder} is {TITLE}, made of a task's examples alone: there is no model in it to tune. Write: plume tune {TFIDF} …"
        )
    if is_tuned(folder):
        tuned = TunedModel.load(folder)
        tuned.model.top.leave(tuned.model.body)
        return tuned.model.body, tuned.tokenizer
    if is_word_model(folder):
        words = WordModel.load(folder)
        return WordBody(words.vectors, recipe=words.recipe, tokenizer=words.tokenizer), words.tokenizer
    return load_model(folder)


def as_tuned(source: Body, tokenizer: Tokenizer, *, adaptation: Adaptation, from_scratch: bool, seed: int) -> Body:
    """The model with the dropout of tuning. From scratch it keeps its shape, and forgets everything."""
    if isinstance(source, WordBody):
        if from_scratch:
            source.forget(seed)
        return source
    source = network(source, "Only a network or word vectors can be tuned.")
    body = rebuilt(source, with_dropout(source.recipe, adaptation), tokenizer, weights=not from_scratch)
    if from_scratch:
        body.initialise(seed)
    return body


def rebuilt(source: Model, recipe: Recipe, tokenizer: Tokenizer, *, weights: bool = True) -> Model:
    """The model with a recipe that differs in nothing but what has no weights, such as dropout; with its `weights`, or with none set."""
    body = recipe.assembly.build(recipe, vocabulary=source.vocabulary)
    body.spell(tokenizer.tokens())
    body.inherit(source)
    if weights:
        load_weights(body, state_of(source), Path("the model below"))
    return body


@torch.no_grad()
def take_heads(model: TaskModel, folder: Path) -> None:
    """Everything above the body as the tuned model in the folder has it."""
    there = state_of(TunedModel.load(folder).model)
    for name, parameter in kept_parameters(model).items():
        if name.startswith("body."):
            continue
        if name not in there or there[name].shape != parameter.shape:
            raise PlumeError(
                f"{folder} is not tuned for the same tasks in the same way: it has no {name} of shape {tuple(parameter.shape)}."
            )
        parameter.copy_(there[name])
