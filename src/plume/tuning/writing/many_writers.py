"""Writers that go on with many texts at once: greedy search over all of them, from which those that are finished leave."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.heads.head import HeadModule
from plume.model.networks.model import Model
from plume.model.use.generate import Written
from plume.model.use.writers import Writer


class ManyWriter(Writer):
    """`first` and `go_on` give a line for each row; with one row it is a writer for a beam search."""

    def __init__(self, model: Model, head: HeadModule, source: Batch) -> None:
        super().__init__(model, head)
        self.source = source

    def given(self) -> Tensor | None:
        """[B] the next token where a row's own text has it, else -1. None: all rows are past their text."""
        return None

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.source = self.source.map(lambda array: array[rows])

    def _full(self, number: int) -> Tensor:
        """[B, 1]"""
        return torch.full((len(self.source.tokens), 1), number, device=self.device)


class SourcesWriter(ManyWriter):
    """An encoder has read; the decoder writes."""

    def __init__(self, model: Model, head: HeadModule, source: Batch, start: int) -> None:
        super().__init__(model, head, source)
        self.start, self.read = start, model.encode(source)

    def first(self) -> Tensor:
        return self._scores(self._full(self.start))

    def go_on(self, tokens: Tensor) -> Tensor:
        return self._scores(tokens[:, None])

    def _scores(self, tokens: Tensor) -> Tensor:
        batch = Batch(tokens=tokens, order=Order.CAUSAL, source=self.source)
        return self.head.next_scores(self.model.decode(batch, self.read, cache=self.cache))

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.read = replace(self.read, last=self.read.last[rows], state=tuple(layer.pick(rows) for layer in self.read.state))


class PromptsWriter(ManyWriter):
    """Left to right after texts of unequal lengths: all are read as far as the shortest goes; the longer ones go on with their own tokens.

    So nothing is padded, and every token stands and sees as it would alone. A family with a memory sees the whole row, as in tuning.
    """

    def __init__(self, model: Model, head: HeadModule, source: Batch) -> None:
        super().__init__(model, head, source)
        time = source.tokens.shape[1]
        self.place = time if source.length is None else int(source.length.min())

    def first(self) -> Tensor:
        return self._scores(self.source.tokens[:, : self.place])

    def go_on(self, tokens: Tensor) -> Tensor:
        self.place += 1
        return self._scores(tokens[:, None])

    def given(self) -> Tensor | None:
        if self.source.length is None or self.place >= self.source.tokens.shape[1]:
            return None
        return self.source.tokens[:, self.place].where(self.place < self.source.length, -1)

    def _scores(self, tokens: Tensor) -> Tensor:
        return self.head.next_scores(self.model.encode(Batch(tokens=tokens, order=Order.CAUSAL), cache=self.cache))


class MasksWriter(ManyWriter):
    """UniLM: each token at a mask that makes way for it. Texts of one length."""

    def __init__(self, model: Model, head: HeadModule, source: Batch, mask: int, segments: tuple[int, int]) -> None:
        super().__init__(model, head, source)
        self.mask, self.segments = mask, segments

    def first(self) -> Tensor:
        tokens = self.source.tokens
        self.model.encode(Batch(tokens=tokens, segment=torch.full_like(tokens, self.segments[0])), cache=self.cache)
        return self._scores(self._full(self.mask))

    def go_on(self, tokens: Tensor) -> Tensor:
        return self._scores(torch.stack([tokens, torch.full_like(tokens, self.mask)], dim=1))

    def _scores(self, tokens: Tensor) -> Tensor:
        batch = Batch(tokens=tokens, order=Order.CAUSAL, segment=torch.full_like(tokens, self.segments[1]))
        encoded = self.model.encode(batch, cache=self.cache)
        for held in self.cache:
            held.own.forget(1)
        return self.head.next_scores(encoded)


class BlanksWriter(ManyWriter):
    """GLM: what fills the blank, written behind the text with the blank's position. Texts of one length."""

    def __init__(self, model: Model, head: HeadModule, source: Batch, *, mask: int, start: int) -> None:
        super().__init__(model, head, source)
        self.blank = int((source.tokens[0] == mask).nonzero()[0, 0])
        self.start, self.written = start, 0

    def first(self) -> Tensor:
        tokens = torch.cat([self.source.tokens, self._full(self.start)], dim=1)
        step = torch.arange(tokens.shape[1], device=self.device).expand_as(tokens)
        last = step == tokens.shape[1] - 1
        position = step.masked_fill(last, self.blank)
        batch = Batch(tokens=tokens, order=Order.RANKED, rank=last.long(), position=position, within=last.long())
        return self.head.next_scores(self.model.encode(batch, cache=self.cache))

    def go_on(self, tokens: Tensor) -> Tensor:
        self.written += 1
        position = torch.full_like(tokens, self.blank)[:, None]
        batch = Batch(tokens=tokens[:, None], order=Order.CAUSAL, position=position, within=torch.full_like(position, self.written + 1))
        return self.head.next_scores(self.model.encode(batch, cache=self.cache))


@torch.inference_mode()
def greedy(writer: ManyWriter, *, room: int, stop: int) -> list[Written]:
    """The likeliest token each time, at most `room` a row, up to but without `stop`."""
    rows = len(writer.source.tokens)
    device = writer.device
    text = torch.full((rows, room), stop, device=device)
    size, asked = torch.zeros(rows, dtype=torch.long, device=device), torch.zeros(rows, dtype=torch.long, device=device)
    total = torch.zeros(rows, device=device)
    going = torch.arange(rows, device=device)
    scores = writer.first()
    while True:
        best, token = scores.max(-1)
        given = writer.given()
        own = torch.ones_like(token, dtype=torch.bool) if given is None else given < 0
        token = token if given is None else torch.where(own, token, given)
        ends = own & (token == stop)
        new = own & ~ends
        text[going[new], size[going[new]]] = token[new]
        size[going] += new.long()
        asked[going] += own.long()
        total[going] += torch.where(own, best.to(total.dtype), 0.0)
        stays = ~ends & (size[going] < room)
        if not stays.any():
            break
        if not stays.all():
            kept = stays.nonzero()[:, 0]
            going, token = going[kept], token[kept]
            writer.reorder(kept)
        scores = writer.go_on(token)
    mean = (total / asked.clamp(min=1)).tolist()
    return [Written(score, tuple(row[:count])) for score, row, count in zip(mean, text.tolist(), size.tolist(), strict=True)]
