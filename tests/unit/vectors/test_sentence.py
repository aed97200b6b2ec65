"""sentence.json beside a model: what `embed` obeys, and what is saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.nn.pooling import FIRST, MEAN, Pooling
from plume.vectors.sentence import SentenceVectors, Similarity
from plume.vectors.transforms.cut import Cut
from plume.vectors.transforms.normalise import Normalise
from plume.vectors.transforms.without_component import WithoutComponent

TEXTS = ["The cat finds a wooden box near the river.", "我们喜欢苹果。", "My sister paints.", ""]


@pytest.fixture(scope="module")
def bert(miniature: Any, built: Any, tokenizer_for: Any) -> LanguageModel:
    recipe = miniature("bert", length=32)
    tokenizer = tokenizer_for(recipe)
    return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)


def test_a_model_obeys_what_is_saved_beside_it(bert: LanguageModel, tmp_path: Path) -> None:
    pooling = Pooling(tokens=(FIRST, MEAN), layers=(1, -1))
    rows = bert.embed(TEXTS, pooling=pooling)
    declared = SentenceVectors(pooling=pooling, transforms=(WithoutComponent(), Cut(dimensions=7), Normalise()), similarity=Similarity.DOT)
    fitted = declared.fit(rows, on=["texts.txt"])
    LanguageModel(bert.model, bert.tokenizer, fitted).save(tmp_path)
    model = LanguageModel.load(tmp_path)
    assert model.sentence == fitted
    assert (model.sentence.fitted_on, model.sentence.sentences) == (("texts.txt",), 4)
    found = model.embed(TEXTS)
    assert found.shape == (4, 7) and model.width == 7 and found.dtype == np.float32
    component = np.linalg.svd(rows)[2][0]
    expected = (rows - np.outer(rows @ component, component))[:, :7]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)


def test_a_call_that_says_how_gets_raw_vectors(bert: LanguageModel) -> None:
    model = LanguageModel(bert.model, bert.tokenizer, SentenceVectors(transforms=(Cut(dimensions=2),)))
    assert model.embed(TEXTS).shape == (4, 2)
    np.testing.assert_array_equal(model.embed(TEXTS, layer=-1), bert.embed(TEXTS))
    np.testing.assert_array_equal(model.embed(TEXTS, pooling="max"), bert.embed(TEXTS, pooling="max"))
    np.testing.assert_array_equal(model.embed(TEXTS), bert.embed(TEXTS)[:, :2])


def test_the_prompt_and_the_longest_text_are_obeyed(bert: LanguageModel) -> None:
    model = LanguageModel(bert.model, bert.tokenizer, SentenceVectors(prompt="query: ", longest=6))
    ids = bert.tokenizer.encode(["query: " + TEXTS[0]])[0][:4]
    short = LanguageModel(bert.model, bert.tokenizer, SentenceVectors(longest=6))
    assert len(ids) == 4
    np.testing.assert_array_equal(model.embed(TEXTS[:1]), short.embed(["query: " + TEXTS[0] + " and much more"]))
    assert np.abs(model.embed(TEXTS[:1]) - bert.embed(TEXTS[:1])).max() > 1e-3


def test_what_is_not_whole_is_refused(bert: LanguageModel, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="must be fitted before it is saved"):
        SentenceVectors(transforms=(WithoutComponent(),)).save(tmp_path)
    with pytest.raises(PlumeError, match="must be fitted before it is applied"):
        WithoutComponent().apply(np.ones((2, 2), np.float32))
    SentenceVectors(transforms=(WithoutComponent(),)).fit(bert.embed(TEXTS)).save(tmp_path)
    (tmp_path / "sentence.safetensors").write_bytes(b"cut")
    with pytest.raises(PlumeError, match="cut short"):
        SentenceVectors.read(tmp_path)
    (tmp_path / "sentence.safetensors").unlink()
    with pytest.raises(PlumeError, match="is missing"):
        SentenceVectors.read(tmp_path)
    assert SentenceVectors.read(tmp_path / "elsewhere") is None


def test_layers_are_averaged_or_joined(bert: LanguageModel) -> None:
    hidden = bert.hidden(TEXTS)
    average = bert.embed(TEXTS, pooling=Pooling(layers=(1, -1)))
    joined = bert.embed(TEXTS, pooling=Pooling(layers=(1, -1), joined=True))
    first, last = (np.stack([one.layers[layer].mean(0) for one in hidden]) for layer in (1, -1))
    np.testing.assert_allclose(average, (first + last) / 2, atol=1e-5)
    np.testing.assert_allclose(joined, np.concatenate([first, last], 1), atol=1e-5)
    model = LanguageModel(bert.model, bert.tokenizer, SentenceVectors(pooling=Pooling(layers=(1, -1), joined=True)))
    assert model.width == joined.shape[1] and model.embed([]).shape == (0, model.width)
