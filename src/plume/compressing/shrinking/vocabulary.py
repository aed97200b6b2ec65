"""Fewer tokens: the rows of a network's tables that belong to them, wherever tokens have rows."""

from __future__ import annotations

from dataclasses import replace as with_fields

import numpy as np
import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.model.trainable import kept_parameters
from plume.text.fewer_tokens import Ids, with_tokens
from plume.text.known_languages import Languages
from plume.text.tokenizer import Tokenizer


def network_with_tokens(model: Model, tokenizer: Tokenizer, kept: Ids) -> tuple[Model, Tokenizer]:
    """The network that knows these tokens alone, and their tokenizer: token vectors, output weights and biases shrink together."""
    fewer = with_tokens(tokenizer, kept)
    recipe = replace(model.recipe, tokenizer=replace(model.recipe.tokenizer, vocabulary=len(kept)))
    made = recipe.assembly.build(recipe, vocabulary=len(kept)).to(next(model.parameters()).dtype)
    made.spell(fewer.tokens())
    made.inherit(model)
    made.languages = None if model.languages is None else _languages(model.languages, kept, fewer)
    _take_rows(made, state_of(model), kept)
    return made.eval(), fewer


@torch.no_grad()
def _take_rows(made: nn.Module, state: dict[str, Tensor], kept: Ids) -> None:
    """Weights of the larger network. What has another size there than here has a row a token: nothing else differs."""
    index = torch.from_numpy(kept)
    for name, parameter in kept_parameters(made).items():
        given = state[name]
        if given.shape != parameter.shape:
            given = given[index.to(given.device)]
        if given.shape != parameter.shape:
            raise PlumeError(f"{name} has no row a token, and changes with the vocabulary: this network's vocabulary cannot be cut.")
        parameter.copy_(given)


def _languages(languages: Languages, kept: Ids, tokenizer: Tokenizer) -> Languages:
    """Tokens that go were seen too, and are unknown from now on: counted so, each language's shares stay what they were."""
    if languages.counts is None:
        return languages
    fewer = languages.counts[:, kept]
    if tokenizer.unknown is not None:
        fewer[:, tokenizer.unknown] += languages.counts.sum(1) - fewer.sum(1)
    return with_fields(languages, counts=np.ascontiguousarray(fewer))
