"""Rearrange: in what order the input shows the text; the target keeps the text's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.padded import text_bounds
from plume.noise.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Rearrange(Part):
    """In what order the input shows the text."""

    needs_sentences: ClassVar[bool] = False
    keeps_places: ClassVar[bool] = False

    def __call__(self, rows: Rows, draws: Draws) -> Rows:
        """The same tokens in another order, with their bounds."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class InOrder(Rearrange):
    """As it stands in the corpus."""

    keeps_places: ClassVar[bool] = True

    def __call__(self, rows: Rows, draws: Draws) -> Rows:
        return rows


@dataclass(frozen=True, kw_only=True)
class PermutedSentences(Rearrange):
    """All sentences of the row in random order (BART §2.2); the special tokens around the text stay where they are.

    fairseq's denoising_dataset.py knows a sentence's end only by GPT-2's full stop; these are the corpus' own sentences. A special token
    between sentences moves with the sentence before it, as there.
    """

    needs_sentences: ClassVar[bool] = True

    def __call__(self, rows: Rows, draws: Draws) -> Rows:
        sentence = sentences_of(rows)
        place = np.arange(sentence.shape[1])
        first, end = text_bounds(rows)
        inside = (place >= first) & (place < end)
        last_ordinary = np.maximum.accumulate(np.where(rows.special, first, place), axis=1)
        number = np.where(inside, np.take_along_axis(sentence, last_ordinary, axis=1), 0)
        key = np.take_along_axis(draws.uniform(int(number.max(initial=0)) + 1), number, axis=1)
        key = np.where(inside, key, np.where(place < first, -1.0, 2.0))
        return reordered(rows, np.argsort(key, axis=1, kind="stable"))


@dataclass(frozen=True, kw_only=True)
class RotatedDocument(Rearrange):
    """A token drawn evenly becomes the first of the text, and what stood before it follows the end (BART §2.2).

    fairseq's add_rolling_noise draws one place too many, so that the unchanged order comes twice as often; here every token is as likely.
    """

    def __call__(self, rows: Rows, draws: Draws) -> Rows:
        place = np.arange(rows.tokens.shape[1])
        first, end = text_bounds(rows)
        size = np.maximum(end - first, 1)
        turned = first + (place - first + draws.integers(size, 1)) % size
        return reordered(rows, np.where((place >= first) & (place < end), turned, place))


def sentences_of(rows: Rows) -> NDArray[np.int64]:
    """[B, T] which sentence each token belongs to, or an error where the rows do not know."""
    if rows.sentence is None:
        raise PlumeError(
            "This noise works on sentences, and the rows do not say where they begin: use a layout that keeps the store's sentences."
        )
    return rows.sentence


def reordered(rows: Rows, order: NDArray[np.int64]) -> Rows:
    """Place j of the new row is place order[j] of the old one, with all its bounds."""

    def moved(values: NDArray[Any]) -> NDArray[Any]:
        return np.take_along_axis(values, order, axis=1)

    return replace(
        rows,
        tokens=moved(rows.tokens),
        special=moved(rows.special),
        word_start=moved(rows.word_start),
        segment=None if rows.segment is None else moved(rows.segment),
        sentence=None if rows.sentence is None else moved(rows.sentence),
        units={kind: moved(starts) for kind, starts in rows.units.items()},
    )
