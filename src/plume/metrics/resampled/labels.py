"""Rows of tasks that label a text, its words or its spans, measured as `plume.metrics.scores` and `plume.metrics.entities` do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.metrics.resampled.measures import Floats, Measures, RowScores, f1, macro_f1, matthews, mean_of, share, summed
from plume.readers.schemes import Span


def label_rows(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str], *, positive: str | None = None) -> Measures:
    """One label a text, as `label_scores` measures it."""
    right, given = [{one} for one in gold], [{one} for one in predicted]
    everything = sorted({*gold, *predicted})
    known = sorted({*labels, *gold} & set(everything))  # a prediction that is no label has no F1
    of_one: Measures = {} if positive is None else {"f1": lambda: summed(f1, *_class_counts(right, given, [positive]))}
    return of_one | {
        "accuracy": lambda: mean_of([one == other for one, other in zip(gold, predicted, strict=True)]),
        "macro_f1": lambda: summed(macro_f1, *_class_counts(right, given, known)),
        "mcc": lambda: summed(matthews, *_class_counts(right, given, everything)),
    }


def top_rows(gold: Sequence[int], scores: NDArray[Any], tops: Sequence[int] = (1, 5)) -> Measures:
    """The right class [N] among those with the highest scores [N, C], as `top_scores` measures it."""
    right = np.asarray(gold, np.int64)[:, None]
    own = np.take_along_axis(scores, right, axis=1)
    # Of equals the first counts as higher: `top_scores` says why.
    place = ((scores > own) | ((scores == own) & (np.arange(scores.shape[1]) < right))).sum(axis=1)
    best = [{one} for one in scores.argmax(axis=1).tolist()]
    found: Measures = {f"top{top}": partial(mean_of, place < top) for top in tops}
    return found | {"macro_f1": lambda: summed(macro_f1, *_class_counts([{one} for one in gold], best, range(scores.shape[1])))}


def multi_label_rows(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]) -> Measures:
    """Any number of labels a text, as `multi_label_scores` measures it."""
    right, given = [set(one) for one in gold], [set(one) for one in predicted]
    known = sorted({*labels, *set().union(*right)})
    return {
        "micro_f1": lambda: summed(f1, *_set_counts(right, given)),
        "macro_f1": lambda: summed(macro_f1, *_class_counts(right, given, known)),
        "exact": lambda: mean_of([one == other for one, other in zip(right, given, strict=True)]),
    }


def tag_rows(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Measures:
    """A tag a word, as `tag_scores` measures it."""
    return {"accuracy": lambda: _share_of_tags(gold, predicted), "macro_f1": lambda: _macro_of_tags(gold, predicted)}


def span_rows(gold: Sequence[set[Span]], predicted: Sequence[set[Span]]) -> Measures:
    """Spans of a text, all and by type, as `span_scores` and `entity_scores` measure them."""
    types = sorted({span.label for spans in (*gold, *predicted) for span in spans})
    each: Measures = {f"f1/{label}": partial(_f1_of_type, gold, predicted, label) for label in types}
    right, found, true = _set_counts(gold, predicted)
    return each | {
        "f1": lambda: summed(f1, right, found, true),
        "precision": lambda: summed(share, right, found),
        "recall": lambda: summed(share, right, true),
    }


def _class_counts(
    gold: Sequence[set[Any]], predicted: Sequence[set[Any]], classes: Sequence[Hashable]
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """[rows, classes] each: right, predicted and gold."""
    right = [one & other for one, other in zip(gold, predicted, strict=True)]
    return _held(right, classes), _held(predicted, classes), _held(gold, classes)


def _held(rows: Sequence[set[Any]], classes: Sequence[Hashable]) -> Floats:
    number = {label: place for place, label in enumerate(classes)}
    table = np.zeros((len(rows), len(classes)))
    for row, labels in enumerate(rows):
        table[row, [number[label] for label in labels if label in number]] = 1
    return table


def _set_counts(gold: Sequence[set[Any]], predicted: Sequence[set[Any]]) -> tuple[list[int], list[int], list[int]]:
    right = [len(one & other) for one, other in zip(gold, predicted, strict=True)]
    return right, [len(found) for found in predicted], [len(true) for true in gold]


def _f1_of_type(gold: Sequence[set[Span]], predicted: Sequence[set[Span]], label: str) -> RowScores:
    ours, theirs = ([{span for span in spans if span.label == label} for spans in side] for side in (gold, predicted))
    return summed(f1, *_set_counts(ours, theirs))


def _share_of_tags(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> RowScores:
    pairs = [list(zip(ours, theirs, strict=True)) for ours, theirs in zip(gold, predicted, strict=True)]
    return summed(share, [sum(right == tag for right, tag in row) for row in pairs], [len(row) for row in pairs])


def _macro_of_tags(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> RowScores:
    number = {tag: place for place, tag in enumerate(sorted(set().union(*gold, *predicted)))}
    right, found, true = (np.zeros((len(gold), len(number))) for _ in range(3))
    for row, (ours, theirs) in enumerate(zip(gold, predicted, strict=True)):
        one, other = (np.array([number[tag] for tag in tags], np.int64) for tags in (ours, theirs))
        np.add.at(true[row], one, 1)
        np.add.at(found[row], other, 1)
        np.add.at(right[row], one[one == other], 1)
    return summed(macro_f1, right, found, true)
