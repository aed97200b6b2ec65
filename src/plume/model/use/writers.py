"""Writers: how each kind of model comes from what is written so far to scores for the next token. All keep what they have computed.

Every writer goes on with many texts at once, each of which gets the scores that it would get alone: nothing that is cached is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.heads.head import HeadModule
from plume.model.networks.model import Model
from plume.nn.block import BlockCache


class Writer:
    """Goes on with B texts, a row each. Those that are finished are dropped, and those of a beam search moved about, by `reorder`."""

    spread: ClassVar[float] = (
        0.0  # by how much the texts that are read together may differ in length: what sees both sides cannot be padded
    )

    def __init__(self, model: Model, head: HeadModule) -> None:
        self.model, self.head = model, head
        self.device = next(model.parameters()).device
        self.cache = model.new_cache()

    @property
    def rows(self) -> int:
        """How many texts it goes on with."""
        raise NotImplementedError

    def first(self) -> Tensor:
        """[B, V] log-probabilities of the first token."""
        raise NotImplementedError

    def go_on(self, tokens: Tensor) -> Tensor:
        """[B, V] log-probabilities of the next token, after these [B] were written."""
        raise NotImplementedError

    def given(self) -> Tensor | None:
        """[B] the next token where a row's own prompt has it, else -1. None: all rows are past their prompts."""
        return None

    def reorder(self, rows: Tensor) -> None:
        """Go on with these histories, in this order."""
        for held in self.cache:
            held.reorder(rows)


class PromptWriter(Writer):
    """One that goes on from a prompt: what is new, prompt or token, always comes the same way.

    Prompts may differ in length: all are read as far as the shortest goes, and the longer ones go on with tokens of their own (`given`).
    So nothing is padded, and every token stands and sees as it would alone.
    """

    def __init__(self, model: Model, head: HeadModule, prompt: Batch) -> None:
        super().__init__(model, head)
        self.prompt, self.length = prompt.tokens, prompt.length
        self.place = self.prompt.shape[1] if self.length is None else int(self.length.min())

    @property
    def rows(self) -> int:
        return len(self.prompt)

    def first(self) -> Tensor:
        return self._scores(self.prompt[:, : self.place])

    def go_on(self, tokens: Tensor) -> Tensor:
        self.place += 1
        return self._scores(tokens[:, None])

    def given(self) -> Tensor | None:
        if self.length is None or self.place >= self.prompt.shape[1]:
            return None
        return self.prompt[:, self.place].where(self.place < self.length, -1)

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.prompt = self.prompt[rows]
        self.length = None if self.length is None else self.length[rows]

    def _scores(self, tokens: Tensor) -> Tensor:
        """[B, V] log-probabilities after these new tokens [B, T]."""
        raise NotImplementedError


class CausalWriter(PromptWriter):
    """GPT and its kin: each token sees those before it. With a memory, only the last ones are kept (Transformer-XL)."""

    spread = 0.25

    def __init__(
        self, model: Model, head: HeadModule, prompt: Batch, *, segment: Tensor | None = None, forgets: bool = True
    ) -> None:  # fmt: skip
        """`segment` [B] are the texts' languages, where these are languages. One that does not forget sees the whole row, as in tuning."""
        super().__init__(model, head, prompt)
        self.segment, self.forgets = segment, forgets

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.segment = None if self.segment is None else self.segment[rows]

    def _scores(self, tokens: Tensor) -> Tensor:
        if self.forgets:
            bound_memory(self.model, self.cache)
        segment = None if self.segment is None else self.segment[:, None].expand_as(tokens)
        return self.head.next_scores(self.model.encode(Batch(tokens=tokens, order=Order.CAUSAL, segment=segment), cache=self.cache))


class DecoderWriter(PromptWriter):
    """An encoder has read the sources; the decoder writes. Sources may be padded: they are read once."""

    spread = 0.25

    def __init__(
        self, model: Model, head: HeadModule, source: Batch, prompt: Batch, *, position: Sequence[int] | None = None
    ) -> None:  # fmt: skip
        """`position` is where what each row writes stands in its text, if it fills a place there (MASS)."""
        super().__init__(model, head, prompt)
        self.position = 0 if position is None else torch.tensor(position, device=self.device)
        self.source = source
        self.read = model.encode(source)

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.source = self.source.map(lambda array: array[rows])
        self.read = replace(self.read, last=self.read.last[rows], state=tuple(layer.pick(rows) for layer in self.read.state))
        if isinstance(self.position, Tensor):
            self.position = self.position[rows]

    def _scores(self, tokens: Tensor) -> Tensor:
        position = None
        if isinstance(self.position, Tensor):
            position = self.position[:, None] + torch.arange(tokens.shape[1], device=self.device)
            self.position = self.position + tokens.shape[1]
        batch = Batch(tokens=tokens, order=Order.CAUSAL, position=position, source=self.source)
        return self.head.next_scores(self.model.decode(batch, self.read, cache=self.cache))


class SpanWriter(Writer):
    """GLM: a text with one blank is read as a whole; the span is written after it, with the blank's position (arXiv:2103.10360 §2.1).

    The texts are of one length.
    """

    def __init__(self, model: Model, head: HeadModule, text: Batch, blank: Sequence[int], start: int) -> None:
        assert text.length is None, "what sees both sides cannot be padded once it is cached"
        super().__init__(model, head)
        self.text, self.start, self.written = text.tokens, start, 0
        self.blank = torch.tensor(blank, device=self.device)

    @property
    def rows(self) -> int:
        return len(self.text)

    def first(self) -> Tensor:
        tokens = torch.cat([self.text, torch.full_like(self.text[:, :1], self.start)], dim=1)
        steps = torch.arange(tokens.shape[1], device=self.device).expand_as(tokens)
        last = (steps == tokens.shape[1] - 1).long()
        position = torch.where(last > 0, self.blank[:, None], steps)
        batch = Batch(tokens=tokens, order=Order.RANKED, rank=last, position=position, within=last)
        return self.head.next_scores(self.model.encode(batch, cache=self.cache))

    def go_on(self, tokens: Tensor) -> Tensor:
        self.written += 1
        position = self.blank[:, None]
        batch = Batch(tokens=tokens[:, None], order=Order.CAUSAL, position=position, within=torch.full_like(position, self.written + 1))
        return self.head.next_scores(self.model.encode(batch, cache=self.cache))

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.text, self.blank = self.text[rows], self.blank[rows]


class MaskWriter(PromptWriter):
    """UniLM: the next token is predicted at a mask that stands in its place and then makes way for it (arXiv:1905.03197 §2.5).

    Sources of one length are read first, as a whole: they see themselves, and nothing of what is written (§2.3, "Sequence-to-Sequence LM").
    """

    def __init__(
        self, model: Model, head: HeadModule, prompt: Batch, mask: int, *, segment: int | None = None, source: Batch | None = None
    ) -> None:
        """`segment` is the one that stands for this way of reading."""
        assert source is None or source.length is None, "what sees both sides cannot be padded once it is cached"
        super().__init__(model, head, prompt)
        self.mask, self.segment, self.source = mask, segment, source

    def first(self) -> Tensor:
        if self.source is not None:
            self.model.encode(self.source, cache=self.cache)
        return super().first()

    def _scores(self, tokens: Tensor) -> Tensor:
        shown = torch.cat([tokens, torch.full((len(tokens), 1), self.mask, device=self.device)], dim=1)
        segment = None if self.segment is None else torch.full_like(shown, self.segment)
        encoded = self.model.encode(Batch(tokens=shown, order=Order.CAUSAL, segment=segment), cache=self.cache)
        for held in self.cache:
            held.own.forget(1)
        return self.head.next_scores(encoded)


class AfterTextWriter(PromptWriter):
    """SimBERT: sources of one length are read as a whole; a second text is written after them, each token predicted from the one before."""

    def __init__(self, model: Model, head: HeadModule, source: Batch, prompt: Batch, *, segment: int) -> None:
        """`segment` is that of what is written."""
        assert source.length is None, "what sees both sides cannot be padded once it is cached"
        super().__init__(model, head, prompt)
        self.source, self.segment = source, segment

    def first(self) -> Tensor:
        read = self.model.encode(self.source, cache=self.cache)
        return super().first() if self.place else self.head.next_scores(read)

    def _scores(self, tokens: Tensor) -> Tensor:
        segment = torch.full_like(tokens, self.segment)
        return self.head.next_scores(self.model.encode(Batch(tokens=tokens, order=Order.CAUSAL, segment=segment), cache=self.cache))


class QueryWriter(PromptWriter):
    """XLNet: the query stream stands at the next place and looks at what is written, which is read left to right."""

    def __init__(self, model: Model, head: HeadModule, prompt: Batch, mask: int) -> None:
        super().__init__(model, head, prompt)
        self.mask = mask

    def _scores(self, tokens: Tensor) -> Tensor:
        bound_memory(self.model, self.cache)
        # The next place is shown by a token that nobody sees, and taken out of the cache again.
        place = torch.full((len(tokens), 1), self.mask, device=self.device)
        read = torch.full_like(place, tokens.shape[1])
        shown = torch.cat([tokens, place], dim=1)
        encoded = self.model.encode(Batch(tokens=shown, order=Order.CAUSAL, read=read, query=place), cache=self.cache)
        for held in self.cache:
            held.own.forget(1)
        return self.head.next_scores(encoded)


def bound_memory(model: Model, cache: Sequence[BlockCache], *, length: int | None = None) -> None:
    """A family with a memory looks no further back than that, or than `length`; what others have cached stays.

    Read stretch after stretch with a cache, it sees what its memory would hold, and nothing is left behind in the model.
    """
    memory = model.recipe.memory
    if memory is not None:
        for held in cache:
            held.own.keep_last(memory.length if length is None else length)
