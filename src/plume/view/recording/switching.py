"""Every head switched off in turn: what becomes of the answer, and of the attention of all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.model.gating import AttentionPlace, gated, gated_places, heads_of, without
from plume.view.recording.attention import AttentionMap, AttentionReader
from plume.view.recording.questions import Answer, question_of

MOST = 20_000  # heads times tokens, up to which this is done unasked


@dataclass(frozen=True, kw_only=True)
class Switched:
    """One place's heads, layer by layer."""

    place: AttentionPlace
    answers: list[list[Answer]]  # [layer][head] without that head
    moved: list[list[list[list[NDArray[np.float32]]]]]  # [layer][head][map][layer] of [H]: how far attention moved, 0 to 1


@dataclass(frozen=True, kw_only=True)
class Switching:
    """The whole model's answer, and those without each head."""

    kind: str  # what the answers' `sure` is of: see `Question`
    whole: Answer
    places: list[Switched]


def all_heads(reader: AttentionReader) -> int:
    """How many there are to switch off."""
    return sum(sum(heads_of(stack, place)) for place, stack in gated_places(reader.subject.network).items())


def switched_off(reader: AttentionReader, texts: Sequence[str], maps: Sequence[AttentionMap], task: str | None = None) -> Switching:
    """Ask without each head; `maps` is the attention of the whole model."""
    question = question_of(reader, texts, task)
    whole = question.ask()
    places = []
    for place, stack in gated_places(reader.subject.network).items():
        answers: list[list[Answer]] = []
        moved: list[list[list[list[NDArray[np.float32]]]]] = []
        for layer, heads in enumerate(heads_of(stack, place)):
            answers.append([])
            moved.append([])
            for head in range(heads):
                gates = without(reader.subject.network, place, layer, head)
                with gated(reader.subject.network, gates):
                    answers[-1].append(question.ask())
                moved[-1].append([how_far(one, other) for one, other in zip(maps, reader.maps(gates), strict=True)])
        places.append(Switched(place=place, answers=answers, moved=moved))
    return Switching(kind=question.kind, whole=whole, places=places)


def how_far(one: AttentionMap, other: AttentionMap) -> list[NDArray[np.float32]]:
    """Of each head, layer by layer, the share of its attention that went elsewhere, in the mean of all tokens."""
    return [0.5 * np.abs(a - b).sum(-1).mean(-1) for a, b in zip(one.probability, other.probability, strict=True)]
