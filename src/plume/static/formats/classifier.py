"""A fastText classifier as fastText's own .bin: it opens ours, and we open its."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.static.fasttext_classifier import ClassifierLoss, ClassifierTrainer, FastTextClassifier
from plume.static.formats.fasttext import FastTextFile, fasttext_args, read_fasttext, write_fasttext
from plume.static.text import Vocabulary

_PREFIX = "__label__"
_LOSSES = {ClassifierLoss.SOFTMAX: "softmax", ClassifierLoss.HIERARCHICAL_SOFTMAX: "hs"}


def write_classifier(path: Path | str, model: ClassifierTrainer) -> None:
    """As fastText's own `.bin`."""
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
    """Of fastText's own `.bin`."""
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
