"""First weights with which attention begins at the neighbours, for small networks with learned absolute positions.

Which positions are neighbours is a product of two matrices that both start at random, and until a masked LM has found it out it knows no more
than how frequent tokens are: at these sizes for longer than most runs last. So some columns are given to positions alone, as sinusoids, and every
block's queries and keys begin by reading just those, alike (the product of both near the identity, as in arXiv:2305.09828). All of it is learned
from there on.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from plume.nn.attention import Attention
from plume.nn.block import Block
from plume.nn.embedding import EmbeddingModule
from plume.nn.factorised import FactorisedTokens, whole_vectors
from plume.nn.positions.learned import LearnedPositions
from plume.nn.stack import Stack

_LONGEST = 100.0  # the slowest sinusoid has this wavelength, over 2π
_LOUD = 2.0  # positions beside tokens, in their columns
_SHARP = 6.0  # the score of a position with itself; the neighbours' are a little lower, far ones' near zero


@torch.no_grad()
def start_local(model: nn.Module) -> None:
    """A quarter of what a head reads is for positions. Heads too narrow for that leave all at random."""
    columns = min(one.head_width for one in model.modules() if isinstance(one, Attention)) // 4
    if columns < 2:
        return
    for part in model.modules():
        if isinstance(part, EmbeddingModule) and isinstance(part.position, LearnedPositions):
            _place(part, part.position, columns)
        elif isinstance(part, Stack):
            _look_near(part, columns)


def _place(embedding: EmbeddingModule, positions: LearnedPositions, columns: int) -> None:
    table = positions.table.weight
    loud = _LOUD * math.sqrt(2) * embedding.scale * float(whole_vectors(embedding.token).std())
    frequency = torch.exp(torch.arange(0, columns, 2, device=table.device) * (-math.log(_LONGEST) / columns))
    angle = torch.arange(len(table), device=table.device)[:, None] * frequency
    table.zero_()
    table[:, :columns] = loud * torch.cat([angle.sin(), angle.cos()], dim=1)[:, :columns]
    for other in (embedding.token, embedding.segment):
        if isinstance(other, FactorisedTokens):
            other.widen.weight[:columns] = 0
        elif other is not None:
            other.weight[:, :columns] = 0


def _look_near(stack: Stack, columns: int) -> None:
    if stack.project is not None:
        _pass_on(stack.project.weight, columns, 1.0)
    for block in stack.blocks:
        assert isinstance(block, Block)
        attention = block.attention
        gain = math.sqrt(_SHARP / (_LOUD * columns * attention.scale))
        for linear in (attention.query, attention.key):
            for head in linear.weight.view(attention.heads, attention.head_width, -1):
                _pass_on(head, columns, gain)


def _pass_on(weight: Tensor, columns: int, gain: float) -> None:
    """The first outputs are the first inputs."""
    weight[:columns] = 0
    weight[:columns, :columns].fill_diagonal_(gain)
