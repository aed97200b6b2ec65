"""What writes, as graphs with a cache: an encoder that reads the source once, and a decoder that goes on by some tokens.

The cache is handed in and out: `past.0.key` [rows, heads, tokens so far, width] goes in, `present.0.key` with the new tokens comes out, for each
block. Heads and widths are those of the blocks, which may differ where some were pruned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded, Order
from plume.heads.copying import CopyingModule
from plume.heads.head import HeadModule
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.networks.model import Model
from plume.model.use.abilities import Abilities
from plume.model.use.runtimes._graph import Graph, Signature
from plume.model.use.runtimes._samples import TEXTS
from plume.nn.attention import Attention, LayerCache
from plume.nn.block import BlockCache
from plume.text.tokenizer import Tokenizer

STATES = "encoder_hidden_states"
SOURCE = "encoder_input_ids"
MASK = "encoder_attention_mask"


class GivenCache(LayerCache):
    """Keys and values that were handed in. A graph has no room to write into: what is new is joined to them."""

    def __init__(self, key: Tensor, value: Tensor) -> None:
        super().__init__()
        self.key, self.value, self.length = key, value, key.shape[2]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.key, self.value = torch.cat([self.key, key], dim=2), torch.cat([self.value, value], dim=2)
        return self.held()

    def held(self) -> tuple[Tensor, Tensor]:
        return self.key, self.value


def attentions(model: Model, *, across: bool) -> list[Attention]:
    """Of the blocks that write: to their own tokens, or to the source."""
    stack = model.decoder if isinstance(model, EncoderDecoderModel) else model.stack
    blocks = [stack.block(layer) for layer in range(len(model.new_cache()))]
    found = [block.across if across else block.attention for block in blocks]
    return [one for one in found if one is not None]


def _names(prefix: str, blocks: Sequence[Attention]) -> tuple[str, ...]:
    return tuple(f"{prefix}.{number}.{side}" for number in range(len(blocks)) for side in ("key", "value"))


class _WritingGraph(Graph):
    model: Model

    def __init__(self, model: Model, tokenizer: Tokenizer, head: HeadModule) -> None:
        super().__init__(model, tokenizer, Signature())
        self.head = head
        self.across = attentions(model, across=True)
        self.copies = isinstance(head, CopyingModule)  # then it looks at the source itself

    @property
    def body(self) -> Model:
        return self.model

    def described(self) -> str:
        return str(self.model.recipe.to_json())


class SourceGraph(_WritingGraph):
    """What an encoder reads, as the keys and values that each block of the decoder looks at."""

    model: EncoderDecoderModel

    def __init__(self, model: EncoderDecoderModel, tokenizer: Tokenizer, head: HeadModule) -> None:
        super().__init__(model, tokenizer, head)
        self.outputs = (*((STATES,) if self.copies else ()), *_names("source", self.across))

    def axes(self, name: str) -> dict[int, str]:
        return {0: "rows", 2: "source"} if name.startswith("source.") else {0: "rows", 1: "source"}

    def compute(self, batch: Batch) -> tuple[Tensor, ...]:
        states = self.model.encode(batch).last
        found = [one for across in self.across for one in across.looked_at(states)]
        return (states, *found) if self.copies else tuple(found)


class StepGraph(_WritingGraph):
    """[rows, tokens] that are new, after what is cached: the scores of the next token, and the cache with them."""

    def __init__(self, model: Model, tokenizer: Tokenizer, head: HeadModule) -> None:
        super().__init__(model, tokenizer, head)
        self.own = attentions(model, across=False)
        self.outputs = ("logits", *_names("present", self.own))

    @property
    def inputs(self) -> tuple[str, ...]:
        source = (MASK, *((SOURCE, STATES) if self.copies else ()), *_names("source", self.across)) if self.across else ()
        return ("input_ids", *source, *_names("past", self.own))

    def axes(self, name: str) -> dict[int, str]:
        kind = name.partition(".")[0]
        lengths = {"logits": {}, "past": {2: "past"}, "present": {2: "present"}, "source": {2: "source"}, "input_ids": {1: "time"}}
        return {0: "rows"} | lengths.get(kind, {1: "source"})

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Heads and their width in each array of the cache."""
        sizes = [(one.heads, one.head_width) for one in self.own for _ in ("key", "value")]
        return dict(zip(_names("past", self.own), sizes, strict=True))

    def nothing(self, rows: int) -> tuple[Tensor, ...]:
        """The cache before the first token."""
        return tuple(torch.zeros(rows, heads, 0, width) for heads, width in self.shapes.values())

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]  # by the names of `inputs`
        named = dict(zip(self.inputs, given, strict=True))
        own = [GivenCache(named[f"past.{n}.key"], named[f"past.{n}.value"]) for n in range(len(self.own))]
        batch = Batch(tokens=named["input_ids"], order=Order.CAUSAL)
        encoded = self._decoded(batch, own, named) if self.across else self.model.encode(batch, cache=[BlockCache(own=one) for one in own])
        return (self.head.raw_scores(encoded), *(array for one in own for array in one.held()))

    def _decoded(self, batch: Batch, own: list[GivenCache], named: dict[str, Tensor]) -> Encoded:
        seen = [GivenCache(named[f"source.{n}.key"], named[f"source.{n}.value"]) for n in range(len(self.across))]
        mask = named[MASK]
        source = Batch(tokens=named.get(SOURCE, mask), length=mask.sum(1))
        cache = [BlockCache(own=one, source=other) for one, other in zip(own, seen, strict=True)]
        made = Batch(tokens=batch.tokens, order=batch.order, source=source)
        return self.model.decode(made, Encoded(last=named.get(STATES, mask)), cache=cache)

    def source(self, tokens: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """The inputs that say what was read."""
        if not isinstance(self.model, EncoderDecoderModel):
            return {}
        reads = SourceGraph(self.model, self.tokenizer, self.head)
        return {SOURCE: tokens, MASK: mask, **dict(zip(reads.outputs, reads(tokens, mask), strict=True))}

    def example(self, *, rows: int = 2, time: int = 3, past: int = 4, source: int = 5) -> tuple[Tensor, ...]:
        tokens = torch.arange(rows * max(past + time, source)).view(rows, -1) * 7 % self.body.vocabulary
        mask = torch.ones_like(tokens[:, :source])
        mask[-1, source - source // 3 :] = 0
        with torch.no_grad():
            named = self.source(tokens[:, :source], mask)
            return self._after(tokens[:, :past], tokens[:, past : past + time], named)

    def _after(self, before: Tensor, new: Tensor, named: dict[str, Tensor]) -> tuple[Tensor, ...]:
        """The inputs of a step with `new` tokens, where those `before` are cached."""
        read = tuple(named[name] for name in self.inputs if name in named)
        held = self.nothing(len(new))
        return (new, *read, *(self(before, *read, *held)[1:] if before.shape[1] else held))

    def trials(self) -> Iterator[tuple[Tensor, ...]]:
        for rows, time, past, source in ((1, 1, 0, 1), (1, 5, 0, 7), (3, 1, 6, 2), (2, 4, 9, 12)):
            room = (self.body.longest or past + time) - time
            yield self.example(rows=rows, time=time, past=min(past, room), source=min(source, self.body.longest or source))

    def samples(self) -> Iterator[tuple[Tensor, ...]]:
        can = Abilities(self.body, self.tokenizer)
        for ids in self.tokenizer.encode(list(TEXTS)):
            tokens = torch.tensor([(ids or [can.start])[: self.body.longest]])
            framed = torch.tensor([can.frame(ids)[: self.body.longest]])
            half = tokens.shape[1] // 2
            with torch.no_grad():
                yield self._after(tokens[:, :half], tokens[:, half:], self.source(framed, torch.ones_like(framed)))
