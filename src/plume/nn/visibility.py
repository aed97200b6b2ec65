"""Who may look at whom: the only place where a mask is made.

A query sees a key iff rank[key] <= rank[query] and both belong to the same document; padding has the largest rank. Rank all zero is
BERT, 0 1 2 … is GPT, 0 … 0 1 2 … a prefix LM, a permutation XLNet.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.batch import Batch, Order

PADDING_RANK = torch.iinfo(torch.int32).max


@dataclass(frozen=True, kw_only=True)
class AttentionMask:
    """What attention needs to know: `allowed` is None where everything is visible, `causal` marks the fast path."""

    allowed: Tensor | None = None  # bool, [B, 1, Tq or 1, Tk]
    causal: bool = False
    before: int = 0  # of a causal mask: keys that stand before all queries

    def rows(self, read: Tensor, length: int) -> AttentionMask:
        """The mask of only those queries that are read ([B, M])."""
        if self.causal:
            allowed = torch.arange(self.before + length, device=read.device) <= read[:, :, None] + self.before
            return AttentionMask(allowed=allowed[:, None])
        if self.allowed is None or self.allowed.shape[2] == 1:
            return self
        index = read[:, None, :, None].expand(-1, 1, -1, self.allowed.shape[3])
        return AttentionMask(allowed=self.allowed.expand(read.shape[0], -1, -1, -1).gather(2, index))

    def after(self, memory: int, rows: int, time: int) -> AttentionMask:
        """The same with `memory` keys before all others, which everyone sees."""
        if self.causal:  # keys that come before all queries need no mention
            return AttentionMask(causal=True, before=self.before + memory)
        own = self.allowed
        if own is None:
            return self
        own = own.expand(rows, 1, own.shape[-2], time)
        return AttentionMask(allowed=torch.cat([own.new_ones(rows, 1, own.shape[2], memory), own], dim=3))

    def without_first(self, count: Tensor, keys: int) -> AttentionMask:
        """The same for one query a row, which does not see the first `count` [B] of the keys."""
        assert not self.causal and self.allowed is None, "one query sees all that is cached"
        return AttentionMask(allowed=(torch.arange(keys, device=count.device) >= count[:, None])[:, None, None, :])

    def dense(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        """The mask written out, for the path that does not have the causal kernel."""
        if not self.causal:
            return self.allowed
        row = torch.arange(queries, device=device)[:, None] + (keys - queries)
        return torch.arange(keys, device=device) <= row


def ranks(batch: Batch) -> Tensor:
    """[B, T] the rank of every token, written out also where the batch has a fast path."""
    rows, time = batch.tokens.shape
    steps = torch.arange(time, device=batch.tokens.device).expand(rows, time)
    assert batch.order in (Order.FULL, Order.CAUSAL, Order.RANKED), f"the data side writes {batch.order} as rank"
    rank = batch.rank if batch.order is Order.RANKED else steps if batch.order is Order.CAUSAL else torch.zeros_like(steps)
    assert rank is not None, "a RANKED batch carries its rank"
    return rank if batch.length is None else rank.masked_fill(steps >= batch.length[:, None], PADDING_RANK)


def visible(
    *,
    query: Tensor,
    key: Tensor,
    until: Tensor | None = None,
    query_document: Tensor | None = None,
    key_document: Tensor | None = None,
    strict: bool = False,
) -> Tensor:
    """[B, Tq, Tk]: may this query see that key? `strict` is for a query stream, which must not see the token it predicts.

    A key with an `until` is seen only by queries of smaller rank; a strict query stands just before its own rank.

    >>> visible(query=torch.tensor([[0, 1]]), key=torch.tensor([[0, 1]])).int().tolist()
    [[[1, 0], [1, 1]]]
    """
    seen = key[:, None, :] < query[:, :, None] if strict else key[:, None, :] <= query[:, :, None]
    if until is not None:
        asks = query[:, :, None]
        seen &= (asks <= until[:, None, :] if strict else asks < until[:, None, :]) | (asks == PADDING_RANK)  # padding must see something
    if query_document is not None and key_document is not None:
        seen = seen & (query_document[:, :, None] == key_document[:, None, :])
    return seen


def mask_of(batch: Batch) -> AttentionMask:
    """The cheapest mask that is right for the batch: none, causal, keys only, or all pairs."""
    simple = batch.document is None and batch.until is None
    if simple and batch.order is Order.CAUSAL:
        return AttentionMask(causal=True)  # right padding comes later than every token, so it is never seen
    if simple and batch.order is Order.FULL:
        if batch.length is None:
            return AttentionMask()
        keys = torch.arange(batch.tokens.shape[1], device=batch.tokens.device) < batch.length[:, None]
        return AttentionMask(allowed=keys[:, None, None, :])
    rank = ranks(batch)
    return AttentionMask(
        allowed=visible(query=rank, key=rank, until=batch.until, query_document=batch.document, key_document=batch.document)[:, None]
    )
