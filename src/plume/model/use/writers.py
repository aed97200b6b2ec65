"""Writers: how each kind of model comes from what is written so far to scores for the next token. All keep what they have computed."""

from __future__ import annotations

import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.heads.head import HeadModule
from plume.model.networks.model import Model


class Writer:
    def __init__(self, model: Model, head: HeadModule) -> None:
        self.model, self.head = model, head
        self.device = next(model.parameters()).device
        self.cache = model.new_cache()

    def first(self) -> Tensor:
        """[1, V] log-probabilities of the first token."""
        raise NotImplementedError

    def go_on(self, tokens: Tensor) -> Tensor:
        """[B, V] log-probabilities of the next token, after these [B] were written."""
        raise NotImplementedError

    def reorder(self, rows: Tensor) -> None:
        """Go on with these histories, in this order."""
        for held in self.cache:
            held.reorder(rows)


class PromptWriter(Writer):
    """One that goes on from a prompt: what is new, prompt or token, always comes the same way."""

    def __init__(self, model: Model, head: HeadModule, prompt: list[int]) -> None:
        super().__init__(model, head)
        self.prompt = torch.tensor([prompt], dtype=torch.long, device=self.device)

    def first(self) -> Tensor:
        return self._scores(self.prompt)

    def go_on(self, tokens: Tensor) -> Tensor:
        return self._scores(tokens[:, None])

    def _scores(self, tokens: Tensor) -> Tensor:
        """[B, V] log-probabilities after these new tokens [B, T]."""
        raise NotImplementedError

    def _bound_memory(self) -> None:
        """A family with a memory looks no further back than that."""
        memory = self.model.recipe.memory
        if memory is not None:
            for held in self.cache:
                held.own.keep_last(memory.length)


class CausalWriter(PromptWriter):
    """GPT and its kin: each token sees those before it. With a memory, only the last ones are kept (Transformer-XL)."""

    def __init__(self, model: Model, head: HeadModule, prompt: list[int], *, segment: int | None = None) -> None:
        """`segment` is the text's language, where these are languages."""
        super().__init__(model, head, prompt)
        self.segment = segment

    def _scores(self, tokens: Tensor) -> Tensor:
        self._bound_memory()
        segment = None if self.segment is None else torch.full_like(tokens, self.segment)
        return self.head.next_scores(self.model.encode(Batch(tokens=tokens, order=Order.CAUSAL, segment=segment), cache=self.cache))


class DecoderWriter(PromptWriter):
    """An encoder has read the source; the decoder writes."""

    def __init__(self, model: Model, head: HeadModule, source: list[int], start: list[int], *, position: int = 0) -> None:
        """`position` is where what it writes stands in the text, if it fills a place there (MASS)."""
        super().__init__(model, head, start)
        self.position = position
        self.source = Batch(tokens=torch.tensor([source], device=self.device))
        self.read = model.encode(self.source)

    def _scores(self, tokens: Tensor) -> Tensor:
        position = torch.arange(tokens.shape[1], device=self.device).expand_as(tokens) + self.position
        self.position += tokens.shape[1]
        batch = Batch(tokens=tokens, order=Order.CAUSAL, position=position, source=self.source)
        return self.head.next_scores(self.model.decode(batch, self.read, cache=self.cache))


class SpanWriter(Writer):
    """GLM: a text with one blank is read as a whole; the span is written after it, with the blank's position (arXiv:2103.10360 §2.1)."""

    def __init__(self, model: Model, head: HeadModule, text: list[int], blank: int, start: int) -> None:
        super().__init__(model, head)
        self.text, self.blank, self.start, self.written = text, blank, start, 0

    def first(self) -> Tensor:
        tokens = torch.tensor([[*self.text, self.start]], device=self.device)
        steps = torch.arange(len(self.text) + 1, device=self.device)[None]
        last = steps == len(self.text)
        batch = Batch(
            tokens=tokens,
            order=Order.RANKED,
            rank=last.long(),
            position=steps.masked_fill(last, self.blank),
            within=last.long(),
        )
        return self.head.next_scores(self.model.encode(batch, cache=self.cache))

    def go_on(self, tokens: Tensor) -> Tensor:
        self.written += 1
        position = torch.full((len(tokens), 1), self.blank, device=self.device)
        within = torch.full_like(position, self.written + 1)
        batch = Batch(tokens=tokens[:, None], order=Order.CAUSAL, position=position, within=within)
        return self.head.next_scores(self.model.encode(batch, cache=self.cache))


class MaskWriter(PromptWriter):
    """UniLM: the next token is predicted at a mask that stands in its place and then makes way for it (arXiv:1905.03197 §2.5).

    A source is read first, as a whole: it sees itself, and nothing of what is written (§2.3, "Sequence-to-Sequence LM").
    """

    def __init__(
        self, model: Model, head: HeadModule, prompt: list[int], mask: int, *, segment: int | None = None, source: Batch | None = None
    ) -> None:
        """`segment` is the one that stands for this way of reading."""
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


class QueryWriter(PromptWriter):
    """XLNet: the query stream stands at the next place and looks at what is written, which is read left to right."""

    def __init__(self, model: Model, head: HeadModule, prompt: list[int], mask: int) -> None:
        super().__init__(model, head, prompt)
        self.mask = mask

    def _scores(self, tokens: Tensor) -> Tensor:
        self._bound_memory()
        # The next place is shown by a token that nobody sees, and taken out of the cache again.
        place = torch.full((len(tokens), 1), self.mask, device=self.device)
        read = torch.full_like(place, tokens.shape[1])
        shown = torch.cat([tokens, place], dim=1)
        encoded = self.model.encode(Batch(tokens=shown, order=Order.CAUSAL, read=read, query=place), cache=self.cache)
        for held in self.cache:
            held.own.forget(1)
        return self.head.next_scores(encoded)
