"""fastText's trainer: rows, and vectors for words never seen."""

from __future__ import annotations

import numpy as np
import pytest

from plume.static.ngrams import ngram_ids
from plume.static.recipe import FastText
from plume.static.text import Vocabulary, WordText

STEMS, ENDS = ("walk", "jump", "sing", "paint", "climb"), ("ing", "ed", "s", "er")


@pytest.fixture(scope="module")
def trained():
    """Each stem keeps its own company, whatever its ending."""
    generator = np.random.default_rng(2)
    words = [stem + end for stem in STEMS for end in ENDS] + [f"friend{number}" for number in range(25)]
    stem = generator.integers(0, 5, 6000)
    ids = np.stack(
        [
            stem * 5 + 20 + generator.integers(0, 5, 6000),
            stem * 4 + generator.integers(0, 4, 6000),
            stem * 5 + 20 + generator.integers(0, 5, 6000),
        ],
        1,
    )
    counts = np.bincount(ids.ravel(), minlength=45)
    order = np.argsort(-counts, kind="stable")
    rank = np.argsort(order).astype(np.int32)
    vocabulary = Vocabulary(words=tuple(words[place] for place in order), counts=counts[order])
    text = WordText(ids=rank[ids].ravel(), start=np.arange(6001) * 3)
    trainer = FastText(dimension=20, buckets=3000, sample=0.0).trainer(vocabulary, seed=1, threads=1)
    for epoch in range(5):
        trainer.train(text, epoch=epoch, piece=0, progress=epoch / 5, progress_after=(epoch + 1) / 5)
    return trainer


def test_a_words_vector_is_the_mean_of_its_rows(trained) -> None:
    vectors, size = trained.vectors(), len(trained.vocabulary)
    assert vectors["word"].shape == (45, 20) and vectors["ngram"].shape == (3000, 20)
    place = trained.vocabulary.index["jumping"]
    rows = np.vstack([vectors["word"][place], vectors["ngram"][ngram_ids("jumping", shortest=3, longest=6, buckets=3000)]])
    np.testing.assert_allclose(trained.word_vectors()[place], rows.mean(0), rtol=1e-5)
    assert trained.arrays["input"].shape == (size + 3000, 20)


def test_a_word_never_seen_stands_near_its_stem(trained) -> None:
    found = trained.vectors()["ngram"][ngram_ids("jumpings", shortest=3, longest=6, buckets=3000)].mean(0)
    known = trained.word_vectors()
    cosine = known @ found / np.linalg.norm(known, axis=1) / np.linalg.norm(found)
    verbs = [word for word in np.array(trained.vocabulary.words)[np.argsort(-cosine)] if not word.startswith("friend")]
    assert all(word.startswith("jump") for word in verbs[:4])


def test_first_values_lie_within_one_over_the_dimension() -> None:
    vocabulary = Vocabulary(words=tuple("abcdefgh"), counts=np.arange(8, 0, -1))
    first = FastText(dimension=50, buckets=2000).trainer(vocabulary, seed=1, threads=1).arrays["input"]
    assert 0.0199 < first.max() <= 0.02 and -0.02 <= first.min() < -0.0199
    assert first.mean() == pytest.approx(0, abs=1e-4)
