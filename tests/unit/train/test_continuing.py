"""A trained model goes on: which recipe, with which head, and how words of the corpus get into its tokenizer."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import plume
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.layout import FullSentences, SentencePairs
from plume.heads.token_prediction import TokenPredictionModule
from plume.model.checkpoint import load_model, read_recipe, save_model
from plume.model.optimizers.adamw import AdamW
from plume.model.recipe import Recipe
from plume.model.use.language_model import LanguageModel
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import ByteLevelBPE, TokenizerSpec, Unigram, WordPiece
from plume.train.continuing.recipe import continuing_recipe
from plume.train.continuing.start import read_start, recipe_to_continue
from plume.train.continuing.words import add_words, find_words, grown, with_words
from plume.train.pretrain import start
from plume.train.settings import make_settings

LETTERS = "quick zoo jumbo alumni bookkeeper koala"  # of which pieces are made
PLAIN = ["the cat sat on the mat and the dog ran", "a cat and a dog saw the man on a mat"] * 20 + [LETTERS]
NEW = [*PLAIN, *["the quokka saw the zamboni and the quokka ran on"] * 8]
SMALL = [
    "network.width=16",
    "network.depth=1",
    "network.heads=2",
    "network.feed_forward=32",
    "embedding.width=16",
    "tokenizer.vocabulary=200",
]


def tiny(**changes: object) -> Recipe:
    recipe = plume.recipe("bert/tiny")
    assert isinstance(recipe, Recipe)
    for one in SMALL:
        recipe = recipe.override(one)
    return replace(recipe, **changes)


def tokenizer_of(spec: TokenizerSpec, recipe: Recipe) -> Tokenizer:
    return Tokenizer(spec.train(iter(PLAIN), format=recipe.format), format=recipe.format)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "news.txt"
    path.write_text("\n\n".join(NEW) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Hugging Face directory of a BERT without heads, as sentence encoders are published."""
    recipe = tiny(objectives=())
    tokenizer = tokenizer_of(WordPiece(vocabulary=120), recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "model", model, tokenizer)
    plume.export_hf(tmp_path / "model", out=tmp_path / "bare")
    return tmp_path / "bare"


@pytest.mark.parametrize(
    ("family", "spec"), [("bert", WordPiece(vocabulary=120)), ("roberta", ByteLevelBPE(vocabulary=300)), ("albert", Unigram(vocabulary=60))]
)
def test_words_become_tokens_that_decode_to_themselves(family: str, spec: TokenizerSpec) -> None:
    recipe = plume.recipe(f"{family}/tiny")
    assert isinstance(recipe, Recipe)
    before = tokenizer_of(spec, recipe)
    found = find_words(before, NEW, 50)
    words = [word for word in found if word.token.lstrip("Ġ▁") in ("quokka", "zamboni")]
    assert [word.token.lstrip("Ġ▁") for word in words] == ["quokka", "zamboni"], "the most tokens are saved first"
    after = with_words(before, words)
    sentence = "the quokka saw the zamboni and the cat"
    (ids,), (old,) = after.encode([sentence]), before.encode([sentence])
    assert after.size == before.size + 2 and before.size in ids and before.size + 1 in ids
    assert after.decode(ids) == before.decode(old) == sentence
    put_back = [piece for number in ids for piece in (words[number - before.size].pieces if number >= before.size else (number,))]
    assert put_back == old, "everything else is cut as before"
    assert after.encode(PLAIN) == before.encode(PLAIN)


def test_whole_words_take_no_new_ones() -> None:
    recipe = plume.recipe("elmo/tiny")
    assert isinstance(recipe, Recipe)
    tokenizer = Tokenizer(recipe.tokenizer.train(iter(PLAIN), format=recipe.format), format=recipe.format)
    with pytest.raises(PlumeError, match="cut words into pieces"):
        find_words(tokenizer, NEW, 2)


def test_new_vectors_are_the_means_of_their_pieces_at_both_ends() -> None:
    recipe = tiny()
    tokenizer = tokenizer_of(WordPiece(vocabulary=120), recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size + 1)  # a row that no token uses, as checkpoints have them
    model.initialise(1)
    head = model.head("masked_lm")
    assert isinstance(head, TokenPredictionModule) and head.bias is not None
    with torch.no_grad():
        head.bias.normal_()
    words = find_words(tokenizer, NEW, 2)
    larger = grown(model, tokenizer.size, words)
    assert larger.vocabulary == tokenizer.size + 2
    mine, theirs = dict(larger.named_parameters()), dict(model.named_parameters())
    for name in ("embedding.token.weight", "heads.masked_lm.bias"):
        for place, word in enumerate(words):
            assert torch.allclose(mine[name][tokenizer.size + place], theirs[name][list(word.pieces)].mean(0))
        assert torch.equal(mine[name][: tokenizer.size], theirs[name][: tokenizer.size])
    assert all(torch.equal(mine[name], theirs[name]) for name in mine if mine[name].shape == theirs[name].shape)


def test_nothing_to_add_is_said(corpus: object) -> None:
    recipe = tiny()
    tokenizer = tokenizer_of(WordPiece(vocabulary=120), recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plume.train.continuing.words.sample_paragraphs", lambda *_, **__: iter(["猫坐着。" * 9]))
        made = add_words(model, tokenizer, corpus, 5)  # type: ignore[arg-type]
    assert made.model is model and "No word was added" in made.note


def test_what_has_a_head_stays_and_what_hides_text_comes_back() -> None:
    bert = tiny()
    same = continuing_recipe(bert)
    assert same.objectives == bert.objectives and isinstance(same.layout, SentencePairs)
    assert (same.training.length, same.training.batch) == (128, 16) and same.training.peak == pytest.approx(0.128 / 16, rel=0.5)
    masked = continuing_recipe(replace(bert, objectives=bert.objectives[:1]))
    assert [one.name for one in masked.objectives] == ["masked_lm"] and isinstance(masked.layout, FullSentences)
    published = plume.recipe("t5/base")
    assert isinstance(published, Recipe)
    t5 = continuing_recipe(replace(published, objectives=()))
    assert isinstance(t5.training.optimizer, AdamW) and t5.objectives == published.objectives
    assert t5.transformer.dropout == published.transformer.dropout
    with pytest.raises(PlumeError, match="no family of plume's"):
        continuing_recipe(replace(bert, name="mine", objectives=()))


def test_a_directory_without_a_head_goes_on_with_new_words_and_is_resumed_without_it(bare: Path, text: Path, tmp_path: Path) -> None:
    recipe = recipe_to_continue(bare)
    settings = make_settings(recipe, corpus=text, budget="4steps", init=bare, overrides=["training.length=16"], add_words=2)
    whole = start(settings, tmp_path / "whole", quiet=True)
    model, tokenizer = load_model(tmp_path / "whole")
    assert len(tokenizer.encode(["the quokka"])[0]) == 2
    card = (tmp_path / "whole" / "card.md").read_text(encoding="utf-8")
    for words in ("Goes on from", "no head for masked_lm: a new one was made", "2 words of the corpus were added", "quokka, zamboni"):
        assert words in card
    assert read_recipe(tmp_path / "whole").training.length == read_start(bare).length == 512, "it still reads what it could read before"
    assert model.vocabulary == tokenizer.size and "masked_lm" in whole.outcome.held_out

    half = start(replace(settings, budget=replace(settings.budget, amount=2.0)), tmp_path / "half", quiet=True)
    shutil.rmtree(bare)
    plume.resume(tmp_path / "half", budget="4steps", quiet=True)
    assert half.folder.exists()
    got, _ = load_model(tmp_path / "half")
    assert got.vocabulary == model.vocabulary and "quokka, zamboni" in (tmp_path / "half" / "card.md").read_text(encoding="utf-8")


def test_a_new_head_begins_at_the_frequencies_and_passes_states_on(bare: Path, text: Path, tmp_path: Path) -> None:
    made = plume.pretrain(init=bare, corpus=text, out=tmp_path / "run", budget="1steps", overrides=["training.peak=1e-12"], quiet=True)
    assert isinstance(made, LanguageModel)
    head = made.model.head("masked_lm")
    assert isinstance(head, TokenPredictionModule) and head.bias is not None and head.dense is not None
    assert torch.allclose(head.dense.weight, torch.eye(16), atol=1e-6)
    share = head.bias.exp().detach().numpy()
    assert share.sum() == pytest.approx(1, abs=1e-5) and int(np.argmax(share)) == made.tokenizer.id("the")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "A recipe is needed, or a model to go on with"),
        ({"init": "nowhere"}, "There is no model directory at nowhere"),
        ({"recipe": "bert/tiny", "add_words": 3}, "the model that --init names"),
    ],
)
def test_refusals(given: dict[str, object], said: str, text: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        plume.pretrain(corpus=text, out=tmp_path / "run", budget="1steps", quiet=True, **given)  # type: ignore[arg-type]


def test_what_is_no_pre_trained_network_does_not_go_on(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "model" / "task.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PlumeError, match="fine-tuned for a task"):
        recipe_to_continue(tmp_path / "model")
