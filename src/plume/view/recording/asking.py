"""Asking a model for one token, at every layer: its head applied to each layer as if the network ended there (the "logit lens").

How a token is asked for is how the family was trained: at its mask, after what stands before it, or by its decoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded, Order
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import fills, layers_at_blanks
from plume.model.use.rows import padded
from plume.nn.block import pick
from plume.noise.decoder_target import TheSpan, WholeText
from plume.noise.sentinels import SpansAfterSentinels

_TOKENS, _SCORES = 2048, 1 << 23  # read at once, and scores held at once


@dataclass(frozen=True, kw_only=True)
class AskedPlace:
    """A place of a framed text whose token is asked for."""

    frame: Sequence[int]
    place: int
    language: int | None = None


class Asking:
    """The base: `hides`, or only goes on with what stands before."""

    hides = True

    def __init__(self, can: Abilities) -> None:
        self.can = can

    def layers(self, asked: Sequence[AskedPlace]) -> tuple[HeadModule, dict[int, Encoded]]:
        """The head, and for each layer what it reads: in `last` [B, 1, D] states, or [1, M, D] where one text is asked about M times."""
        raise NotImplementedError

    @torch.inference_mode()
    def ask(self, asked: Sequence[AskedPlace]) -> Iterator[tuple[slice, int, Tensor]]:
        """[n, V] log-probabilities of every token, for some of the questions and one layer after the other."""
        for part in self._parts(asked):
            head, layers = self.layers(asked[part])
            for number, encoded in layers.items():
                yield part, number, head.log_probabilities(encoded).flatten(0, 1)

    def _parts(self, asked: Sequence[AskedPlace]) -> Iterator[slice]:
        """Questions that are asked together: rows of their own, or places of one text that is read once."""
        most = max(1, _SCORES // self.can.model.vocabulary)
        if self.hides:
            most = max(1, min(most, _TOKENS // max(len(one.frame) for one in asked)))
        first = 0
        while first < len(asked):
            last = min(first + most, len(asked))
            while not self.hides and asked[last - 1].frame is not asked[first].frame:
                last -= 1
            yield slice(first, last)
            first = last

    def _hidden(self, asked: Sequence[AskedPlace], mask: int) -> list[list[int]]:
        rows = [list(one.frame) for one in asked]
        for row, one in zip(rows, asked, strict=True):
            row[one.place] = mask
        return rows

    def _source(self, asked: Sequence[AskedPlace], mask: int) -> Batch:
        return self.can.rows(self._hidden(asked, mask))


class AskAtMask(Asking):
    """A mask stands in the token's place (BERT), or a query that does not see it (XLNet)."""

    def layers(self, asked: Sequence[AskedPlace]) -> tuple[HeadModule, dict[int, Encoded]]:
        rows = self._hidden(asked, self.can.mask)
        told = [one.language for one in asked if one.language is not None]
        return layers_at_blanks(
            self.can, padded(rows, self.can.tokenizer.pad).numpy(), np.array([len(row) for row in rows]),
            np.array([[one.place] for one in asked]), np.array(told) if told else None,
        )  # fmt: skip


class AskNext(Asking):
    """From what stands before it, read from left to right (GPT)."""

    hides = False

    def layers(self, asked: Sequence[AskedPlace]) -> tuple[HeadModule, dict[int, Encoded]]:
        kind = self.can.causal()
        assert kind is not None, "chosen for causal families"
        frame, language = asked[0].frame, asked[0].language  # the same of all
        tokens = self.can.tensor([[self.can.tokenizer.separator, *frame[: max(one.place for one in asked)]]])
        segment = None if language is None else torch.full_like(tokens, language)
        layers = self.can.model.token_layers(Batch(tokens=tokens, order=Order.CAUSAL, segment=segment))
        return self.can.head(kind), _at(layers, [[one.place for one in asked]], self.can)


class AskInBlank(Asking):
    """The first token of a blank that is written behind the text (GLM)."""

    def layers(self, asked: Sequence[AskedPlace]) -> tuple[HeadModule, dict[int, Encoded]]:
        kind = self.can.spans()
        assert kind is not None, "chosen for families that write spans"
        rows = self._hidden(asked, self.can.mask)
        tokens = padded([[*row, self.can.start] for row in rows], self.can.tokenizer.pad, self.can.device)
        size = self.can.tensor([[len(row) for row in rows]]).T
        steps = torch.arange(tokens.shape[1], device=self.can.device).expand_as(tokens)
        order = (steps - size + 1).clamp(min=0)  # padding comes last: nothing looks at it
        blank = self.can.tensor([[one.place for one in asked]]).T
        position = torch.where(order > 0, blank, steps)
        layers = self.can.model.token_layers(Batch(tokens=tokens, order=Order.RANKED, rank=order, position=position, within=order))
        return self.can.head(kind), _at(layers, [[len(row)] for row in rows], self.can)


class AskDecoder(Asking):
    """The decoder has read the text with the token hidden, and written all that stands before it (BART), the sentinel (T5), or stands at its
    place (MASS)."""

    def __init__(self, can: Abilities, kind: BatchKind) -> None:
        super().__init__(can)
        self.kind = kind

    def layers(self, asked: Sequence[AskedPlace]) -> tuple[HeadModule, dict[int, Encoded]]:
        can, target = self.can, self.kind.noise.target
        position = None
        if isinstance(target, SpansAfterSentinels):
            sentinel = can.tokenizer.id(can.tokenizer.format.sentinel_tokens()[0])
            assert sentinel is not None, "a format's tokens are in its tokenizer"
            source, written = self._source(asked, sentinel), [[can.start, sentinel]] * len(asked)
        elif isinstance(target, TheSpan):
            source = self._source(asked, can.mask)
            written = [[one.frame[one.place - 1] if one.place else can.start] for one in asked]
            position = can.tensor([[max(one.place - 1, 0)] for one in asked])
        else:
            source, written = self._source(asked, can.mask), [[can.start, *one.frame[: one.place]] for one in asked]
        tokens = padded(written, can.tokenizer.pad, can.device)
        layers = can.model.token_layers(Batch(tokens=tokens, order=Order.CAUSAL, position=position, source=source))
        return can.head(self.kind), _at(layers, [[len(row) - 1] for row in written], can)


class AskAfterSource(Asking):
    """The decoder's next token, after what it has read and what it has written so far (translation, summaries)."""

    hides = False

    def __init__(self, can: Abilities, kind: BatchKind, source: Sequence[int]) -> None:
        super().__init__(can)
        self.kind, self.source = kind, list(source)

    def layers(self, asked: Sequence[AskedPlace]) -> tuple[HeadModule, dict[int, Encoded]]:
        can, frame = self.can, asked[0].frame
        tokens = can.tensor([[can.start, *frame[: max(one.place for one in asked)]]])
        layers = can.model.token_layers(Batch(tokens=tokens, order=Order.CAUSAL, source=can.rows([self.source])))
        return can.head(self.kind), _at(layers, [[one.place for one in asked]], can)


def _at(layers: dict[int, Encoded], places: list[list[int]], can: Abilities) -> dict[int, Encoded]:
    """The states at these places of each row."""
    where = can.tensor(places)
    return {number: replace(one, last=pick(one.last, where)) for number, one in layers.items()}


def asking_for(can: Abilities) -> Asking:
    """How this model is asked for a token of a text."""
    if fills(can):
        return AskAtMask(can)
    if can.causal():
        return AskNext(can)
    if can.spans():
        return AskInBlank(can)
    kind = can.decoder()
    if kind is not None and isinstance(kind.noise.target, SpansAfterSentinels | TheSpan | WholeText):
        return AskDecoder(can, kind)
    if kind is not None:
        raise PlumeError(f"{can.name} writes after reading: say what it has written (written, or --written) to see how it got there.")
    raise PlumeError(f"{can.name} has no head that predicts tokens, so its layers say no words. {can.words()}")
