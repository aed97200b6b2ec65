"""fastText's classifier: features as fastText's dictionary makes them, a step against an oracle, the same answers from the same weights."""

from __future__ import annotations

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.fasttext_classifier import END, ClassifierLoss, FastTextClassifier
from plume.static.ngrams import word_hashes

TEXTS = [["good", "film", "good"], ["bad", "film"], ["fine"], ["awful", "bad", "plot"]] * 10
LABELS = ["yes", "no", "yes", "no"] * 10


def test_features_by_hand() -> None:
    recipe = FastTextClassifier(dimension=4, word_ngrams=3, buckets=1000)
    trainer = recipe.trainer(TEXTS, LABELS, seed=1, threads=1)
    index, size = trainer.vocabulary.index, len(trainer.vocabulary)
    bags = trainer.bags([["good", "unheard"], []])
    hashes = [int(value) for value in word_hashes(["good", "unheard", END])]

    def joined(*values: int) -> int:
        total = values[0] % 2**64
        for value in values[1:]:
            total = (total * 116049371 + value) % 2**64
        return size + total % 1000

    expected = [index["good"], index[END], joined(*hashes[:2]), joined(*hashes), joined(*hashes[1:]), index[END]]
    assert bags.rows.tolist() == expected and bags.begin.tolist() == [0, 5, 6]


@pytest.mark.parametrize("loss", list(ClassifierLoss))
def test_a_step_is_the_gradient(loss: ClassifierLoss) -> None:
    """Against finite differences of the loss; every row takes the step divided by the number of rows, as fastText does for classifiers."""
    recipe = FastTextClassifier(dimension=6, loss=loss, rate=1.0)
    labels = ["a", "b", "c", "a"] * 10
    trainer = recipe.trainer(TEXTS, labels, seed=1, threads=1)
    generator = np.random.default_rng(0)
    for array in trainer.arrays.values():
        array[...] = generator.normal(0, 0.5, array.shape)
    bags, answers = trainer.bags(TEXTS[:1]), trainer.answers(["b"])
    before = {name: array.copy() for name, array in trainer.arrays.items()}

    def value() -> float:
        return -float(np.log(trainer.probabilities(bags)[0, answers[0]]))

    slopes = {}
    for name, place in (("input", int(bags.rows[1])), ("output", 0)):
        slopes[name] = np.zeros(6)
        for column in range(6):
            for sign in (1, -1):
                trainer.arrays[name][place, column] = before[name][place, column] + sign * 1e-2
                slopes[name][column] += sign * value() / 2e-2
            trainer.arrays[name][place, column] = before[name][place, column]
    piece = trainer.train(bags, answers, epoch=0, piece=0, progress=0.0, progress_after=0.0)
    assert piece.loss == pytest.approx(value_before(before, trainer, bags, answers), rel=1e-4)
    moved = {name: trainer.arrays[name] - before[name] for name in before}
    np.testing.assert_allclose(moved["output"][0], -slopes["output"], atol=2e-3)
    np.testing.assert_allclose(moved["input"][bags.rows[1]], -slopes["input"], atol=2e-3)


def value_before(before, trainer, bags, answers) -> float:
    after = {name: array.copy() for name, array in trainer.arrays.items()}
    for name, array in trainer.arrays.items():
        array[...] = before[name]
    found = -float(np.log(trainer.probabilities(bags)[0, answers[0]]))
    for name, array in trainer.arrays.items():
        array[...] = after[name]
    return found


@pytest.mark.parametrize("loss", list(ClassifierLoss))
@pytest.mark.parametrize(
    "more", [{}, {"word_ngrams": 2, "buckets": 500}, {"shortest": 2, "longest": 3, "buckets": 500}], ids=["words", "bigrams", "ngrams"]
)
def test_it_learns_and_probabilities_add_up(loss: ClassifierLoss, more: dict) -> None:
    recipe = FastTextClassifier(dimension=10, rate=0.5, epochs=20, loss=loss, **more)
    model = recipe.trainer(TEXTS, LABELS, seed=1, threads=1).fit(TEXTS, LABELS)
    answers = model.predict(TEXTS[:4], k=2)
    assert [answer[0].label for answer in answers] == LABELS[:4]
    assert all(sum(one.probability for one in answer) == pytest.approx(1) and answer[0].probability > 0.8 for answer in answers)
    again = recipe.trainer(TEXTS, LABELS, seed=1, threads=1).fit(TEXTS, LABELS)
    assert (again.arrays["input"] == model.arrays["input"]).all()


@pytest.mark.parametrize("loss", ["softmax", "hs"])
def test_fasttexts_weights_give_fasttexts_answers(tmp_path, loss: str) -> None:
    fasttext = pytest.importorskip("fasttext")
    labels = ["yes", "no", "yes", "perhaps"] * 10
    path = tmp_path / "train.txt"
    path.write_text("".join(f"__label__{label} {' '.join(text)}\n" for label, text in zip(labels, TEXTS, strict=True)), encoding="utf-8")
    theirs = fasttext.train_supervised(
        str(path), dim=8, lr=0.5, epoch=20, wordNgrams=2, minn=2, maxn=3, bucket=700, loss=loss, thread=1, verbose=0
    )
    kind = {"softmax": ClassifierLoss.SOFTMAX, "hs": ClassifierLoss.HIERARCHICAL_SOFTMAX}[loss]
    ours = FastTextClassifier(dimension=8, word_ngrams=2, shortest=2, longest=3, buckets=700, loss=kind).trainer(
        TEXTS, labels, seed=1, threads=1
    )
    words, names = list(ours.vocabulary.words), list(ours.labels)
    size = len(words)
    place = [theirs.get_word_id(word) for word in words]
    ours.arrays["input"][:size] = theirs.get_input_matrix()[place]
    ours.arrays["input"][size:] = theirs.get_input_matrix()[size:]
    assert [f"__label__{name}" for name in names] == theirs.labels  # by count, so that trees are equal
    ours.arrays["output"][:] = theirs.get_output_matrix()
    for text in (["good", "film"], ["bad", "plot", "unheard"], ["北京"]):
        expected = {label: value for value, label in theirs.f.predict(" ".join(text) + "\n", 3, 0.0, "strict")}
        found = {f"__label__{answer.label}": answer.probability for answer in ours.predict([text], k=3)[0]}
        assert found == pytest.approx(expected, abs=1e-3)


def test_bad_input() -> None:
    with pytest.raises(PlumeError, match="40 texts and 2 labels"):
        FastTextClassifier().trainer(TEXTS, ["a", "b"], seed=1, threads=1)
    with pytest.raises(PlumeError, match="have the label 'a'"):
        FastTextClassifier().trainer(TEXTS, ["a"] * 40, seed=1, threads=1)
    model = FastTextClassifier(dimension=4).trainer(TEXTS, LABELS, seed=1, threads=1)
    with pytest.raises(PlumeError, match="Unknown label 'maybe'"):
        model.fit(TEXTS[:1], ["maybe"])
    assert len(model.predict([["never", "heard"]])[0]) == 1  # the end of the text is a word
