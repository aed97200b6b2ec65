"""plume compress --method vocabulary and embedding, from a model directory to one: tuned models, word vectors, exports, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.compressing.shrinking.used_tokens import count_tokens
from plume.compressing.shrinking.vocabulary import network_with_tokens
from plume.core.errors import PlumeError
from plume.model.checkpoint import save_model
from plume.static import model as word_models
from plume.static.phrases import Phrases
from plume.static.reading import WORDS
from plume.static.recipe import FastText, GloVe, StaticRecipe, Word2Vec
from plume.static.text import Vocabulary
from plume.text.fewer_tokens import choose_tokens
from plume.text.known_languages import Languages
from plume.text.tokenizer import Tokenizer
from plume.text.word_level import WordLevel
from plume.tuning.options import start_from_options

ROWS = [
    ("the cat finds two apples", "warm"),
    ("the old captain forgets the letter", "cold"),
    ("小猫喜欢苹果", "warm"),
    ("a letter near the river", "cold"),
]
OTHER = ["my sister paints an umbrella by candlelight", "北京大学的学生", "", "Ω 😀 12"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.tsv"
    file.write_text("".join(f"{text}\t{label}\n" for text, label in ROWS * 3), encoding="utf-8")
    return file


@pytest.fixture
def base(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> Any:
    def make(family: str) -> Path:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(3)
        save_model(tmp_path / "base", model, tokenizer)
        return tmp_path / "base"

    return make


def tuned(base: Path, rows: Path, out: Path, task: str = "classification", **options: Any) -> Path:
    start_from_options(base, task=task, train=str(rows), dev=str(rows), out=out, epochs=1.0, measurements=1, batch=8, quiet=True, **options)
    return out


def close(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(close(one[key], other[key]) for key in one)
    return one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("family", ["bert", "t5", "bart", "gpt2", "electra"])
def test_a_tuned_model_keeps_what_it_was_tuned_on(family: str, base: Any, rows: Path, tmp_path: Path) -> None:
    """Encoder–decoders write their labels: these tokens stay too."""
    whole = plume.load(tuned(base(family), rows, tmp_path / "tuned"))
    small = plume.compress(tmp_path / "tuned", method="vocabulary", out=tmp_path / "small", quiet=True, settings=["characters=false"])
    assert small.tokenizer.size == small.body.model.vocabulary < whole.tokenizer.size
    texts = [text for text, _ in ROWS]
    assert [[small.tokenizer.token(i) for i in row] for row in small.tokenizer.encode(texts)] == [
        [whole.tokenizer.token(i) for i in row] for row in whole.tokenizer.encode(texts)
    ]
    if whole.model.writing:  # how likely a word is depends on how many there are
        before, after = whole.predict(texts), small.predict(texts)
        assert [one["score"] for one in after] == pytest.approx([one["score"] for one in before], abs=0.03)
    else:
        assert all(map(close, small.predict(texts), whole.predict(texts)))
    assert len(small.predict(OTHER)) == len(OTHER)
    assert "vocabulary: `FewerTokens(characters=False)`" in (tmp_path / "small" / "card.md").read_text(encoding="utf-8")
    again = plume.tune(
        tmp_path / "small", task="classification", train=str(rows), dev=str(rows), out=tmp_path / "again", epochs=1, quiet=True
    )
    assert again.tokenizer.size == small.tokenizer.size


def test_pairs_of_methods_and_exports(base: Any, rows: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tuned(base("bert"), rows, tmp_path / "tuned", pooling="cls")
    plume.compress(tmp_path / "tuned", method="vocabulary", out=tmp_path / "fewer", quiet=True)
    small = plume.compress(
        tmp_path / "fewer",
        method="embedding",
        out=tmp_path / "small",
        train=str(rows),
        dev=str(rows),
        settings=["width=8", "recover=false"],
        quiet=True,
    )
    assert small.body.model.embedding.token.weight.shape == (small.tokenizer.size, 8)
    texts = [*(text for text, _ in ROWS), *OTHER[:2]]
    plume.export_hf(tmp_path / "small", out=tmp_path / "hf")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    read = reader(texts, padding=True, truncation=True, max_length=small.declared.length, return_tensors="pt")
    with torch.inference_mode():
        scores = theirs(**read).logits.softmax(-1)
    for row, answer in zip(scores, small.predict(texts), strict=True):
        assert [answer["scores"][label] for label in ("cold", "warm")] == pytest.approx(row.tolist(), abs=1e-4)
    pytest.importorskip("onnxruntime")
    onnx = plume.load(tmp_path / "small", runtime="onnx")
    assert all(close(one, other) for one, other in zip(onnx.predict(texts), small.predict(texts), strict=True))


def test_a_model_that_is_not_tuned_needs_text(base: Any, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The cat finds a wooden box.\n小猫看见苹果。\n", encoding="utf-8")
    whole = plume.load(base("roberta"))
    with pytest.raises(PlumeError, match="give --text FILE"):
        plume.compress(tmp_path / "base", method="vocabulary", out=tmp_path / "none")
    small = plume.compress(tmp_path / "base", method="vocabulary", text=text, out=tmp_path / "small", quiet=True)
    np.testing.assert_allclose(small.embed("The cat finds 苹果"), whole.embed("The cat finds 苹果"), atol=1e-6)
    share = plume.compress(tmp_path / "base", method="vocabulary", text=text, keep=0.95, out=tmp_path / "share", quiet=True)
    assert share.tokenizer.size <= round(0.95 * whole.tokenizer.size)
    exact = plume.compress(tmp_path / "base", method="vocabulary", text=[text], keep=270, out=tmp_path / "number", quiet=True)
    assert exact.tokenizer.size == 270
    for keep, said in ((0.1, "too few"), (0, "share of the"), (-1, "share of the"), (10_000, "share of the")):
        with pytest.raises(PlumeError, match=said):
            plume.compress(tmp_path / "base", method="vocabulary", text=text, keep=keep, out=tmp_path / "none")
    with pytest.raises(PlumeError, match="nothing would be left"):
        plume.compress(tmp_path / "base", method="vocabulary", text=text, settings=["at_least=99"], out=tmp_path / "none")
    with pytest.raises(PlumeError, match="choose less"):
        plume.compress(tmp_path / "base", method="embedding", settings=["width=32"], out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_rows_behind_the_tokenizer_and_shares_of_languages(miniature: Any, built: Any, tokenizer_for: Any) -> None:
    """A table may be longer than its tokenizer; what goes counts as unknown, so that no language seems to grow."""
    recipe = miniature("xlm")
    tokenizer = tokenizer_for(recipe)
    whole = built(recipe, vocabulary=tokenizer.size + 7)
    seen = np.random.default_rng(1).integers(0, 9, (2, tokenizer.size))
    seen[:, tokenizer.special_ids] = 0
    whole.languages = replace(Languages.named(["en", "zh"]), counts=seen)
    kept = choose_tokens(tokenizer, count_tokens(tokenizer, ["the cat", "苹果"]))
    small, fewer = network_with_tokens(whole, tokenizer, kept)
    assert small.vocabulary == fewer.size == len(kept)
    assert small.languages is not None and small.languages.counts is not None
    np.testing.assert_array_equal(small.languages.counts.sum(1), seen.sum(1))
    ordinary = np.arange(len(kept)) != fewer.unknown
    np.testing.assert_array_equal(small.languages.counts[:, ordinary], seen[:, kept[ordinary]])


STATIC = {
    "word2vec": Word2Vec(dimension=6, least=1, phrases=Phrases()),
    "glove": GloVe(dimension=6, least=1),
    "fasttext": FastText(dimension=6, least=1, buckets=50),
}


@pytest.fixture(params=STATIC)
def words(request: Any, tmp_path: Path) -> Path:
    """Vectors nobody trained, of any family, in a directory; word2vec's have a phrase."""
    recipe: StaticRecipe = STATIC[request.param]
    texts = [text for text, _ in ROWS] + OTHER
    tokenizer = Tokenizer(WordLevel(vocabulary=100).train(iter(texts), format=WORDS), format=WORDS)
    known = tuple(token for token in tokenizer.tokens() if tokenizer.id(token) not in tokenizer.special_ids)
    if recipe.phrases is not None:
        known = (*known, "two_apples", "my_sister")
    source = np.random.default_rng(0)
    arrays = {"word": source.normal(size=(len(known), 6)).astype(np.float32)}
    if isinstance(recipe, FastText):
        arrays |= {
            "ngram": source.normal(size=(50, 6)).astype(np.float32),
            "output": source.normal(size=(len(known), 6)).astype(np.float32),
        }
    vocabulary = Vocabulary(words=known, counts=np.arange(len(known), 0, -1))
    word_models.save_model(tmp_path / "words", recipe=recipe, tokenizer=tokenizer, vocabulary=vocabulary, arrays=arrays)
    return tmp_path / "words"


def test_word_vectors_lose_words_that_never_occur(words: Path, rows: Path, tmp_path: Path) -> None:
    whole, text = plume.load(words), tmp_path / "text.txt"
    text.write_text("".join(f"{text}\n" for text, _ in ROWS), encoding="utf-8")
    small = plume.compress(words, method="vocabulary", text=text, out=tmp_path / "small", quiet=True)
    assert len(small.vectors) < len(whole.vectors)
    assert ("two_apples" in small.vectors) == ("two_apples" in whole.vectors)
    assert "my_sister" not in small.vectors and "umbrella" not in small.vectors.index
    texts = [text for text, _ in ROWS]
    assert [small.words(text) for text in texts] == [whole.words(text) for text in texts]
    np.testing.assert_array_equal(small.embed(texts), whole.embed(texts))
    assert np.isfinite(small.embed(OTHER)).all()
    if whole.vectors.ngrams is not None:
        assert small.vectors.knows("umbrella")
        np.testing.assert_array_equal(small.vectors.ngrams.matrix, whole.vectors.ngrams.matrix)


def test_tuned_word_vectors_too(words: Path, rows: Path, tmp_path: Path) -> None:
    whole = plume.load(tuned(words, rows, tmp_path / "tuned"))
    small = plume.compress(tmp_path / "tuned", method="vocabulary", out=tmp_path / "small", quiet=True)
    assert small.model.body.table.num_embeddings < whole.model.body.table.num_embeddings
    texts = [text for text, _ in ROWS]
    assert all(map(close, small.predict(texts), whole.predict(texts)))
    assert len(small.predict(OTHER)) == len(OTHER)
    with pytest.raises(PlumeError, match="takes something out of"):
        plume.compress(tmp_path / "tuned", method="embedding", out=tmp_path / "none")


def test_terms_are_no_tokens(rows: Path, tmp_path: Path) -> None:
    plume.tune("tfidf", task="classification", train=str(rows), dev=str(rows), out=tmp_path / "tuned", quiet=True)
    with pytest.raises(PlumeError, match="terms alone"):
        plume.compress(tmp_path / "tuned", method="vocabulary", out=tmp_path / "none")
