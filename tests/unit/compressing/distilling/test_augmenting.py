"""Altered rows: the same for the same seed, each text of a pair by itself, words where they were, English and Chinese."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plume
from plume.compressing.distilling.augmenting.by_vectors import ByVectors
from plume.compressing.distilling.augmenting.masking import BLANK, Masking
from plume.compressing.distilling.augmenting.named import WAYS, way_to_alter
from plume.compressing.distilling.augmenting.ngrams import TextNGrams
from plume.compressing.distilling.augmenting.same_words import SameFrames
from plume.compressing.distilling.augmenting.words import cut_example, cut_words
from plume.core.errors import PlumeError
from plume.model.checkpoint import save_model
from plume.readers.example import Example
from plume.tuning.options import start_from_options

PAIRS = [
    Example(texts=("The cat finds a wooden box.", "My sister forgets the letter near the river."), answer="0"),
    Example(texts=("The cat carries a wooden box, 我们喜欢苹果。", "小猫看见一封信"), answer="1"),
    Example(texts=("A sailor finds the wooden box.", "My teacher forgets two apples near the river."), answer="1"),
] * 20


@given(st.text())
def test_what_is_cut_can_be_put_together_again(text: str) -> None:
    cut = cut_words(text)
    assert cut.text == text and [text[begin:end] for begin, end in cut.spans] == list(cut.words)


def test_words_of_both_languages() -> None:
    assert cut_words("The cat's box: 北京大学的学生 don't.").words == ("The", "cat's", "box", "北京大学", "的", "学生", "don't")


@pytest.mark.parametrize("part", [Masking(copies=3), SameFrames(copies=3, rate=0.5), TextNGrams(copies=3, p=0.5)])
def test_the_same_for_the_same_seed_and_each_text_by_itself(part: Any) -> None:
    made = part.altered(PAIRS, seed=5)
    assert made == part.altered(PAIRS, seed=5) != part.altered(PAIRS, seed=6)
    assert len(made) == 3 * len(PAIRS) and all(one.answer is None and len(one.texts) == 2 for one in made)
    both = list(zip(made, PAIRS * 3, strict=True))
    first, second = ([one.texts[side] != given.texts[side] for one, given in both] for side in (0, 1))
    # TinyBERT's code puts every variant of a second text beside the last variant of the first: here the two are independent.
    shared = np.mean(np.array(first) & np.array(second))
    assert any(first) and any(second) and shared == pytest.approx(np.mean(first) * np.mean(second), abs=0.12)


def test_masking_hides_a_tenth() -> None:
    words = [word for one in Masking(copies=20).altered(PAIRS, seed=0) for cut in cut_example(one) for word in cut.words]
    texts = "".join(text for one in Masking(copies=20).altered(PAIRS, seed=0) for text in one.texts)
    total = sum(len(cut.words) for one in PAIRS for cut in cut_example(one)) * 20
    assert texts.count(BLANK) / total == pytest.approx(0.1, abs=0.01) and len(words) + texts.count(BLANK) == total


def test_another_word_stood_between_the_same_neighbours() -> None:
    seen = {(cut.words[i - 1] if i else "", word, cut.words[i + 1] if i + 1 < len(cut.words) else "")
            for one in PAIRS for cut in cut_example(one) for i, word in enumerate(cut.words)}  # fmt: skip
    frames = {(left.lower(), right.lower()) for left, _, right in seen}
    for one, given_ in zip(SameFrames(copies=5, rate=1.0).altered(PAIRS, seed=1), PAIRS * 5, strict=True):
        for cut, before in zip(cut_example(one), cut_example(given_), strict=True):
            assert len(cut.words) == len(before.words)
            for place, (word, was) in enumerate(zip(cut.words, before.words, strict=True)):
                if word != was:
                    left = before.words[place - 1].lower() if place else ""
                    assert any(before_ == left and word == kind for before_, kind in ((a.lower(), b) for a, b, _ in seen))
                    assert any(frame[0] == left for frame in frames)
    assert any("finds" in given_.texts[0] and "carries" in one.texts[0]
               for one, given_ in zip(SameFrames(copies=5, rate=1.0).altered(PAIRS, seed=1), PAIRS * 5, strict=True))  # fmt: skip


def test_ngrams_are_stretches() -> None:
    short = 0
    for one, given_ in zip(TextNGrams(copies=10).altered(PAIRS, seed=0), PAIRS * 10, strict=True):
        for text, whole in zip(one.texts, given_.texts, strict=True):
            assert text in whole
            short += text != whole
    assert short / (2 * 10 * len(PAIRS)) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("part", [Masking(rate=0.5, copies=4), SameFrames(rate=0.9, copies=4), TextNGrams(p=0.9, copies=4)])
def test_words_of_a_file_stay_words(part: Any) -> None:
    """Tags are asked of each: where a word is exchanged, the row has as many as before."""
    rows = [
        Example(
            texts=("EU rejects German call.",), words=((0, 2), (3, 10), (11, 17), (18, 22), (22, 23)), answer=("B", "O", "B", "O", "O")
        ),
        Example(texts=("EU likes German cars",), words=((0, 2), (3, 8), (9, 15), (16, 20)), answer=("B", "O", "B", "O")),
        Example(texts=("我爱北京",), words=((0, 1), (1, 2), (2, 3), (3, 4)), answer=("O", "O", "B", "I")),
    ]
    for one, given_ in zip(part.altered(rows, seed=3), rows * 4, strict=True):
        assert one.words is not None and given_.words is not None and one.answer is None
        if not isinstance(part, TextNGrams):
            assert len(one.words) == len(given_.words)
        assert all(one.texts[0][begin:end].strip() for begin, end in one.words)
        assert [end - begin for begin, end in one.words] == [len(one.texts[0][begin:end]) for begin, end in one.words]


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> dict[str, Path]:
    folder, source = tmp_path_factory.mktemp("teachers"), random.Random(0)
    rows = [(f"{source.choice(['the cat', 'my sister'])} finds the letter {word}", word) for word in ("sunny", "rainy") * 12]
    (folder / "train.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    (folder / "text.txt").write_text("".join(f"{text}\n" for text, _ in rows), encoding="utf-8")
    few = ["least=1", "buckets=100", "negatives=2"]
    plume.pretrain("fasttext/tiny", corpus=folder / "text.txt", out=folder / "fasttext-base", overrides=few, quiet=True, threads=1)
    made = {}
    for family in ("bert", "gpt2", "fasttext"):
        base = folder / f"{family}-base"
        if family != "fasttext":
            recipe = miniature(family)
            model = recipe.assembly.build(recipe, vocabulary=tokenizer_for(recipe).size)
            model.initialise(1)
            save_model(base, model, tokenizer_for(recipe))
        made[family] = folder / family
        start_from_options(base, task="classification", train=str(folder / "train.tsv"), out=made[family], epochs=1.0, quiet=True)
    return made


@pytest.mark.parametrize("family", ["bert", "gpt2", "fasttext"])
def test_words_by_a_model(family: str, teachers: dict[str, Path]) -> None:
    """By its masked-token head where it has one; else by its vectors, be they of tokens or of words."""
    rows = [Example(texts=("the cat finds the letter",)), Example(texts=("my sister finds 苹果 the letter rainy",))] * 3
    part = ByVectors(copies=3, candidates=4)
    made = part.altered(rows, seed=1, teacher=teachers[family])
    assert made == part.altered(rows, seed=1, teacher=teachers[family]) != part.altered(rows, seed=2, teacher=teachers[family])
    assert any(one.texts != given_.texts for one, given_ in zip(made, rows * 3, strict=True))
    all_words = ByVectors(copies=30, rate=1.0, candidates=4).altered(rows[:1], seed=1, teacher=teachers[family])
    changed = {
        word
        for one, given_ in zip(all_words, rows[:1] * 30, strict=True)
        for word, was in zip(one.texts[0].split(), given_.texts[0].split(), strict=True)
        if word != was
    }
    assert 0 < len(changed) <= 5 * 4


def test_as_users_call_them() -> None:
    assert way_to_alter("masking=20") == Masking(copies=20) and set(WAYS) == {"masking", "same-words", "ngrams", "vectors"}
    for wrong in ("posh", "masking=many", "masking=-1"):
        with pytest.raises(PlumeError, match="choose masking, same-words, ngrams, vectors"):
            way_to_alter(wrong)
    for broken in (lambda: Masking(rate=0.0), lambda: Masking(copies=0), lambda: TextNGrams(p=2.0), lambda: ByVectors(candidates=0)):
        with pytest.raises(PlumeError):
            broken()
