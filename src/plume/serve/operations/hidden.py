"""States of every token, of the layers that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.model.use.text_batches import TextBatches
from plume.serve.errors import BadRequest, TooLarge
from plume.serve.models.opened import Opened, checked_language
from plume.serve.operations._operation import Operation, Prepared, parted
from plume.serve.operations._states import check_layers, token_states

_MOST = 4_000_000  # numbers of one answer
Place = tuple[int, int]  # of a token in its text: the first character, and the one behind its last


@dataclass(frozen=True, kw_only=True)
class HiddenAsked:
    """Texts, and layers: 0 the embeddings, -1 the last."""

    texts: Sequence[str]
    layers: tuple[int, ...] = (-1,)
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class HiddenReady(Prepared):
    """Read, with the places of its tokens."""

    read: TextBatches
    places: list[list[Place | None]]
    layers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class HiddenStates:
    """Of one text: its tokens, where they stand (None: special ones), and [T, D] states of each layer."""

    tokens: list[str]
    places: list[Place | None]
    layers: list[NDArray[np.float32]]


class HiddenLayers(Operation[HiddenAsked, HiddenReady, list[HiddenStates]]):
    """Every network."""

    name = "hidden"
    field = "inputs"
    parallel = True

    def able(self, opened: Opened) -> bool:
        return opened.has(lambda one: one.language_model)

    def characters(self, asked: HiddenAsked) -> int:
        return sum(map(len, asked.texts))

    def prepare(self, opened: Opened, asked: HiddenAsked) -> HiddenReady:
        model = opened.language_model
        checked_language(opened, asked.language)
        try:
            check_layers(model, asked.layers)
        except PlumeError as error:
            raise BadRequest(str(error), param="layers") from None
        read = model.read(asked.texts, raw=True, language=asked.language)
        size = read.tokens * len(asked.layers) * model.model.width
        if size > _MOST:
            raise TooLarge(f"{size:,} numbers would be answered, {_MOST:,} are the limit: ask for fewer layers or texts.", param="layers")
        return HiddenReady(cost=read.tokens, group=asked.layers, read=read, places=_places(read, asked.texts), layers=asked.layers)

    def run(self, opened: Opened, prepared: Sequence[HiddenReady]) -> list[list[HiddenStates]]:
        joined = TextBatches.joined([one.read for one in prepared])
        states = token_states(opened.language_model, joined, prepared[0].layers)
        own = parted(states, (len(one.places) for one in prepared))
        return [_answer(one, found) for one, found in zip(prepared, own, strict=True)]


def _answer(one: HiddenReady, states: list[list[NDArray[np.float32]]]) -> list[HiddenStates]:
    return [
        HiddenStates(tokens=[one.read.spelled(number) for number in row.tokens], places=places, layers=layers)
        for row, places, layers in zip(one.read.framed, one.places, states, strict=True)
    ]


def _places(read: TextBatches, texts: Sequence[str]) -> list[list[Place | None]]:
    """Special tokens stand before and after the text; what was cut off at its end has no place."""
    can = read.can
    before = can.tokenizer.format.single.index("A") if can.frame([]) else 0
    after = max(0, len(can.frame([])) - before)
    found: list[list[Place | None]] = []
    for row, pieces in zip(read.framed, can.tokenizer.encode_pieces(texts), strict=True):
        inside = max(0, min(len(row.tokens) - before - after, len(pieces.ids)))
        places = list(zip(pieces.start[:inside].tolist(), pieces.end[:inside].tolist(), strict=True))
        found.append([*[None] * before, *places, *[None] * (len(row.tokens) - before - inside)])
    return found


OPERATION = HiddenLayers()
