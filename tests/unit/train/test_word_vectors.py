"""Runs that make word vectors: what is written, gone on with, refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.embedded import chinese_documents, english_documents, write_embedded
from plume.static.exchange import export_vectors, import_vectors
from plume.static.model import WordModel, read_arrays
from plume.static.recipe import StaticRecipe
from plume.train import word_vectors
from plume.train.settings import make_word_settings, read_settings

FAMILIES = ["word2vec", "fasttext", "glove"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "both.txt"
    write_embedded(path, [*list(english_documents())[:150], *list(chinese_documents())[:150]])
    return path


def tiny(family: str) -> StaticRecipe:
    recipe = plume.recipe(f"{family}/tiny")
    small = {"dimension": 16, "epochs": 3, "least": 2} | ({"buckets": 500} if family == "fasttext" else {})
    return replace(recipe, **small)


@pytest.fixture(scope="module")
def runs(corpus: Path, tmp_path_factory: pytest.TempPathFactory, cache: Any) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for family in FAMILIES:
        plume.pretrain(tiny(family), corpus=corpus, out=folder / family, threads=1, seed=3, quiet=True)
    return {family: folder / family for family in FAMILIES}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_makes_a_model_that_loads_embeds_and_says_what_is_alike(family: str, runs: dict[str, Path]) -> None:
    model = plume.load(runs[family])
    assert isinstance(model, WordModel)
    assert model.recipe.name == family
    assert {path.name for path in runs[family].iterdir()} == {
        "card.md",
        "model.safetensors",
        "recipe.json",
        "tokenizer.json",
        "train",
        "words.tsv",
    }
    assert not (runs[family] / "train" / "scratch").exists()
    vectors = model.embed(["the river", "自然语言"])
    assert vectors.shape == (2, 16)
    assert np.isfinite(vectors).all()
    assert len(model.most_similar(model.vectors.words[5], top=3)) == 3
    assert (np.diff(model.vectors.counts) <= 0).all()
    card = (runs[family] / "card.md").read_text(encoding="utf-8")
    assert "knowing only how frequent words are costs" in card


@pytest.mark.parametrize("family", FAMILIES)
def test_one_thread_and_a_seed_give_the_same_bits(family: str, runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    plume.pretrain(tiny(family), corpus=corpus, out=tmp_path / "again", threads=1, seed=3, quiet=True)
    first, again = read_arrays(runs[family] / "model.safetensors"), read_arrays(tmp_path / "again" / "model.safetensors")
    assert all(np.array_equal(first[name], again[name]) for name in first)
    plume.pretrain(tiny(family), corpus=corpus, out=tmp_path / "other", threads=1, seed=4, quiet=True)
    assert not np.array_equal(first["word"], read_arrays(tmp_path / "other" / "model.safetensors")["word"])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_that_is_stopped_and_resumed_ends_as_if_it_had_not(
    family: str, runs: dict[str, Path], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_word_settings(tiny(family), corpus=corpus, threads=1, seed=3)
    measured = word_vectors._Run._measure

    def stop_after_the_first_piece(run: Any, standing: Any, *given: Any) -> None:
        measured(run, standing, *given)
        if standing.pieces == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(word_vectors._Run, "_measure", stop_after_the_first_piece)
    stopped = word_vectors.start(settings, tmp_path / "run", quiet=True)
    assert stopped.stopped_by == "SIGTERM"
    assert not np.array_equal(
        read_arrays(tmp_path / "run" / "model.safetensors")["word"], read_arrays(runs[family] / "model.safetensors")["word"]
    )
    monkeypatch.setattr(word_vectors._Run, "_measure", measured)
    kept = read_settings(tmp_path / "run")
    assert word_vectors.resume(tmp_path / "run", kept, quiet=True).stopped_by is None  # type: ignore[arg-type]
    whole, resumed = (read_arrays(folder / "model.safetensors") for folder in (runs[family], tmp_path / "run"))
    assert all(np.array_equal(whole[name], resumed[name]) for name in whole)


def test_a_budget_ends_a_run(corpus: Path, tmp_path: Path) -> None:
    settings = make_word_settings(replace(tiny("word2vec"), epochs=10_000), corpus=corpus, threads=1, budget="1e5tokens")
    spent = word_vectors.start(settings, tmp_path / "run", quiet=True).spent
    assert 1e5 <= spent.tokens < 3e5


def test_phrases_are_words(corpus: Path, tmp_path: Path) -> None:
    made = plume.pretrain(
        tiny("word2vec"), corpus=corpus, out=tmp_path / "run", threads=1, overrides=["phrases=Phrases(threshold=1.0, delta=1)"], quiet=True
    )
    phrases = [word for word in made.vectors.words if "_" in word]
    assert phrases
    left, right = phrases[0].split("_")[:2]
    assert made.words(f"{left} {right}") == [f"{left}_{right}"]


def test_fasttext_knows_words_that_were_never_seen(runs: dict[str, Path]) -> None:
    fasttext, word2vec = plume.load(runs["fasttext"]), plume.load(runs["word2vec"])
    word = next(word for word in fasttext.vectors.words if word.isascii() and word.isalpha() and len(word) > 6)
    misspelt = word[:3] + word[2:]
    assert misspelt not in fasttext.vectors
    assert fasttext.similarity(word, misspelt) > fasttext.similarity(word, "zzqzq")
    with pytest.raises(PlumeError, match=misspelt):
        word2vec.similarity(word, misspelt)


@pytest.mark.parametrize(("family", "name"), [("word2vec", "v.txt"), ("glove", "v.bin"), ("fasttext", "v.bin")])
def test_vectors_leave_and_come_back(family: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    export_vectors(runs[family], tmp_path / name)
    back = import_vectors(tmp_path / name, tmp_path / "back")
    before = plume.load(runs[family])
    assert back.vectors.words == before.vectors.words
    assert np.array_equal(back.vectors.matrix, before.vectors.matrix)
    if family == "fasttext":
        assert np.array_equal(back.vectors.vector("riverrr"), before.vectors.vector("riverrr"))
    assert np.array_equal(back.embed("the river"), before.embed("the river"))
    with pytest.raises(PlumeError, match="exists already"):
        import_vectors(tmp_path / name, tmp_path / "back")


def test_only_fasttext_has_fasttext_s_file(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="has no n-grams"):
        export_vectors(runs["word2vec"], tmp_path / "v.bin", to="fasttext")
    with pytest.raises(PlumeError, match="no format 'onnx'"):
        export_vectors(runs["word2vec"], tmp_path / "v.bin", to="onnx")


@pytest.mark.parametrize(
    ("text", "settings", "reason"),
    [
        ("word word word word\n" * 30, [], "two different words"),
        ("one two three four\n" * 30, ["least=1", "negatives=9"], "too small for 9 negatives"),
        ("each word here is written twice.\n\n" * 8, ["least=9"], "No word occurs 9 times"),
        ("one two\n" * 30, ["dimension=0"], "dimension=0"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(text: str, settings: list[str], reason: str, tmp_path: Path, cache: Any) -> None:
    (tmp_path / "c.txt").write_text(text, encoding="utf-8")
    with pytest.raises(PlumeError, match=reason):
        plume.pretrain("word2vec", corpus=tmp_path / "c.txt", out=tmp_path / "run", overrides=settings, quiet=True)
    assert not (tmp_path / "run").exists()


def test_what_only_networks_have_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="has no use for init"):
        plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "run", init="runs/bert", quiet=True)
    with pytest.raises(PlumeError, match="means nothing for word vectors"):
        plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "run", budget="5steps", quiet=True)


def test_another_text_is_not_gone_on_with(corpus: Path, tmp_path: Path) -> None:
    copy = tmp_path / "c.txt"
    copy.write_text(corpus.read_text(encoding="utf-8"), encoding="utf-8")
    plume.pretrain(tiny("word2vec"), corpus=copy, out=tmp_path / "run", threads=1, quiet=True)
    copy.write_text("quite another text.\n" * 50, encoding="utf-8")
    with pytest.raises(PlumeError, match="is not what"):
        plume.resume(tmp_path / "run", quiet=True)


@pytest.mark.parametrize(("name", "damage", "reason"), [
    ("words.tsv", "no tab here\n", "line 1"),
    ("words.tsv", "the\t3\n", "not of the same run"),
    ("model.safetensors", "x", "cannot be read as safetensors"),
])  # fmt: skip
def test_a_damaged_folder_says_so(name: str, damage: str, reason: str, runs: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs["word2vec"], tmp_path / "copy")
    (tmp_path / "copy" / name).write_text(damage, encoding="utf-8")
    with pytest.raises(PlumeError, match=reason):
        plume.load(tmp_path / "copy")
