"""A narrow token table: its rows times one matrix are the token vectors, as near as a table of that width can be."""

from __future__ import annotations

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.model.trainable import kept_parameters
from plume.nn.factorised import FactorisedTokens, vector_width, whole_vectors
from plume.text.fewer_tokens import Ids


@torch.no_grad()
def with_narrow_table(model: Model, width: int, counts: Ids | None = None) -> Model:
    """The network with token vectors of that rank; output weights that are tied to them stay so.

    By the SVD of the vectors (Eckart and Young 1936), each weighted by how often its token occurs, where `counts` tell.
    """
    whole = model.embedding.token
    if not whole.embedding_dim:
        raise PlumeError(f"{model.recipe.name} makes the vectors of words from their characters: there is no table to factorise.")
    if not 1 <= width <= vector_width(whole):
        raise PlumeError(
            f"Token vectors of width {vector_width(whole)} are made of narrower ones: width={width} is not 1 to {vector_width(whole)}."
        )
    recipe = replace(model.recipe, embedding=replace(model.recipe.embedding, factorised=width))
    made = recipe.assembly.build(recipe, vocabulary=model.vocabulary).to(whole.weight.dtype)
    made.inherit(model)
    table, source = made.embedding.token, state_of(model)
    assert isinstance(table, FactorisedTokens)
    own = {id(parameter) for parameter in table.parameters()}
    for name, parameter in kept_parameters(made).items():
        if id(parameter) not in own:
            parameter.copy_(source[name])
    vectors = whole_vectors(whole).double()
    main = _main_directions(vectors, width, counts)
    table.weight.copy_(vectors @ main)
    table.widen.weight.copy_(main)
    return made.eval()


def _main_directions(vectors: Tensor, width: int, counts: Ids | None) -> Tensor:
    """[E, F] orthonormal columns, the right singular vectors of the (weighted) rows."""
    weights = torch.ones(len(vectors)) if counts is None else 1.0 + torch.from_numpy(counts)
    rows = vectors * weights.double().sqrt()[:, None]
    return torch.linalg.eigh(rows.T @ rows).eigenvectors[:, -width:].flip(1)  # the largest last
