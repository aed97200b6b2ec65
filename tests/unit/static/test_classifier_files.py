"""A classifier leaves for fastText and comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.fasttext_classifier import ClassifierLoss, ClassifierTrainer, FastTextClassifier
from plume.static.formats.fasttext import FastTextFile, fasttext_args, read_fasttext, write_fasttext
from plume.static.text import Vocabulary

TEXTS = [["good", "film", "indeed"], ["bad", "film", "alas"], ["dull", "book"], ["good", "book", "好", "书"]] * 10
LABELS = ["yes", "no", "no", "yes"] * 10


_PREFIX = "__label__"
_LOSSES = {ClassifierLoss.SOFTMAX: "softmax", ClassifierLoss.HIERARCHICAL_SOFTMAX: "hs"}


def write_classifier(path: Path | str, model: ClassifierTrainer) -> None:
    recipe = model.recipe
    rows = model.arrays["input"]
    args = fasttext_args(
        dim=recipe.dimension, epoch=recipe.epochs, minCount=recipe.least, wordNgrams=recipe.word_ngrams, loss=_LOSSES[recipe.loss], model="sup",
        bucket=len(rows) - len(model.vocabulary), minn=recipe.shortest, maxn=recipe.longest,
    )  # fmt: skip
    write_fasttext(
        Path(path),
        FastTextFile(
            args=args,
            words=model.vocabulary.words,
            counts=model.vocabulary.counts,
            labels=tuple(_PREFIX + label for label in model.labels),
            label_counts=model.label_counts,
            tokens=int(model.vocabulary.counts.sum()),
            input=np.ascontiguousarray(rows),
            output=np.ascontiguousarray(model.arrays["output"]),
        ),
    )


def read_classifier(path: Path | str) -> ClassifierTrainer:
    file = read_fasttext(Path(path))
    losses = {name: loss for loss, name in _LOSSES.items()}
    if file.args["model"] != "sup" or file.args["loss"] not in losses:
        raise PlumeError(
            f"{path} is no fastText classifier with a softmax: it was made by '{file.args['model']}', loss '{file.args['loss']}'."
        )
    recipe = FastTextClassifier(
        dimension=int(file.args["dim"]), epochs=int(file.args["epoch"]), least=max(1, int(file.args["minCount"])),
        word_ngrams=int(file.args["wordNgrams"]), shortest=int(file.args["minn"]), longest=int(file.args["maxn"]),
        buckets=max(1, int(file.args["bucket"])), loss=losses[str(file.args["loss"])],
    )  # fmt: skip
    labels = tuple(label.removeprefix(_PREFIX) for label in file.labels)
    vocabulary = Vocabulary(words=file.words, counts=file.counts)
    made = ClassifierTrainer(recipe, vocabulary, labels, file.label_counts, seed=0, threads=1)
    if len(made.arrays["input"]) != len(file.input):
        raise PlumeError(f"{path} has {len(file.input):,} rows, and its settings ask for {len(made.arrays['input']):,}: it is damaged.")
    made.arrays["input"][...], made.arrays["output"][...] = file.input, file.output
    return made


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
