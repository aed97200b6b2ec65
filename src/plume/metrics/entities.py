"""Scores of tags and entities, by seqeval (the conlleval of CoNLL-2000 and 2003) and scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain

from plume.core.errors import PlumeError
from plume.readers.schemes import Span, bio_of


def entity_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Of BIO tags: precision, recall and F1 over all entities (micro), F1 of each type, and the share of right tags.

    >>> scores = entity_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    >>> scores["f1"], scores["f1/LOC"], scores["f1/PER"], scores["accuracy"]
    (0.5, 1.0, 0.0, 0.75)
    """
    from seqeval.metrics.sequence_labeling import accuracy_score, precision_recall_fscore_support

    _check(gold, predicted)
    # seqeval takes sentences apart only if they are lists
    ours, theirs = [list(tags) for tags in gold], [list(tags) for tags in predicted]
    types = sorted({tag.split("-", 1)[1] if "-" in tag else "_" for tags in (*ours, *theirs) for tag in set(tags) - {"O"}})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* seems not to be NE tag")
        precision, recall, f1, _ = precision_recall_fscore_support(ours, theirs, average="micro", zero_division=0)
        each = precision_recall_fscore_support(ours, theirs, average=None, zero_division=0)[2] if types else []
    scores = {"precision": float(precision), "recall": float(recall), "f1": float(f1), "accuracy": float(accuracy_score(ours, theirs))}
    return scores | {f"f1/{label}": float(score) for label, score in zip(types, each, strict=True)}


def span_scores(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]], lengths: Sequence[int]) -> dict[str, float]:
    """The same of spans in texts of these lengths: an entity is right if both ends and the label are; accuracy is of characters."""
    ours, theirs = ([bio_of(*row) for row in zip(side, lengths, strict=True)] for side in (gold, predicted))
    return entity_scores(ours, theirs)


def tag_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Of plain tags: the share that is right, and F1 averaged over all tags met.

    >>> tag_scores([["NOUN", "VERB"], ["NOUN"]], [["NOUN", "NOUN"], ["NOUN"]])
    {'accuracy': 0.6666666666666666, 'macro_f1': 0.4}
    """
    from sklearn.metrics import accuracy_score, f1_score

    _check(gold, predicted)
    flat = list(chain.from_iterable(gold)), list(chain.from_iterable(predicted))
    numbers = {tag: number for number, tag in enumerate(sorted({*flat[0], *flat[1]}))}  # scikit-learn is slow on strings
    ours, theirs = ([numbers[tag] for tag in side] for side in flat)
    macro = f1_score(ours, theirs, average="macro", zero_division=0)
    return {"accuracy": float(accuracy_score(ours, theirs)), "macro_f1": float(macro)}


def _check(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError("Right and predicted tags differ in number.")
    if not any(len(tags) for tags in gold):
        raise PlumeError("There is nothing to score: the file holds no tagged word. Give a file with answers in it.")
