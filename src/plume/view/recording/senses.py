"""A word's senses: its vectors in many sentences, layer by layer, on a map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.view.recording.geometry import (
    Clusters,
    Floats,
    clusters,
    label_silhouette,
    nearest,
    neighbour_map,
    principal,
    shared_information,
    unit,
)
from plume.view.recording.occurrences import Found, Occurrence, occurrences
from plume.view.recording.states import stretches

_MOST = 1000  # points: each layer's map takes about that many squared steps
_NEAREST = 6


@dataclass(frozen=True, kw_only=True)
class SenseLayer:
    """One layer's picture of N occurrences."""

    principal: Floats  # [N, 2]
    shown: float  # share of the variance on the two axes
    neighbours: Floats  # [N, 2] by t-SNE
    member: NDArray[np.int64]  # [N] the cluster; all 0 where nothing is apart
    silhouette: float | None  # of the clusters
    label_silhouette: float | None  # of the file's labels
    information: float | None  # shared by clusters and labels (NMI)
    nearest: NDArray[np.int64]  # [N, K]


@dataclass(frozen=True, kw_only=True)
class Senses:
    """A word in N sentences."""

    word: str
    occurrences: list[Occurrence]
    total: int  # that there are in the file
    left_out: int  # of those taken, where the model's text ends before the word
    layers: list[SenseLayer]  # 0 is the embedding

    @property
    def labels(self) -> list[str]:
        """What the file says of each, where it says something of all."""
        found = [one.label for one in self.occurrences if one.label is not None]
        return found if len(found) == len(self.occurrences) else []


def senses(
    model: LanguageModel,
    word: str,
    file: str | Path,
    *,
    most: int = 300,
    label: str | None = None,
    text: str | None = None,
    language: str | None = None,
    seed: int = 0,
) -> Senses:
    """The word's vectors (the mean of its pieces) in up to `most` sentences of the file; `label` names a column that says which sense it is."""
    if not isinstance(model, LanguageModel):
        raise PlumeError(
            "Word vectors have one vector a word, whatever stands around it: there are no senses to tell apart. Name a network."
        )
    if not 3 <= most <= _MOST:
        raise PlumeError(f"Between 3 and {_MOST:,} occurrences can be drawn, not {most:,}.")
    found = occurrences(file, word, most=most, label=label, text=text, seed=seed)
    return pictured(model, word, found, language=language, seed=seed)


def pictured(model: LanguageModel, word: str, found: Found, *, language: str | None = None, seed: int = 0) -> Senses:
    """The same of occurrences that were found already."""
    places = [(number, one.start, one.end) for number, one in enumerate(found.occurrences)]
    states = stretches(model, [one.text for one in found.occurrences], places, language=language)
    if len(states.kept) < 3:
        raise PlumeError(f"The model reads too little to reach '{word}' in these sentences, or has no token for it.")
    kept = [found.occurrences[number] for number in states.kept.tolist()]
    labels = [one.label for one in kept if one.label is not None]
    layers: list[SenseLayer] = []
    grouped: Clusters | None = None
    for vectors in states.mean:
        before = layers[-1] if layers else None
        layer, grouped = _layer(unit(vectors), before, grouped, labels if len(labels) == len(kept) else [], seed)
        layers.append(layer)
    return Senses(word=word, occurrences=kept, total=found.total, left_out=len(found.occurrences) - len(kept), layers=layers)


def _layer(
    vectors: Floats, before: SenseLayer | None, grouped: Clusters | None, labels: list[str], seed: int
) -> tuple[SenseLayer, Clusters | None]:
    flat, shown = principal(vectors, None if before is None else before.principal)
    groups = clusters(vectors, grouped, seed=seed)
    return SenseLayer(
        principal=flat,
        shown=shown,
        neighbours=neighbour_map(vectors, None if before is None else before.neighbours, seed=seed),
        member=np.zeros(len(vectors), np.int64) if groups is None else groups.member,
        silhouette=None if groups is None else groups.silhouette,
        label_silhouette=label_silhouette(vectors, labels) if labels else None,
        information=None if groups is None or not labels else shared_information(groups.member, labels),
        nearest=nearest(vectors, _NEAREST),
    ), groups or grouped
