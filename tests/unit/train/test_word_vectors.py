"""Runs that make word vectors: what is written, gone on with, refused."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded
from plume.embedded.python_manual import english_documents
from plume.static.exchange import export_vectors, import_vectors
from plume.static.glove import GloVeTrainer
from plume.static.model import WordModel, read_arrays
from plume.static.phrases import Phrases
from plume.static.reading import without_rare
from plume.static.recipe import StaticRecipe
from plume.static.text import Vocabulary, WordText
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
    assert "word frequencies alone give" in card


@pytest.mark.parametrize("family", FAMILIES)
def test_one_thread_and_a_seed_give_the_same_bits(family: str, runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    plume.pretrain(tiny(family), corpus=corpus, out=tmp_path / "again", threads=1, seed=3, quiet=True)
    first, again = read_arrays(runs[family] / "model.safetensors"), read_arrays(tmp_path / "again" / "model.safetensors")
    assert all(np.array_equal(first[name], again[name]) for name in first)
    plume.pretrain(tiny(family), corpus=corpus, out=tmp_path / "other", threads=1, seed=4, quiet=True)
    assert not np.array_equal(first["word"], read_arrays(tmp_path / "other" / "model.safetensors")["word"])


def test_a_run_that_is_done_and_resumed_stays_as_it_was(runs: dict[str, Path], tmp_path: Path) -> None:
    """As one does that was killed between its last checkpoint and whoever waited for it: nothing is measured twice in its log."""
    folder = shutil.copytree(runs["word2vec"], tmp_path / "run")
    before = (folder / "train" / "metrics.jsonl").read_bytes()
    again = word_vectors.resume(folder, read_settings(folder), quiet=True)  # type: ignore[arg-type]
    assert again.stopped_by is None and not np.isnan(again.measured.loss)
    assert (folder / "train" / "metrics.jsonl").read_bytes() == before


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


def test_counting_is_part_of_a_budget_of_time(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, now = GloVeTrainer.prepare, [0.0]

    def slowly(*given: Any) -> None:
        now[0] += 0.5
        prepare(*given)

    monkeypatch.setattr(GloVeTrainer, "prepare", slowly)
    monkeypatch.setattr(word_vectors, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    settings = make_word_settings(replace(tiny("glove"), epochs=10_000), corpus=corpus, threads=1, budget="0.4s")
    spent = word_vectors.start(settings, tmp_path / "run", quiet=True).spent
    assert (spent.seconds, spent.steps) == (0.5, 1), "nothing was left of it but for the piece that every run has"


def test_phrases_are_words(corpus: Path, tmp_path: Path) -> None:
    made = plume.pretrain(
        tiny("word2vec"), corpus=corpus, out=tmp_path / "run", threads=1, overrides=["phrases=Phrases(threshold=1.0, delta=1)"], quiet=True
    )
    phrases = [word for word in made.vectors.words if "_" in word]
    assert phrases
    left, right = phrases[0].split("_")[:2]
    assert made.words(f"{left} {right}") == [f"{left}_{right}"]


def test_long_phrases_are_found_again_at_use() -> None:
    """Also where a shorter one was only a step on the way and is no word."""
    assert Phrases(passes=2).join(["a", "new", "york", "times"], {"new_york_times": 0}) == ["a", "new_york_times"]
    assert Phrases(passes=1).join(["a", "new", "york", "times"], {"new_york_times": 0, "new_york": 1}) == ["a", "new_york", "times"]
    assert Phrases().join(["北京", "大学"], {"北京大学": 0}) == ["北京大学"]


def test_what_phrases_leave_over_is_thinned_out() -> None:
    vocabulary = Vocabulary(words=("a", "b", "c"), counts=np.array([5, 2, 1]))
    text = WordText(ids=np.array([0, 2, 1, 2, 0], np.int32), start=np.array([0, 1, 2, 5]))
    fewer, known = without_rare(text, vocabulary, 2)
    assert (fewer.ids.tolist(), fewer.start.tolist(), known.words) == ([0, 1, 0], [0, 1, 3], ("a", "b"))


def test_held_out_text_without_pairs_of_words_is_not_measured(corpus: Path) -> None:
    vocabulary = Vocabulary(words=tuple("abcdefgh"), counts=np.arange(80, 0, -10))
    text = WordText(ids=np.arange(8, dtype=np.int32).repeat(5), start=np.array([0, 20, 40]))
    alone = WordText(ids=np.array([1, 2], np.int32), start=np.array([0, 1, 2]))
    for family in FAMILIES:
        trainer = tiny(family).trainer(vocabulary, seed=0, threads=1)
        trainer.prepare(text, corpus.parent / f"scratch-{family}", lambda share: None)
        assert np.isnan(trainer.loss(alone).loss)


@pytest.mark.parametrize("verb", ["fill", "generate", "score", "hidden"])
def test_what_word_vectors_cannot_do_is_said(verb: str, runs: dict[str, Path]) -> None:
    with pytest.raises(PlumeError, match=f"cannot {verb}"):
        getattr(plume.load(runs["word2vec"]), verb)("text")
    with pytest.raises(PlumeError, match="has no layers"):
        plume.load(runs["word2vec"]).embed("text", layer=0)


def test_a_run_can_be_loaded_after_its_first_checkpoint(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(run: Any, standing: Any, *given: Any) -> None:
        if standing.pieces == 2:
            raise RuntimeError("the power is gone")

    monkeypatch.setattr(word_vectors._Run, "_measure", crash)
    settings = make_word_settings(tiny("word2vec"), corpus=corpus, threads=1, save_every="1tokens")
    with pytest.raises(RuntimeError, match="power"):
        word_vectors.start(settings, tmp_path / "run", quiet=True)
    assert plume.load(tmp_path / "run").embed("the").shape == (1, 16)


def test_soft_hyphens_do_not_hide_a_word(runs: dict[str, Path]) -> None:
    model = plume.load(runs["word2vec"])
    word = next(word for word in model.vectors.words if word.isascii() and word.isalpha() and len(word) > 4)
    assert model.words(word[:2] + "\u00ad" + word[2:]) == [word]


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
    (tmp_path / "folder").mkdir()
    with pytest.raises(PlumeError, match="there is a folder of that name"):
        export_vectors(runs["word2vec"], tmp_path / "folder")
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


def test_what_only_networks_have_is_refused(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlumeError, match="has no use for init"):
        plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "run", init="runs/bert", quiet=True)
    for wrong in ({"save_every": "100steps"}, {"budget": "1e9flops"}):
        with pytest.raises(PlumeError, match="means nothing for word vectors"):
            plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "run", quiet=True, **wrong)
    with pytest.raises(PlumeError, match="0 threads"):
        plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "run", quiet=True, threads=0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(PlumeError, match="leave torchrun out"):
        plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "run", quiet=True)
    monkeypatch.delenv("WORLD_SIZE")
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
