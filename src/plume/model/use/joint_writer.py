"""JointWriter: texts of any lengths go on together, and others join between two steps."""

from __future__ import annotations

from typing import TypeGuard

import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.heads.head import HeadModule
from plume.model.networks.model import Model
from plume.model.use.writers import Writer
from plume.nn.stack import Stack

_WASTE = 0.25  # of the cached columns, from which on those that no row sees are dropped


class JointWriter(Writer):
    """GPT and its kin. Prompts are read padded behind, then moved so that all rows end in one column; what stands before a shorter one is
    hidden from it, and its positions are its own. So every text gets the scores that it would get alone, whoever joins or leaves."""

    def __init__(self, model: Model, head: HeadModule, prompt: Batch, *, segment: Tensor | None = None) -> None:
        """`segment` [B] are the texts' languages, where these are languages."""
        super().__init__(model, head)
        self.prompt, self.segment = prompt, segment
        length = prompt.length
        self.foreign = (
            torch.zeros(len(prompt.tokens), dtype=torch.long, device=self.device) if length is None else prompt.tokens.shape[1] - length
        )

    @property
    def rows(self) -> int:
        return len(self.foreign)

    @property
    def columns(self) -> int:
        """Of the longest row, as far as it is read."""
        return self.cache[0].own.length

    def first(self) -> Tensor:
        tokens = self.prompt.tokens
        length = tokens.shape[1] - self.foreign
        encoded = self._encoded(tokens, read=(length - 1)[:, None])
        if self.prompt.length is not None:
            for held in self.cache:
                held.own.end_together(length)
        return self.head.next_scores(encoded)

    def go_on(self, tokens: Tensor) -> Tensor:
        uneven = bool(self.foreign.any())
        position = (self.columns - self.foreign)[:, None] if uneven else None
        return self.head.next_scores(self._encoded(tokens[:, None], position=position, foreign=self.foreign if uneven else None))

    def _encoded(self, tokens: Tensor, **how):  # type: ignore[no-untyped-def]
        segment = None if self.segment is None else self.segment[:, None].expand_as(tokens)
        return self.model.encode(Batch(tokens=tokens, order=Order.CAUSAL, segment=segment, **how), cache=self.cache)

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        self.foreign = self.foreign[rows]
        self.segment = None if self.segment is None else self.segment[rows]
        unseen = int(self.foreign.min()) if len(rows) else 0
        if unseen > _WASTE * self.columns:
            left = self.columns - unseen
            for held in self.cache:
                held.own.keep_last(left)
            self.foreign = self.foreign - unseen

    def join(self, other: JointWriter) -> None:
        """The other's rows, which have been read, behind our own."""
        width = max(self.columns, other.columns)
        self.foreign = torch.cat([self.foreign + width - self.columns, other.foreign + width - other.columns])
        if self.segment is not None and other.segment is not None:
            self.segment = torch.cat([self.segment, other.segment])
        for own, others in zip(self.cache, other.cache, strict=True):
            own.own.join(others.own)


def can_join(model: Model) -> TypeGuard[Model]:
    """Is it a stack that keeps every token that it has read? A memory ends where the row says, and a recurrent state is no row of keys."""
    return model.recipe.memory is None and isinstance(getattr(model, "stack", None), Stack) and not model.recipe.recurrent
