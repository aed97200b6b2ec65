"""What a network computed of a batch, as far as a comparison asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.nn.attention import Attended
from plume.nn.stack import Stack
from plume.nn.watching import Watch, watched
from plume.tuning.adapting.body import Body


@dataclass(frozen=True, kw_only=True)
class Extent:
    """What a comparison needs to know of a network before it runs."""

    depth: int
    width: int
    heads: int


@dataclass(kw_only=True)
class Computed:
    """One pass of a body: its layers, the embedding first, and its attentions; which tokens are text, and of which a head asks. Of an
    encoder–decoder it is the encoder that is looked into."""

    layers: list[Tensor] = field(default_factory=list)  # [B, T, D]
    looks: list[Attended] = field(default_factory=list)
    inside: Tensor  # [B, T]
    asked: Tensor  # [N] into B*T

    def scores(self, layer: int) -> Tensor:
        """[B, H, T, T] of a block's attention before the softmax; nought where nothing may be looked at."""
        look = self.looks[layer]
        found = look.query @ look.key.transpose(-1, -2) * look.scale
        if look.bias is not None:
            found = found + look.bias
        return found if look.allowed is None else found.masked_fill(~look.allowed, 0.0)


@contextmanager
def recorded(body: Body, batch: Batch, *, layers: bool, looks: bool) -> Iterator[Computed]:
    """Whatever runs the body within the block, what it computes is kept."""
    read = batch.source or batch
    time = torch.arange(read.tokens.shape[1], device=read.tokens.device)
    inside = torch.ones_like(read.tokens, dtype=torch.bool) if read.length is None else time < read.length[:, None]
    found = Computed(inside=inside, asked=_asked(batch, inside))
    if not layers and not looks:
        yield found
        return
    with watched((stack_of(body), Watch(layers=found.layers if layers else None, looks=found.looks if looks else None))):
        yield found


def _asked(batch: Batch, inside: Tensor) -> Tensor:
    if by_source(batch):
        last = inside.sum(1) - 1
        return torch.arange(len(last), device=last.device) * inside.shape[1] + last
    everywhere: Tensor = inside.flatten().nonzero()[:, 0]
    if len(batch.labels) != 1:  # a language model's objectives, side by side: all of the text is asked about
        return everywhere
    ((_, target),) = batch.labels.items()
    return everywhere if len(target.index) == inside.numel() else target.index


def asked_count(batch: Batch) -> int:
    """Of a batch that is still numpy's: of how many tokens a head asks; of those that it writes, none, and a row's last token stands for it."""
    if by_source(batch):
        return len(batch.tokens)
    if len(batch.labels) != 1:
        return text_tokens(batch)
    ((_, target),) = batch.labels.items()
    return text_tokens(batch) if len(target.index) == batch.tokens.size else len(target.index)


def text_tokens(batch: Batch) -> int:
    """Of a batch that is still numpy's: what the body that is looked into reads."""
    read = batch.source or batch
    return int(read.tokens.size if read.length is None else read.length.sum())


def by_source(batch: Batch) -> bool:
    """Does the encoder read something else than what the head asks about: a text after which another is written?"""
    return batch.source is not None and batch.source.tokens.shape != batch.tokens.shape


def stack_of(body: Body) -> Stack:
    """The blocks of a body, of one that has some."""
    stack = body.stack if isinstance(body, Model) and hasattr(body, "stack") else None
    if not isinstance(stack, Stack):
        raise PlumeError(
            f"{body.recipe.name} has no layers of blocks that could be compared with another's: distil by its answers (--method distil)."
        )
    return stack


def extent_of(body: Body) -> Extent:
    """Of a body that has blocks."""
    part = stack_of(body).part
    return Extent(depth=part.depth, width=part.width, heads=part.heads)


def whole(batch: Batch, *, pooled: bool) -> Batch:
    """With all states of the last layer, where a task would ask for some only. A head over a pooled state asks for that, as ever."""
    labels = batch.labels if pooled else {name: replace(target, slot=None) for name, target in batch.labels.items()}
    return replace(batch, read=None, labels=labels)
