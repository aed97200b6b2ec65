"""Target: what a decoder writes, token after token, while the encoder reads what noise left of the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Shown
from plume.noise.padded import Flags, Ids, pack, text_bounds
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select
from plume.noise.target import Aim, Source, TargetRule


@dataclass(frozen=True, kw_only=True)
class DecoderTarget(TargetRule):
    """The base: a rule writes the target's tokens, and the decoder reads them one place later, after its start token."""

    decoder: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        written, length = self.written(rows, chosen, alphabet)
        source = self.source(rows, shown, alphabet)
        if alphabet.start is None:
            raise PlumeError("The decoder has no token to start with: choose a tokenizer whose format names one.")
        fed = np.concatenate([np.full((len(length), 1), alphabet.start), written[:, :-1]], axis=1)
        where = np.arange(written.shape[1]) < length[:, None]
        return Aim(
            shown=np.where(where, fed, alphabet.pad), length=length, where=where, what=written, source=source, segment=np.zeros_like(fed)
        )

    def written(self, rows: Rows, chosen: Chosen, alphabet: Alphabet) -> tuple[Ids, Ids]:
        """[B, N] the target and [B] its length, the end token counted in."""
        raise NotImplementedError

    def source(self, rows: Rows, shown: Shown, alphabet: Alphabet) -> Source:
        """What the encoder reads: the input as corrupted."""
        return Source(tokens=shown.tokens, length=shown.length)

    def closes(self, select: Select) -> bool:
        return True

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """What a model pays that knows how frequent tokens are and copies what it is shown: here every token of the target is text."""
        return entropy


@dataclass(frozen=True, kw_only=True)
class WholeText(DecoderTarget):
    """The row as it was, special tokens and all (BART §2.1; as in fairseq, where the decoder reads </s> <s> text and writes <s> text </s>)."""

    of_original: ClassVar[bool] = True

    def written(self, rows: Rows, chosen: Chosen, alphabet: Alphabet) -> tuple[Ids, Ids]:
        inside = np.arange(rows.tokens.shape[1]) < rows.length[:, None]
        last = np.take_along_axis(rows.tokens, np.maximum(rows.length - 1, 0)[:, None], axis=1)
        return closed(rows.tokens, inside, alphabet, unless=last == alphabet.end)

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """Most of the text is shown, but finding it there is what a decoder has to learn: only frequencies come without context."""
        return entropy


@dataclass(frozen=True, kw_only=True)
class TheSpans(DecoderTarget):
    """The selected units one after the other, in the order of the text (PEGASUS' gap sentences)."""

    def written(self, rows: Rows, chosen: Chosen, alphabet: Alphabet) -> tuple[Ids, Ids]:
        return closed(rows.tokens, chosen.tokens, alphabet)

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """What was left intact can be copied."""
        return corrupt.trivial_loss(entropy)


@dataclass(frozen=True, kw_only=True)
class TheSpan(TargetRule):
    """The selected tokens alone, each after the text's own token before it, at its true position (MASS §3.2; src/trainer.py).

    The decoder reads the token before the span first, also where that one is special; no end token follows but the row's own, where that is
    selected. It stands at the position that it has in the text, so the prediction of token i is made from position i - 1. A row whose very
    first token is selected starts with the decoder's start token, at position 0.
    """

    decoder: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        place = np.broadcast_to(np.arange(rows.tokens.shape[1]), rows.tokens.shape)
        if alphabet.start is None and chosen.tokens[:, :1].any():
            raise PlumeError(
                "The rows begin with text and the decoder has no start token: choose a format that begins with a special token."
            )
        begin = np.full((len(place), 1), alphabet.pad if alphabet.start is None else alphabet.start)
        before = np.concatenate([begin, rows.tokens[:, :-1]], axis=1)
        what, length = pack(rows.tokens, chosen.tokens, pad=alphabet.pad)
        fed, _ = pack(before, chosen.tokens, pad=alphabet.pad)
        position, _ = pack(np.maximum(place - 1, 0), chosen.tokens, pad=0)
        where = np.arange(what.shape[1]) < length[:, None]
        source = Source(tokens=shown.tokens, length=shown.length, segment=rows.segment)
        return Aim(shown=fed, length=length, where=where, what=what, source=source, position=position, segment=np.zeros_like(fed))

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """As for a masked LM: what shows itself can be copied."""
        return corrupt.trivial_loss(entropy)


@dataclass(frozen=True, kw_only=True)
class Continuation(DecoderTarget):
    """The encoder reads the first `share` of the text, the decoder writes the rest (PALM §3.1, the second stage).

    That 80% are read and 20% written rests on the paper alone: its pre-training code was never published.
    """

    share: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise PlumeError(f"Continuation(share={self.share}): give the share of the text that the encoder reads, above 0 and below 1.")

    def written(self, rows: Rows, chosen: Chosen, alphabet: Alphabet) -> tuple[Ids, Ids]:
        place = np.arange(rows.tokens.shape[1])
        cut, end = self._cut(rows)
        return closed(rows.tokens, (place >= cut) & (place < end), alphabet)

    def source(self, rows: Rows, shown: Shown, alphabet: Alphabet) -> Source:
        place = np.arange(rows.tokens.shape[1])
        cut, end = self._cut(rows)
        return _part(shown, (place < cut) | (place >= end), alphabet)

    def _cut(self, rows: Rows) -> tuple[Ids, Ids]:
        """[B, 1] where the decoder's part begins and ends; each side gets a token where there are two."""
        first, end = text_bounds(rows)
        size = end - first
        read = np.clip(np.rint(size * self.share).astype(np.int64), np.minimum(size, 1), np.maximum(size - 1, np.minimum(size, 1)))
        return first + read, end


@dataclass(frozen=True, kw_only=True)
class SecondText(DecoderTarget):
    """Rows of two texts: the encoder reads the first, the decoder writes the second, each closed by the end token (Vaswani et al. 2017).

    Segment 0 is the first text and segment 1 the second; the row's own special tokens are left out.
    """

    texts: ClassVar[int] = 2

    def written(self, rows: Rows, chosen: Chosen, alphabet: Alphabet) -> tuple[Ids, Ids]:
        return closed(rows.tokens, self._text(rows, 1), alphabet)

    def source(self, rows: Rows, shown: Shown, alphabet: Alphabet) -> Source:
        text = _part(shown, self._text(rows, 0), alphabet)
        inside = np.arange(text.tokens.shape[1]) < text.length[:, None]
        tokens, length = closed(text.tokens, inside, alphabet)
        return Source(tokens=tokens, length=length)

    @staticmethod
    def _text(rows: Rows, number: int) -> Flags:
        if rows.segment is None:
            raise PlumeError(
                "The rows hold one text, and this objective translates a first into a second: use a layout and a format of pairs."
            )
        return np.asarray(~rows.special & (rows.segment == number))


def closed(values: Ids, keep: Flags, alphabet: Alphabet, unless: Flags | None = None) -> tuple[Ids, Ids]:
    """The kept values and the end token ([B, 1] `unless` it stands there already)."""
    if alphabet.end is None:
        raise PlumeError("The decoder has no token to end with: choose a tokenizer whose format closes a text.")
    column = (len(values), 1)
    closes = np.ones(column, bool) if unless is None else ~unless
    values = np.concatenate([values, np.full(column, alphabet.end)], axis=1)
    return pack(values, np.concatenate([keep, closes], axis=1), pad=alphabet.pad)


def _part(shown: Shown, wanted: Flags, alphabet: Alphabet) -> Source:
    """The shown tokens that stand for the wanted places of the text."""
    inside = np.arange(shown.tokens.shape[1]) < shown.length[:, None]
    if shown.origin is not None:
        wanted = np.take_along_axis(wanted, shown.origin, axis=1)
    tokens, length = pack(shown.tokens, inside & wanted, pad=alphabet.pad)
    return Source(tokens=tokens, length=length)
