"""Two streams (XLNet, arXiv:1906.08237 §2.3): the content stream reads the text, the query stream predicts without seeing its own token.

Both look at the same content with the same weights, so they run as one: the query positions are appended, look, and are not looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.model.assembly import QueryStart
from plume.model.networks.model import How, Model, before
from plume.model.recipe import Recipe
from plume.nn.attention import Sight
from plume.nn.stack import Stack
from plume.nn.visibility import AttentionMask, ranks, visible


class TwoStreamModel(Model):
    """XLNet and MPNet: positions that predict have a stream of their own."""

    queries = True

    def __init__(self, recipe: Recipe, *, vocabulary: int, query: QueryStart) -> None:
        super().__init__(recipe, vocabulary=vocabulary)
        self.query_start = nn.Parameter(torch.zeros(recipe.embedding.width)) if query is QueryStart.LEARNED else None

    def initialise(self, seed: int) -> None:
        super().initialise(seed)
        if self.query_start is not None:
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.manual_seed(seed + 1)
                self.query_start.normal_(std=self.recipe.transformer.initial_range)

    def _run(self, stack: Stack, batch: Batch, **how: Unpack[How]) -> Encoded:
        """A batch that says what is read has a query stream there; any other is the content stream alone."""
        if batch.read is None:
            return super()._run(stack, batch, **how)
        content = self.sight(replace(batch, read=None), **before(how))
        sight = self._told(self._with_queries(batch, content), how)
        known = self.embedding(batch.tokens, content.query_position, batch.segment, extra=batch.extra)
        value = torch.cat([known, self._queries(batch, sight)], dim=1)
        time = batch.tokens.shape[1]
        asked = torch.arange(time, value.shape[1], device=value.device).expand(len(value), -1)
        return self._through(stack, value, how, sight=sight, seen=time, read=asked)

    def token_layers(self, batch: Batch) -> dict[int, Encoded]:
        """With something to read, the query stream's: below the last layer it runs behind the content."""
        if batch.read is None:
            return super().token_layers(batch)
        encoded = self.token_states(batch, keep_layers=True)
        queries = batch.read.shape[1]
        layers = self.stack.as_last([layer[:, -queries:] for layer in encoded.layers])
        return {number: replace(encoded, last=layer, layers=()) for number, layer in enumerate(layers)}

    def _with_queries(self, batch: Batch, content: Sight) -> Sight:
        """The content's sight with the query positions behind it: they see what is strictly before them."""
        read = batch.read
        assert read is not None, "only called with queries"
        rows, time = batch.tokens.shape
        position = content.query_position.expand(rows, -1)
        segment = None if batch.segment is None else torch.cat([batch.segment, batch.segment.gather(1, read)], dim=1)
        keys = content.key_position.shape[1]
        own = content.mask.dense(time, keys, read.device)
        rank = ranks(batch)
        ahead = torch.ones(rows, read.shape[1], keys - time, dtype=torch.bool, device=read.device)  # memory and cache lie before everything
        strict = torch.cat([ahead, visible(query=rank.gather(1, read), key=rank, until=batch.until, strict=True)], dim=2)
        # Places that only fill `read` up may see nothing, and a softmax needs something. Targets always see: selections leave some context.
        strict |= ~strict.any(dim=2, keepdim=True)
        full = torch.ones(rows, 1, time, keys, dtype=torch.bool, device=read.device) if own is None else own.expand(rows, 1, time, keys)
        return replace(
            content,
            mask=AttentionMask(allowed=torch.cat([full, strict[:, None]], dim=2)),
            query_position=torch.cat([position, position.gather(1, read)], dim=1),
            query_segment=segment,
        )

    def _queries(self, batch: Batch, sight: Sight) -> Tensor:
        """[B, M, E] what the query stream starts from."""
        read = batch.read
        assert read is not None, "only called with queries"
        if self.query_start is not None:
            return self.embedding.dropout(self.query_start.expand(*read.shape, -1))
        assert batch.query is not None, "a query stream without a vector of its own shows tokens"
        return self.embedding(batch.query, sight.query_position[:, batch.tokens.shape[1] :], None)

    def body_flops(self, batch: Batch) -> int:
        if batch.read is None:
            return super().body_flops(batch)
        rows, time = batch.tokens.shape
        queries = batch.read.shape[1]
        recalled = self._recalled(batch)
        memory = 0 if recalled is None else recalled[0].shape[1]
        shown = time if batch.query is None else time + queries
        return 3 * self.embedding.product_flops(rows * shown) + self.stack.step_flops(
            rows=rows, time=time + queries, seen=time, read=queries, memory=memory, positions=self.embedding.position
        )
