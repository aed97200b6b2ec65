"""Scores with answers counted by hand, and agreement with the libraries called directly."""

from __future__ import annotations

import random
import warnings

import pytest
import seqeval.metrics
import sklearn.metrics

from plume.core.errors import PlumeError
from plume.metrics.entities import entity_scores, span_scores, tag_scores
from plume.readers.schemes import Span


def test_by_hand() -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC", "O"], ["B-ORG", "O", "B-PER"]]
    predicted = [["B-PER", "I-PER", "O", "B-ORG", "O"], ["B-ORG", "B-ORG", "B-PER"]]
    # 4 entities, 5 predicted, 3 of them right: PER 2 of 2, ORG 1 right of 3 predicted, LOC missed
    scores = entity_scores(gold, predicted)
    assert scores == pytest.approx(
        {"precision": 3 / 5, "recall": 3 / 4, "f1": 2 / 3, "accuracy": 6 / 8, "f1/LOC": 0, "f1/ORG": 1 / 2, "f1/PER": 1}
    )


def test_half_an_entity_is_none_and_a_wrong_begin_is_forgiven() -> None:
    assert entity_scores([["B-PER", "I-PER"]], [["B-PER", "O"]])["f1"] == 0
    assert entity_scores([["B-PER", "I-PER"]], [["I-PER", "I-PER"]])["f1"] == 1  # as conlleval does


def test_sentences_do_not_run_together() -> None:
    assert entity_scores([["B-PER"], ["I-PER"]], [["B-PER"], ["B-PER"]])["f1"] == 1


def test_as_seqeval_says() -> None:
    chance = random.Random(7)
    tags = ["O", "O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]
    gold = [[chance.choice(tags) for _ in range(chance.randint(1, 20))] for _ in range(200)]
    predicted = [[tag if chance.random() < 0.7 else chance.choice(tags) for tag in row] for row in gold]
    scores = entity_scores([tuple(row) for row in gold], predicted)
    report = seqeval.metrics.classification_report(gold, predicted, output_dict=True)
    for ours, theirs in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
        assert scores[ours] == report["micro avg"][theirs]
    assert {label: scores[f"f1/{label}"] for label in ("PER", "LOC", "A-B")} == {
        label: report[label]["f1-score"] for label in ("PER", "LOC", "A-B")
    }
    assert scores["accuracy"] == seqeval.metrics.accuracy_score(gold, predicted)
    assert scores["f1"] == seqeval.metrics.f1_score(gold, predicted)


def test_nothing_found_is_zero_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert entity_scores([["B-PER", "O"]], [["O", "O"]]) == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 0.5, "f1/PER": 0}
        assert entity_scores([["O", "O"]], [["O", "O"]]) == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 1}
        assert tag_scores([["A", "A"]], [["B", "A"]])["accuracy"] == 0.5
        assert entity_scores([["B", "X-PER"]], [["B", "O"]])["precision"] == 1


def test_nothing_to_score() -> None:
    for scores in (entity_scores, tag_scores):
        with pytest.raises(PlumeError, match="nothing to score"):
            scores([[]], [[]])
        with pytest.raises(ValueError, match="differ in number"):
            scores([["O", "O"], ["O"]], [["O"], ["O", "O"]])


def test_spans_by_hand() -> None:
    gold = [[Span(start=0, end=2, label="PER"), Span(start=2, end=4, label="PER")], []]
    predicted = [[Span(start=0, end=2, label="PER"), Span(start=3, end=4, label="PER")], [Span(start=0, end=1, label="LOC")]]
    scores = span_scores(gold, predicted, [5, 2])
    assert scores == pytest.approx({"precision": 1 / 3, "recall": 1 / 2, "f1": 2 / 5, "accuracy": 4 / 7, "f1/LOC": 0, "f1/PER": 1 / 2})


def test_words_next_to_each_other_are_two() -> None:
    words = [Span(start=0, end=1, label="W"), Span(start=1, end=3, label="W")]
    one = [Span(start=0, end=3, label="W")]
    assert span_scores([words], [words], [3])["f1"] == 1
    assert span_scores([words], [one], [3])["f1"] == 0


def test_tags_as_scikit_learn_says() -> None:
    gold, predicted = [["NN", "VB", "NN"], ["DT"]], [["NN", "NN", "NN"], ["JJ"]]
    flat = [*gold[0], *gold[1]], [*predicted[0], *predicted[1]]
    scores = tag_scores(gold, predicted)
    # NN: precision 2/3, recall 1; VB, DT and JJ nothing
    assert scores == pytest.approx({"accuracy": 1 / 2, "macro_f1": 0.8 / 4})
    assert scores["macro_f1"] == sklearn.metrics.f1_score(*flat, average="macro", zero_division=0)
