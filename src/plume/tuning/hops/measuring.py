"""How good answers over several documents are: the answer, the facts given for it, both, and whether the graph holds the way (HotpotQA §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plume.kb.names import normalised
from plume.metrics.squad import answer_scores, word_overlap
from plume.readers.example import Example
from plume.readers.multihop import SUPPORT, WHOLE

Fact = tuple[str, int]


def hop_scores(examples: Sequence[Example], predictions: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of the answers, and beside them those of one document and those without System 2; of supporting facts where the file has them."""
    gold = [list(example.answer) for example in examples]
    found = answer_scores(gold, [one["answer"] for one in predictions])
    for name, field in (("one document", "one_document"), ("without System 2", "system_1")):
        found |= {f"{metric}/{name}": value for metric, value in answer_scores(gold, [one[field] for one in predictions]).items()}
    told = [place for place, example in enumerate(examples) if example.named.get(SUPPORT)]
    if told:
        found |= _facts([examples[place] for place in told], [predictions[place] for place in told])
    return found


def _facts(examples: Sequence[Example], predictions: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    rows, held = [], []
    for example, one in zip(examples, predictions, strict=True):
        precision, recall = fact_overlap(example.named[SUPPORT], [(title, number) for title, number in one["supporting"]])
        right, given = max((word_overlap(answer, one["answer"]) for answer in example.answer), key=_f1)
        exact = answer_scores([list(example.answer)], [one["answer"]])["exact_match"]
        both = (right * precision, given * recall)
        rows.append((float(precision == recall == 1), _f1((precision, recall)), exact * (precision == recall == 1), _f1(both)))
        if exact:
            held.append(holds_path(example, one))
    names = ("exact_match/supporting facts", "f1/supporting facts", "exact_match/joint", "f1/joint")
    found = dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))
    return found | ({"gold path": float(np.mean(held))} if held else {})


def fact_overlap(gold: Sequence[Fact], given: Sequence[Fact]) -> tuple[float, float]:
    """Precision and recall of facts; where the file names documents only, of documents.

    >>> fact_overlap([("A", 0), ("B", 1)], [("A", 0)])
    (1.0, 0.5)
    """
    whole = any(number == WHOLE for _, number in gold)
    right = {(normalised(title), WHOLE if whole else number) for title, number in gold}
    found = {(normalised(title), WHOLE if whole else number) for title, number in given}
    both = len(right & found)
    return both / len(found) if found else 0.0, both / len(right) if right else 0.0


def holds_path(example: Example, prediction: Mapping[str, Any]) -> bool:
    """Are all supporting documents pages of the graph?"""
    pages = {normalised(node["name"]) for node in prediction["nodes"] if node["page"]}
    return all(normalised(title) in pages for title, _ in example.named[SUPPORT])


def _f1(sides: tuple[float, float]) -> float:
    precision, recall = sides
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
