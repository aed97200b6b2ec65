"""A classifier leaves for fastText and comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.fasttext_classifier import ClassifierLoss, ClassifierTrainer, FastTextClassifier
from plume.static.formats.classifier import read_classifier, write_classifier
from plume.static.formats.fasttext import FastTextFile, fasttext_args, write_fasttext

TEXTS = [["good", "film", "indeed"], ["bad", "film", "alas"], ["dull", "book"], ["good", "book", "好", "书"]] * 10
LABELS = ["yes", "no", "no", "yes"] * 10


@pytest.fixture(params=[ClassifierLoss.SOFTMAX, ClassifierLoss.HIERARCHICAL_SOFTMAX])
def model(request: pytest.FixtureRequest) -> ClassifierTrainer:
    recipe = FastTextClassifier(dimension=8, rate=0.5, epochs=10, word_ngrams=2, shortest=2, longest=3, buckets=50, loss=request.param)
    return recipe.trainer(TEXTS, LABELS, seed=1, threads=1).fit(TEXTS, LABELS)


def test_it_comes_back_as_it_was(model: ClassifierTrainer, tmp_path: Path) -> None:
    write_classifier(tmp_path / "c.bin", model)
    back = read_classifier(tmp_path / "c.bin")
    assert back.labels == model.labels
    assert back.predict(TEXTS[:4], k=2) == model.predict(TEXTS[:4], k=2)


def test_fasttext_opens_it_and_says_the_same(model: ClassifierTrainer, tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext")
    write_classifier(tmp_path / "c.bin", model)
    theirs = fasttext.load_model(str(tmp_path / "c.bin"))
    for text in TEXTS[:4]:
        found = {label: probability for probability, label in theirs.f.predict(" ".join(text) + "\n", 2, 0.0, "strict")}
        ours = {f"__label__{answer.label}": answer.probability for answer in model.predict([text], k=2)[0]}
        assert found == pytest.approx(ours, abs=2e-3)  # their sigmoid is a table


def test_word_vectors_are_no_classifier(tmp_path: Path) -> None:
    matrix = np.zeros((2, 4), np.float32)
    args = fasttext_args(dim=4, bucket=0, maxn=0)
    counts = np.array([2, 1])
    file = FastTextFile(
        args=args, words=("a", "b"), counts=counts, label_counts=np.zeros(0, np.int64), tokens=3, input=matrix, output=matrix
    )
    write_fasttext(tmp_path / "v.bin", file)
    with pytest.raises(PlumeError, match="no fastText classifier"):
        read_classifier(tmp_path / "v.bin")
