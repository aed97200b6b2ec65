"""A trained model at work: vectors, scores and guesses, each against the plain computation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog

FAMILIES = catalog.networks()
TEXTS = [
    "The cat finds a wooden box near the river.",
    "我们喜欢苹果。",
    "",
    "My sister paints.",
    "A tired sailor remembers the lighthouse after the storm. 老师看见旧房子。",
    "The cat finds a wooden box near the river.",
]


@pytest.fixture(scope="module")
def language_model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    made: dict[Any, LanguageModel] = {}

    def make(family: str, *, longest: int = 64) -> LanguageModel:
        if (family, longest) not in made:
            recipe = miniature(family, length=longest // 2)
            recipe = replace(recipe, positions=replace(recipe.positions, longest=longest))
            tokenizer = tokenizer_for(recipe)
            made[family, longest] = LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)
        return made[family, longest]

    return make


# Vectors


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_layer_is_the_same_by_both_its_numbers(language_model: Any, family: str) -> None:
    """By -1 it is all that is kept."""
    model = language_model(family)
    language = "en" if model.recipe.languages else None
    by_number = model.embed(TEXTS, layer=model.recipe.network.depth, language=language)
    np.testing.assert_array_equal(model.embed(TEXTS, layer=-1, language=language), by_number)
    np.testing.assert_array_equal(model.embed(TEXTS, language=language), by_number)


@pytest.mark.parametrize("pooling", ["mean", "first", "last", "max"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_vector_does_not_depend_on_the_other_texts(language_model: Any, family: str, pooling: str) -> None:
    model = language_model(family)
    language = "en" if model.recipe.languages else None  # one of the texts is empty, and nothing tells what it is in
    together = model.embed(TEXTS, pooling=pooling, language=language)
    alone = np.concatenate([model.embed(text, pooling=pooling, language=language) for text in TEXTS])
    order = [4, 2, 0, 5, 1, 3]
    moved = model.embed([TEXTS[number] for number in order], pooling=pooling, batch=2, language=language)
    assert np.abs(together - alone).max() < 1e-6
    assert np.abs(moved - together[order]).max() < 1e-6
    assert (together[0] == together[5]).all()
    # Read from left to right, a sign before the text knows nothing of it.
    blind = pooling == "first" and model.recipe.recurrent and model.recipe.assembly.directions == 1 and model.recipe.format.single[0] != "A"
    assert len(np.unique(together.round(5), axis=0)) == (1 if blind else 5)


def states(model: LanguageModel, ids: list[int], layer: int) -> Tensor:
    with torch.no_grad():
        return model.model.encode(Batch(tokens=torch.tensor([ids]), order=model.abilities.reading_order), keep_layers=True).layers[layer][0]


def framed(model: LanguageModel, text: str) -> list[int]:
    encoding = model.tokenizer.backend.encode(text)
    return encoding.ids


@pytest.mark.parametrize("layer", [0, 1, -1])
@pytest.mark.parametrize("family", ["bert", "gpt2", "albert", "electra"])
def test_pooling_is_over_the_framed_text(language_model: Any, family: str, layer: int) -> None:
    model = language_model(family)
    hidden = states(model, framed(model, TEXTS[0]), layer)
    expected = {"mean": hidden.mean(0), "first": hidden[0], "last": hidden[-1], "max": hidden.amax(0)}
    for pooling, vector in expected.items():
        assert np.abs(model.embed(TEXTS[0], pooling=pooling, layer=layer)[0] - vector.numpy()).max() < 1e-6


def test_hidden_gives_every_layer_and_head(language_model: Any) -> None:
    model = language_model("bert")
    (found,) = model.hidden(TEXTS[0], attention=True)
    ids = framed(model, TEXTS[0])
    assert found.tokens == [model.tokenizer.token(number) for number in ids]
    assert [layer.shape for layer in found.layers] == [(len(ids), 32)] * 3
    assert [probability.shape for probability in found.attention] == [(4, len(ids), len(ids))] * 2
    assert np.abs(found.attention[0].sum(-1) - 1).max() < 1e-5
    assert np.abs(found.layers[2] - states(model, ids, 2).numpy()).max() < 1e-6


def test_a_long_text_is_cut_at_what_the_model_reads(language_model: Any) -> None:
    model = language_model("bert", longest=16)
    long = " ".join(["the cat"] * 40)
    ids = model.tokenizer.encode([long])[0]
    expected = states(model, [model.tokenizer.begin, *ids[:14], model.tokenizer.separator], -1).mean(0)
    assert np.abs(model.embed(long)[0] - expected.numpy()).max() < 1e-6


@pytest.mark.parametrize(
    ("wrong", "said"), [({"pooling": "middle"}, "no pooling 'middle'"), ({"layer": 3}, "no layer 3"), ({"layer": -4}, "no layer -4")]
)
def test_wrong_wishes_are_answered(language_model: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        language_model("bert").embed("the cat", **wrong)


# Scores


def log_scores(model: LanguageModel, ids: list[int], *, order: Order) -> Tensor:
    can = model.abilities
    kind = can.masked() or can.causal()
    assert kind is not None
    head = can.head(kind)
    with torch.no_grad():
        return head.logits(model.model.token_states(Batch(tokens=torch.tensor([ids]), order=order)).last[0]).log_softmax(-1)


@pytest.mark.parametrize("family", ["gpt", "gpt2"])
def test_a_causal_score_is_the_sum_over_tokens(language_model: Any, family: str) -> None:
    model = language_model(family)
    for text, score in zip(TEXTS, model.score(TEXTS), strict=True):
        ids = [model.tokenizer.separator, *model.tokenizer.encode([text])[0]]
        scores = log_scores(model, ids, order=Order.CAUSAL)
        expected = sum(float(scores[place, token]) for place, token in enumerate(ids[1:]))
        assert score.log_probability == pytest.approx(expected, abs=1e-4)
        assert score.tokens == len(ids) - 1
        assert score.perplexity == pytest.approx(math.exp(-expected / max(len(ids) - 1, 1)), rel=1e-5)


@pytest.mark.parametrize("longest", [8, 9, 2])
@pytest.mark.parametrize("words", [3, 4, 5, 20, 21, 22])
def test_a_text_beyond_the_window_is_scored_once_a_token(language_model: Any, words: int, longest: int) -> None:
    """Windows overlap by half: each token is predicted once, from at least half a window where there is so much before it."""
    model = language_model("gpt2", longest=longest)
    text = "x" * words
    ids = [model.tokenizer.separator, *model.tokenizer.encode([text])[0]]
    assert len(ids) == words + 1
    half = longest // 2
    expected = 0.0
    for place in range(1, len(ids)):
        first = (place - 1) // half * half
        start = 0 if len(ids) <= longest + 1 else max(0, first - (longest - half))
        assert place - start >= min(place, half)
        assert place - start <= longest
        expected += float(log_scores(model, ids[start:place], order=Order.CAUSAL)[-1, ids[place]])
    (score,) = model.score(text)
    assert score.log_probability == pytest.approx(expected, abs=1e-4)
    assert score.tokens == words


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra"])
def test_a_masked_score_hides_each_token_in_turn(language_model: Any, family: str) -> None:
    model = language_model(family)
    for text, small, large in zip(TEXTS, model.score(TEXTS, batch=3), model.score(TEXTS), strict=True):
        ids = framed(model, text)
        places = [place for place, token in enumerate(ids) if token not in model.tokenizer.special_ids]
        expected = 0.0
        for place in places:
            hidden = [model.tokenizer.mask if number == place else token for number, token in enumerate(ids)]
            expected += float(log_scores(model, hidden, order=Order.FULL)[place, ids[place]])
        assert small.log_probability == pytest.approx(expected, abs=1e-4)
        assert large.log_probability == pytest.approx(expected, abs=1e-4)
        assert small.tokens == len(places)


# Blanks


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra"])
def test_blanks_are_the_likeliest_tokens(language_model: Any, family: str) -> None:
    model = language_model(family)
    mask = model.tokenizer.format.mask
    blanks = model.fill(f"The cat {mask} a {mask} box.", top=4)
    ids = framed(model, f"The cat {mask} a {mask} box.")
    places = [place for place, token in enumerate(ids) if token == model.tokenizer.mask]
    assert len(blanks) == len(places) == 2
    for guesses, place in zip(blanks, places, strict=True):
        probability = log_scores(model, ids, order=Order.FULL)[place].exp()
        probability[torch.from_numpy(model.tokenizer.special_ids)] = 0.0
        values, tokens = probability.topk(4)
        assert [guess.probability for guess in guesses] == pytest.approx(values.tolist(), rel=1e-5)
        assert [guess.token for guess in guesses] == [
            model.tokenizer.decode([token]) or model.tokenizer.token(token) for token in tokens.tolist()
        ]
        assert all(mask in guess.text for guess in guesses), "the other blank stays open"


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_blank_is_what_training_hides(language_model: Any, family: str) -> None:
    """One token of the text replaced by the mask, and nothing else."""
    tokenizer = language_model(family).tokenizer
    ids = tokenizer.encode(["The cat finds a wooden box."])[0]
    hidden = [tokenizer.mask if tokenizer.token(number) in ("a", "Ġa") else number for number in ids]
    assert hidden.count(tokenizer.mask) == 1
    assert tokenizer.encode([f"The cat finds {tokenizer.format.mask} wooden box."], allow_special=True)[0] == hidden


def test_a_guess_stands_in_its_text(language_model: Any) -> None:
    model = language_model("bert")
    ((guess,),) = model.fill("the cat [MASK] a box", top=1)
    (token,) = [number for number in range(model.tokenizer.size) if model.tokenizer.decode([number]) == guess.token][:1]
    ids = model.tokenizer.encode(["the cat [MASK] a box"], allow_special=True)[0]
    assert guess.text == model.tokenizer.decode([token if number == model.tokenizer.mask else number for number in ids])


@pytest.mark.parametrize(
    ("family", "verb", "said"),
    [
        ("gpt2", lambda model: model.fill("a [MASK]"), "gpt2 cannot fill blanks.*It can embed, generate, score"),
        ("bert", lambda model: model.generate("a"), "bert cannot generate.*It can embed, fill, score"),
        ("bert", lambda model: model.fill("no blank here"), r"write \[MASK\] \(or ___\) where something is missing"),
        ("bert", lambda model: model.fill("[MASK] " + "the cat " * 60), "this model reads at most 64"),
        ("bert", lambda model: model.score("the cat " * 60), "this model reads at most 64"),
        ("gpt2", lambda model: model.generate("the cat " * 60), "must have room to write"),
    ],
)
def test_what_a_model_cannot_do_is_said(language_model: Any, family: str, verb: Any, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        verb(language_model(family))


def test_generated_text_begins_with_the_prompt_and_fits(language_model: Any) -> None:
    model = language_model("gpt2")
    text = model.generate("The cat", max_tokens=500, greedy=True)
    assert text.startswith("The cat")
    assert len(model.tokenizer.encode([model.generate("", max_tokens=3, greedy=True)])[0]) <= 4 * 3
    assert model.generate("The cat", max_tokens=0) == "The cat"


def test_a_saved_model_says_the_same(language_model: Any, tmp_path: Path) -> None:
    model = language_model("bert")
    single = LanguageModel(model.model.float(), model.tokenizer)
    expected = single.embed(TEXTS)
    single.save(tmp_path / "model")
    assert (LanguageModel.load(tmp_path / "model").embed(TEXTS) == expected).all()
    model.model.double()
