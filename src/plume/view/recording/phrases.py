"""Do phrases of a kind lie together? Clusters of span vectors at every layer, held against their labels (Jawahar et al. 2019, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plume.model.use.language_model import LanguageModel
from plume.readers.example import Example
from plume.readers.schemes import Span, in_characters, spans_of
from plume.tuning.kinds.tagging import Tagging, TagKind
from plume.view.recording.geometry import Floats, shared_information
from plume.view.recording.states import stretches


@dataclass(frozen=True, kw_only=True)
class PhraseClusters:
    """Of one task's phrases."""

    task: str
    information: list[float]  # by layer: shared by k-means' clusters and the labels (NMI), 0 none, 1 all
    spans: int
    labels: int


def phrase_clusters(
    model: LanguageModel, task: Tagging, examples: Sequence[Example], *, name: str, most: int = 2000, seed: int = 0
) -> PhraseClusters | None:
    """k-means with as many clusters as there are labels. A span's vector is its first and last state, their product and their difference.

    None where the task has fewer than two labels, or hardly more spans than labels.
    """
    found = [(number, span) for number, example in enumerate(examples) for span in _spans(task, example)]
    step = max(1.0, len(found) / most)
    found = [found[int(place * step)] for place in range(min(most, len(found)))]
    used = sorted({number for number, _ in found})
    row = {number: place for place, number in enumerate(used)}
    if not found:
        return None
    texts = [examples[number].texts[0] for number in used]
    states = stretches(model, texts, [(row[number], span.start, span.end) for number, span in found])
    labels = [found[place][1].label for place in states.kept.tolist()]
    kinds = len(set(labels))
    if kinds < 2 or len(labels) < 3 * kinds:
        return None
    information = [
        _information(np.concatenate([first, last, first * last, first - last], axis=1), labels, kinds, seed)
        for first, last in zip(states.first, states.last, strict=True)
    ]
    return PhraseClusters(task=name, information=information, spans=len(labels), labels=kinds)


def _spans(task: Tagging, example: Example) -> list[Span]:
    """In characters; where each word has a tag of its own, every word is one."""
    if task.tags is TagKind.PLAIN:
        words = example.words or ()
        return [Span(start=start, end=end, label=tag) for (start, end), tag in zip(words, example.answer, strict=True)]
    if example.words is None:
        return list(example.answer)
    return in_characters(spans_of(example.answer), example.words)


def _information(vectors: Floats, labels: list[str], kinds: int, seed: int) -> float:
    from sklearn.cluster import KMeans

    return shared_information(KMeans(kinds, n_init=3, random_state=seed).fit_predict(vectors), labels)
