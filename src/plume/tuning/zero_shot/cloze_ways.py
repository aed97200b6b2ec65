"""How each kind of model is asked for a label: at masks, after what it has read, or as what its decoder writes for a blank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import at_blanks, fills, tensor
from plume.noise.decoder_target import WholeText
from plume.noise.sentinels import SpansAfterSentinels
from plume.tuning.rows.rows import Array
from plume.tuning.zero_shot.blanks import left_to_right, wrapped


@dataclass(frozen=True, kw_only=True)
class Filled:
    """The template with one label in it, in tokens: before the text and after it."""

    before: Array
    after: Array
    place: Array  # [M] of the label's tokens, one behind the other, in `after` or else in `before`
    behind: bool  # the label stands behind the text
    answers: Array  # [M]

    def showing(self, tokens: Sequence[int]) -> tuple[Array, Array]:
        """Before and after, with these in place of the label."""
        own = self.after if self.behind else self.before
        shown = np.concatenate([own[: self.place[0]], np.array(tokens, np.int64), own[self.place[-1] + 1 :]])
        return (self.before, shown) if self.behind else (shown, self.after)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Rows that differ in the text alone, and the labels that are read off the same places of them."""

    before: Array  # special tokens included
    after: Array
    place: Array  # [M] that are read: from the row's start, or `behind` the text from its end
    behind: bool
    labels: Array  # [L]
    answers: Array  # [L, M]
    written: tuple[Array, Array] | None = None  # what a decoder writes before and after the text, or (T5) without it
    repeats: bool = False  # it writes the text too

    @property
    def size(self) -> int:
        """Tokens beside the text's."""
        own = len(self.before) + len(self.after)
        return own if self.written is None else max(own, sum(map(len, self.written)))

    def columns(self, size: Array) -> Array:
        """[B, M] for texts of these sizes."""
        before = self.before if self.written is None else self.written[0]
        text = size if self.written is None or self.repeats else np.zeros_like(size)
        return (len(before) + text if self.behind else np.zeros_like(size))[:, None] + self.place


class ClozeWay:
    """A kind of model: what its rows look like, and the states that its head reads the label from."""

    def __init__(self, can: Abilities) -> None:
        self.can = can
        frame = can.frame([-1])
        split = frame.index(-1)
        self.begin, self.end = np.array(frame[:split], np.int64), np.array(frame[split + 1 :], np.int64)

    def pattern(self, one: Filled, number: int) -> Pattern:
        """What stands around a text for the label of that number, and where it is answered."""
        raise NotImplementedError

    def states(self, pattern: Pattern, ids: Array, begin: Array, end: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
        """[B, M, D] of texts of [B] these languages, where the model tells them apart."""
        raise NotImplementedError

    def rows(self, pattern: Pattern, ids: Array, begin: Array, end: Array) -> tuple[Array, Array]:
        """[B, T] the texts with the pattern around them, and their lengths."""
        return wrapped(ids, begin, end, before=pattern.before, after=pattern.after, pad=self.can.tokenizer.pad)

    def framed(self, one: Filled, tokens: Sequence[int]) -> tuple[Array, Array]:
        """What stands before and after the text, these tokens in the label's place and the family's special ones around all."""
        before, after = one.showing(tokens)
        return np.concatenate([self.begin, before]), np.concatenate([after, self.end])


class ClozeAtMasks(ClozeWay):
    """As many masks as the label has tokens; each is hidden from the others."""

    def pattern(self, one: Filled, number: int) -> Pattern:
        before, after = self.framed(one, [self.can.mask] * len(one.place))
        place = one.place + (0 if one.behind else len(self.begin))
        return Pattern(before=before, after=after, place=place, behind=one.behind, labels=np.array([number]), answers=one.answers[None])

    def states(self, pattern: Pattern, ids: Array, begin: Array, end: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
        return at_blanks(self.can, *self.rows(pattern, ids, begin, end), pattern.columns(end - begin), language)


class LeftToRight(ClozeWay):
    """Up to the label's last token, which is predicted and not read."""

    def pattern(self, one: Filled, number: int) -> Pattern:
        if not one.behind:
            raise PlumeError(f"{self.can.name} reads left to right: in the template put {{text}} before the label.")
        before, after = np.append(self.can.tokenizer.separator, one.before), one.after[: one.place[-1]]
        return Pattern(before=before, after=after, place=one.place - 1, behind=True, labels=np.array([number]), answers=one.answers[None])

    def states(self, pattern: Pattern, ids: Array, begin: Array, end: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
        rows, length = self.rows(pattern, ids, begin, end)
        segment = None if language is None else np.repeat(language[:, None], rows.shape[1], axis=1)
        return left_to_right(self.can, rows, length, pattern.columns(end - begin), segment)


class Decoded(ClozeWay):
    """One blank in what the encoder reads; the decoder writes the label after its sentinel (T5), or the text with the label in it (BART)."""

    def pattern(self, one: Filled, number: int) -> Pattern:
        can, start = self.can, np.array([self.can.start])
        kind = can.decoder()
        assert kind is not None, "only called for families with a decoder"
        if isinstance(kind.noise.target, WholeText):
            before, after = self.framed(one, [can.mask])
            said = self.framed(one, one.answers.tolist())
            written, repeats, behind = (np.concatenate([start, said[0]]), said[1]), True, one.behind
            # A state predicts the token behind it; and the row begins with the start token, so that both cancel out before the text.
            place = one.place - 1 if behind else one.place + len(self.begin)
        else:
            sentinel = can.tokenizer.id(can.tokenizer.format.sentinel_tokens()[0])
            assert sentinel is not None, "a format's tokens are in its tokenizer"
            before, after = self.framed(one, [sentinel])
            written, repeats, behind = (np.concatenate([start, [sentinel], one.answers[:-1]]), self.end[:0]), False, False
            place = np.arange(len(one.place)) + 1
        return Pattern(
            before=before, after=after, place=place, behind=behind, labels=np.array([number]), answers=one.answers[None],
            written=written, repeats=repeats,
        )  # fmt: skip

    def states(self, pattern: Pattern, ids: Array, begin: Array, end: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
        kind = self.can.decoder()
        assert kind is not None and pattern.written is not None, "a decoder writes"
        read, length = self.rows(pattern, ids, begin, end)
        stop = end if pattern.repeats else begin
        before, after = pattern.written
        tokens, _ = wrapped(ids, begin, stop, before=before, after=after, pad=self.can.tokenizer.pad)
        source = Batch(tokens=tensor(self.can, read), length=tensor(self.can, length))
        columns = tensor(self.can, pattern.columns(end - begin))
        batch = Batch(tokens=tensor(self.can, tokens), order=Order.CAUSAL, read=columns, source=source)
        return self.can.head(kind), self.can.model.token_states(batch).last


class BehindTheText(ClozeWay):
    """GLM: one mask, and the label written out behind the text at the mask's position."""

    def pattern(self, one: Filled, number: int) -> Pattern:
        before, after = self.framed(one, [self.can.mask])
        after = np.concatenate([after, [self.can.start], one.answers[:-1]])
        place = len(after) - len(one.place) + np.arange(len(one.place))
        return Pattern(before=before, after=after, place=place, behind=True, labels=np.array([number]), answers=one.answers[None])

    def states(self, pattern: Pattern, ids: Array, begin: Array, end: Array, language: Array | None = None) -> tuple[HeadModule, Tensor]:
        kind = self.can.spans()
        assert kind is not None, "only called for families that write spans"
        rows, length = self.rows(pattern, ids, begin, end)
        tokens, size = tensor(self.can, rows), tensor(self.can, length)
        steps = torch.arange(rows.shape[1], device=tokens.device).expand_as(tokens)
        order = (steps - (size - len(pattern.place))[:, None] + 1).clamp(min=0)
        mask = (tokens == self.can.mask).int().argmax(1, keepdim=True)
        position = torch.where(order > 0, mask, steps)
        columns = tensor(self.can, pattern.columns(end - begin))
        batch = Batch(tokens=tokens, length=size, order=Order.RANKED, rank=order, position=position, within=order, read=columns)
        return self.can.head(kind), self.can.model.encode(batch).last


def way_of(can: Abilities) -> ClozeWay:
    """How this model says what a label's probability is; an error names those that can."""
    decoder = can.decoder()
    if fills(can):
        return ClozeAtMasks(can)
    if can.causal():
        return LeftToRight(can)
    if can.spans():
        return BehindTheText(can)
    if decoder is not None and isinstance(decoder.noise.target, WholeText | SpansAfterSentinels) and _has_blank(can):
        return Decoded(can)
    raise PlumeError(
        f"This {can.name} model cannot label texts that it was not tuned for: that takes one with the head to fill blanks (of bert, electra, "
        f"xlnet, t5, bart, glm …) or to read left to right (gpt2 …), or one tuned for entailment (--task nli). {can.words()}"
    )


def _has_blank(can: Abilities) -> bool:
    return can.tokenizer.mask is not None or bool(can.tokenizer.format.sentinel_tokens())
