"""The stack of blocks: what BERT, GPT and their kin call the Transformer."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.nn.activation import Activation
from plume.nn.attention import Attention, Sight
from plume.nn.between import Between, BetweenModule
from plume.nn.block import Block, BlockCache, FeedForward, Norm, NormKind, pick
from plume.nn.network import Network
from plume.nn.positions.scheme import PositionModule
from plume.nn.prefix import PrefixKeys
from plume.nn.route import Passing, Route, Stop, narrowing
from plume.nn.watching import Watch


class Sharing(enum.StrEnum):
    """Which parameters all blocks have in common (ALBERT §3.1)."""

    NONE = "none"
    ALL = "all"
    ATTENTION = "attention"
    FEED_FORWARD = "feed_forward"


@dataclass(frozen=True, kw_only=True)
class Transformer(Network):
    """A stack of blocks (arXiv:1706.03762): what BERT, GPT and most families are made of. `depth` blocks of `heads` heads, `width` wide."""

    width: int = 768
    depth: int = 12
    heads: int = 12
    feed_forward: int = 3072
    activation: Activation = Activation.GELU
    norm: Norm = Norm.POST
    dropout: float = 0.1
    attention_dropout: float = 0.1
    epsilon: float = 1e-12
    norm_kind: NormKind = NormKind.LAYER
    key_width: int | None = None  # of a head; None: width / heads
    bias: bool = True  # in the feed-forward products
    attention_bias: bool = True
    scaled: bool = True  # scores by 1/sqrt(head width); T5 leaves it out
    gated: bool = False  # arXiv:2002.05202; T5 1.1
    initial_range: float = 0.02
    layer_drop: float = 0.0  # probability that a training step leaves a block out (LayerDrop, arXiv:1909.11556); nothing is rescaled
    residual_scaling: bool = False  # GPT-2 §2.3: projections into the residual start 1/sqrt(2 depth) smaller
    pruned: tuple[tuple[int, ...], ...] = ()  # heads taken out, a tuple a block
    pruned_across: tuple[tuple[int, ...], ...] = ()  # and of a decoder's looks at its source
    inner: tuple[int, ...] = ()  # neurons of each block's feed-forward network, where some were taken out; empty: feed_forward
    between: tuple[Between, ...] = ()  # modules between two blocks, in the order in which they run

    def __post_init__(self) -> None:
        for name in ("width", "depth", "heads", "feed_forward"):
            if getattr(self, name) < 1:
                raise PlumeError(f"A network needs a {name} of at least 1, not {getattr(self, name)}.")
        if self.key_width is None and self.width % self.heads:
            raise PlumeError(f"A width of {self.width} does not divide into {self.heads} heads.")
        if not 0 <= self.layer_drop < 1:
            raise PlumeError(f"layer_drop is the probability that a block is left out, from 0 to below 1, not {self.layer_drop}.")
        if self.inner and (len(self.inner) != self.depth or min(self.inner) < 1):
            raise PlumeError(f"{self.depth} blocks need as many feed-forward widths of at least 1, not {self.inner}.")
        for one in self.between:
            if not 0 <= one.after <= self.depth:
                raise PlumeError(f"{type(one).__name__} cannot stand after {one.after} of {self.depth} blocks.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        for one in self.between:
            yield from one.problems(recipe, name)

    @property
    def head_width(self) -> int:
        """Of each head's queries and keys."""
        return self.key_width or self.width // self.heads

    def of_depth(self, depth: int) -> Transformer:
        """As deep as that, with what stands between blocks at the same part of the way, before the last."""
        between = tuple(replace(one, after=min(round(one.after * depth / self.depth), depth - 1)) for one in self.between)
        return replace(self, depth=depth, between=between)

    def with_blocks(self, kept: Sequence[int]) -> Transformer:
        """Of these blocks alone. None is dropped in training any more: those that can go are gone."""
        between = tuple(replace(one, after=sum(number < one.after for number in kept)) for one in self.between)
        for one in between:
            if one.after == len(kept):
                raise PlumeError(f"One of the layers behind {type(one).__name__} must stay: nothing would read what it makes.")
        told = {name: getattr(self, name) for name in ("pruned", "pruned_across", "inner")}  # something of each block
        chosen: dict[str, Any] = {name: tuple(value[number] for number in kept) if value else () for name, value in told.items()}
        return replace(self, depth=len(kept), layer_drop=0.0, between=between, **chosen)

    @property
    def inner_widths(self) -> tuple[int, ...]:
        """Of the feed-forward networks, a block each."""
        return self.inner or (self.feed_forward,) * self.depth

    def build(self, *, embedding_width: int, sharing: Sharing, decoder: bool = False) -> Stack:
        """A decoder's blocks also look at what an encoder made."""
        return Stack(self, embedding_width=embedding_width, sharing=sharing, decoder=decoder)


class Stack(nn.Module):
    """The blocks of a Transformer, one after the other, with what stands between them."""

    def __init__(self, part: Transformer, *, embedding_width: int, sharing: Sharing, decoder: bool) -> None:
        super().__init__()
        self.part = part
        self.sharing = sharing
        self.checkpointing = False
        self.watch: Watch | None = None  # of whoever looks inside, or switches heads off
        self.prefix: Callable[[], PrefixKeys] | None = None  # of whoever has keys stand in front of every block's
        self.route: Route | None = None  # of whoever leaves blocks out, or takes others instead
        self.project = nn.Linear(embedding_width, part.width) if embedding_width != part.width else None
        attention = [self._attention() for _ in range(1 if sharing in (Sharing.ALL, Sharing.ATTENTION) else part.depth)]
        self._refuse_pruned_sharing()
        widths = part.inner_widths[: 1 if sharing in (Sharing.ALL, Sharing.FEED_FORWARD) else None]
        feed_forward = [self._feed_forward(inner) for inner in widths]
        count = 1 if sharing is Sharing.ALL else part.depth
        blocks = [
            self._block(
                i,
                attention=attention[i % len(attention)],
                feed_forward=feed_forward[i % len(feed_forward)],
                across=self._attention() if decoder else None,
                norm=part.norm,
                kind=part.norm_kind,
                width=part.width,
                epsilon=part.epsilon,
            )
            for i in range(count)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.between = nn.ModuleList(one.build(part.width) for one in part.between)
        self.final_norm = part.norm_kind.build(part.width, part.epsilon) if part.norm is Norm.PRE else None
        for layer, heads in enumerate(part.pruned):
            if heads:
                self.block(layer).attention.prune(heads)
        for layer, heads in enumerate(part.pruned_across):
            across = self.block(layer).across
            if heads and across is not None:
                across.prune(heads)

    def _refuse_pruned_sharing(self) -> None:
        part = self.part
        if (any(part.pruned) or any(part.pruned_across)) and self.sharing in (Sharing.ALL, Sharing.ATTENTION):
            raise PlumeError("Heads cannot be pruned block by block where all blocks share one attention.")
        if len(set(part.inner)) > 1 and self.sharing in (Sharing.ALL, Sharing.FEED_FORWARD):
            raise PlumeError("Neurons cannot be pruned block by block where all blocks share one feed-forward network.")

    def _block(self, layer: int, **given: Any) -> Block:
        return Block(**given)

    def _attention(self) -> Attention:
        part = self.part
        return Attention(
            width=part.width,
            heads=part.heads,
            head_width=part.head_width,
            drop=part.dropout,
            attention_drop=part.attention_dropout,
            bias=part.attention_bias,
            scaled=part.scaled,
        )

    def _feed_forward(self, inner: int) -> FeedForward:
        part = self.part
        return FeedForward(width=part.width, inner=inner, activation=part.activation, drop=part.dropout, bias=part.bias, gated=part.gated)

    def block(self, layer: int) -> Block:
        """The one that runs at this depth; with shared parameters all are one."""
        block = self.blocks[layer % len(self.blocks)]
        assert isinstance(block, Block)
        return block

    def forward(
        self,
        value: Tensor,
        *,
        sight: Sight,
        read: Tensor | None = None,
        seen: int | None = None,
        memory: Sequence[Tensor] | None = None,
        cache: list[BlockCache] | None = None,
        keep_layers: bool = False,
    ) -> Encoded:
        """[B, T, E] embeddings to [B, T, D], or [B, M, D] at the positions `read`.

        `seen`: only the first so many are looked at, the others only look (a query stream). `memory`: a layer's earlier inputs each.
        """
        if self.project is not None:
            value = self.project(value)
        if self.watch is not None:
            sight = self.watch.over(sight)
        if self.prefix is not None:
            sight = sight.behind(self.prefix(), rows=value.shape[0])
        sight.positions.prepare(sight)
        layers = [value]
        kept = None if self.watch is None else self.watch.layers
        if kept is not None:
            kept.append(value)
        passing = Passing(sight=sight, seen=seen, memory=memory, cache=cache)
        route = self.way()
        narrows = None if read is None else narrowing(route, all_kept=keep_layers or kept is not None or bool(self.part.between))
        for number, stop in enumerate(route):
            value = self._between(stop.layer, value, sight)
            if stop.block is not None:
                value = passing.through(
                    stop, stop.block, value, read=read if number == narrows else None, again=self.checkpointing and self.training
                )
            if number == len(route) - 1:
                value = self._between(self.part.depth, value, sight)
                value = self._readable(value, None if narrows is not None else read)
            if keep_layers:
                layers.append(value)
            if kept is not None:
                kept.append(value)
        across = sight.across.recorded if sight.across is not None else None
        return Encoded(
            last=value,
            layers=tuple(layers) if keep_layers else (),
            attention=tuple(sight.recorded or ()),
            cross_attention=tuple(across or ()),
            named=sight.left,
        )

    def way(self) -> Route:
        """Of a pass through it."""
        return self.route or [Stop(layer=layer, block=self.block(layer)) for layer in range(self.part.depth)]

    def drop_layers(self) -> None:
        """Draw which blocks are left out until the route is taken back."""
        dropped = (torch.rand(self.part.depth) < self.part.layer_drop).tolist() if self.training else [False] * self.part.depth
        self.route = [Stop(layer=layer, block=None if gone else self.block(layer)) for layer, gone in enumerate(dropped)]

    def _readable(self, value: Tensor, read: Tensor | None) -> Tensor:
        """The end of the way: what is read of it, where no block has picked that already, under the final norm."""
        picked = value if read is None else pick(value, read)
        return picked if self.final_norm is None else self.final_norm(picked)

    def as_last(self, layers: Sequence[Tensor]) -> list[Tensor]:
        """Layers that were kept, as a head reads the last: blocks with their norms in front leave sums, which the final norm makes readable."""
        if self.final_norm is None:
            return list(layers)
        return [*(self.final_norm(layer) for layer in layers[:-1]), layers[-1]]

    def _between(self, layer: int, value: Tensor, sight: Sight) -> Tensor:
        for place, module in zip(self.part.between, self.between, strict=True):
            if place.after == layer:
                value = module(value, sight)
        return value

    def flops(
        self,
        *,
        rows: int,
        time: int,
        positions: PositionModule,
        read: int | None = None,
        seen: int | None = None,
        memory: int = 0,
        source: int = 0,
    ) -> int:
        """Of the matrix products of one forward pass, two a multiply-add. `source` is the length a decoder looks at."""
        part = self.part
        total = 0 if self.project is None else 2 * rows * time * self.project.in_features * part.width
        keys = (time if seen is None else seen) + memory
        route = self.way()
        narrows = None if read is None else narrowing(route, all_kept=bool(part.between))
        for number, stop in enumerate(route):
            if (block := stop.block) is None:
                continue
            queries = read if read is not None and number == narrows else time
            total += block.attention.flops(rows=rows, queries=queries, keys=keys)
            total += self._share(block, positions.flops(rows=rows, queries=queries, keys=keys, before=memory))
            if block.across is not None and source:
                total += block.across.flops(rows=rows, queries=queries, keys=source)
            total += 2 * rows * queries * (3 if part.gated else 2) * part.width * block.feed_forward.neurons
        for module in self.between:
            assert isinstance(module, BetweenModule)
            total += module.flops(rows=rows, time=time)
        return total

    def step_flops(
        self,
        *,
        rows: int,
        time: int,
        positions: PositionModule,
        read: int | None = None,
        seen: int | None = None,
        memory: int = 0,
        source: int = 0,
    ) -> int:
        """Of a training step: forward, and twice that backward, but for the position scheme's products with what is fixed."""
        size = {"rows": rows, "keys": (time if seen is None else seen) + memory, "before": memory}
        last = time if read is None else read
        run = [stop.block for stop in self.way() if stop.block is not None]
        each = [positions.fixed_flops(queries=time if number < len(run) - 1 else last, **size) for number in range(len(run))]
        fixed = sum(self._share(block, flops) for block, flops in zip(run, each, strict=True))
        forward = self.flops(rows=rows, time=time, positions=positions, read=read, seen=seen, memory=memory, source=source)
        return 3 * forward - fixed

    def carried_step_flops(self, batch: Batch) -> int:
        """Of a training step besides: for what the batch carries beside its tokens."""
        modules = [module for module in self.between if isinstance(module, BetweenModule)]
        return sum(3 * module.batch_flops(batch) - module.fixed_flops(batch) for module in modules)

    def _share(self, block: Block, flops: int) -> int:
        """Of what a position scheme computes for all heads, what it does for those that are left."""
        return flops * block.attention.heads // self.part.heads

    @torch.no_grad()
    def initialise(self) -> None:
        """Scale the projections into the residual, where the paper does."""
        for module in self.between:
            assert isinstance(module, BetweenModule)
            module.initialise()
        if self.part.residual_scaling:
            for block in self.blocks:
                assert isinstance(block, Block)
                for output in (block.attention.output, block.feed_forward.output):
                    output.weight.mul_((2 * self.part.depth) ** -0.5)


@torch.no_grad()
def initialise(module: nn.Module, spread: float) -> None:
    """Weights normal with the given spread, biases zero, norms one: every family here starts so."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=spread)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=spread)
        elif isinstance(part, PositionModule):
            part.initialise(spread)
