"""T5's span corruption: the input shows a sentinel for each span, the target writes each span after its sentinel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Shown
from plume.noise.decoder_target import DecoderTarget, closed
from plume.noise.infilling import shortened
from plume.noise.padded import Flags, Ids, woven
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select


@dataclass(frozen=True, kw_only=True)
class Sentinels(Corrupt):
    """Each span shows one sentinel, the first of the row the first sentinel, and so on (T5 §3.1.4)."""

    shows_sentinels: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        return shortened(rows, sentinel_before(chosen.start, alphabet), ~chosen.tokens | chosen.start, chosen.start, alphabet)


def sentinel_before(start: Flags, alphabet: Alphabet) -> Ids:
    """[B, T] at the first token of each span its sentinel."""
    needed = int(start.sum(1).max(initial=0))
    if needed > len(alphabet.sentinels):
        raise PlumeError(
            f"A row needs {needed} sentinels and the tokenizer has {len(alphabet.sentinels)}: train it with at least {needed}, "
            "or take longer spans, a lower rate or shorter rows."
        )
    known = np.array(alphabet.sentinels or (alphabet.pad,), np.int64)
    return known[np.clip(np.cumsum(start, axis=1) - 1, 0, len(known) - 1)]


@dataclass(frozen=True, kw_only=True)
class SpansAfterSentinels(DecoderTarget):
    """Each span after its sentinel; a last sentinel stands for the text behind the last span, if there is any (T5, figure 2).

    T5's own spans end with the text, so there the last sentinel never comes. Chosen rows may need one more sentinel than they have spans.
    """

    def written(self, rows: Rows, chosen: Chosen, alphabet: Alphabet) -> tuple[Ids, Ids]:
        ordinary = ~rows.special
        after = ordinary & (np.cumsum(chosen.tokens[:, ::-1], axis=1)[:, ::-1] == 0)  # text with no span behind it
        closing = after.argmax(1)
        sentinel = chosen.start.copy()
        sentinel[np.arange(len(sentinel)), closing] |= after.any(1)
        return closed(woven(sentinel_before(sentinel, alphabet), rows.tokens), woven(sentinel, chosen.tokens), alphabet)

    def raw(self, length: int, select: Select) -> int:
        """As random_spans_helper of T5: 568 tokens of text and the end token give an input of 512.

        >>> from plume.noise.spans import MeanSpans
        >>> SpansAfterSentinels().raw(512, MeanSpans())
        569
        """
        text = length - 1
        while max(spans_lengths(text + 1, select.share, _mean(select))) <= length:
            text += 1
        return text + 1

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """Which sentinel comes next is known, but not where a span ends: of lengths whose mean alone is known (geometric), the entropy counts.

        >>> from plume.noise.spans import MeanSpans
        >>> round(SpansAfterSentinels().trivial_loss(8.0, MeanSpans(), Sentinels()), 2)
        6.48
        """
        mean = _mean(select)
        ends, goes_on = 1 / mean, 1 - 1 / mean
        lengths = 0.0 if mean == 1 else -(math.log(ends) + (mean - 1) * math.log(goes_on))
        return (mean * corrupt.trivial_loss(entropy) + lengths) / (mean + 1)


def _mean(select: Select) -> float:
    """Tokens a span; what selects single tokens names no mean."""
    return float(getattr(select, "mean", 1.0))


def spans_lengths(raw: int, rate: float, mean: float) -> tuple[int, int]:
    """The lengths of input and target that `raw` tokens give, with a sentinel a span and an end token each.

    >>> spans_lengths(568, 0.15, 3.0)
    (512, 114)
    """
    noise = round(raw * rate)
    spans = round(noise / mean)
    return raw - noise + spans + 1, noise + spans + 1
