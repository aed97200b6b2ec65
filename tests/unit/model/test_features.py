"""Frozen features: every layer of a model that learns no more, mixed for a task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.model.features import FrozenFeatures, Place
from plume.model.language_model import LanguageModel


@pytest.fixture(params=["elmo", "bert", "cove"])
def model(request: pytest.FixtureRequest, miniature: Any, tokenizer_for: Any) -> LanguageModel:
    recipe = miniature(request.param)
    tokenizer = tokenizer_for(recipe)
    network = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    network.initialise(1)
    network.spell(tokenizer.tokens())
    return LanguageModel(network, tokenizer)


TEXTS = ["The cat paints.", "我们看见自然语言。"]


def test_equal_weights_give_the_mean_of_the_layers(model: LanguageModel) -> None:
    if model.recipe.name == "cove":  # 16 wide vectors, then layers of 64
        with pytest.raises(PlumeError, match="only layers of one width"):
            FrozenFeatures(model)
        return
    features = FrozenFeatures(model)
    found = features(TEXTS)
    assert found.output is None
    assert found.input is not None
    for row, text in enumerate(TEXTS):
        hidden = model.hidden(text)[0]
        assert found.tokens[row] == hidden.tokens
        size = len(hidden.tokens)
        assert np.allclose(found.input[row, :size].detach().numpy(), np.mean(hidden.layers, axis=0), atol=1e-5)
    assert found.input.shape[2] == features.width == model.model.width


@pytest.mark.parametrize("model", ["elmo"], indirect=True)
def test_only_the_mixes_learn_and_each_place_has_its_own(model: LanguageModel) -> None:
    features = FrozenFeatures(model, at=Place.BOTH)
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    assert sum(parameter.numel() for parameter in features.parameters()) == 2 * (len(model.hidden("a")[0].layers) + 1)
    optimiser = torch.optim.SGD(features.parameters(), lr=0.5)
    found = features(TEXTS)
    assert found.input is not None and found.output is not None
    (found.input.pow(2).mean() - found.output.pow(2).mean() + features.penalty(0.1)).backward()
    optimiser.step()
    after = features(TEXTS)
    assert after.input is not None and after.output is not None
    assert not torch.allclose(after.input, after.output)
    assert all(torch.equal(value, before[name]) for name, value in model.model.state_dict().items())
    assert not any("model" in name for name in features.state_dict())
