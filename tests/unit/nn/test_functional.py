"""NEZHA's fixed relative positions against the formula, pair by pair, in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.nn.attention import Attention, Sight
from plume.nn.positions.functional import Functional
from plume.nn.visibility import AttentionMask, mask_of

ROWS, TIME, WIDTH, HEADS, HEAD, CLIP = 2, 9, 16, 4, 4, 3
SIZES: dict[str, Any] = {"width": WIDTH, "heads": HEADS, "head_width": HEAD, "depth": 3}
LENGTH = [9, 5]


def close(ours: Tensor, theirs: Tensor) -> None:
    assert float((ours - theirs).detach().abs().max()) < 1e-9


def vector(distance: int) -> np.ndarray:
    """The table's row for a clipped distance: sine and cosine in turn, counted from the row of -CLIP as in the authors' code."""
    place = max(-CLIP, min(CLIP, distance)) + CLIP
    return np.array([(math.sin if c % 2 == 0 else math.cos)(place / 10000 ** (2 * (c // 2) / HEAD)) for c in range(HEAD)])


def by_formula(attention: Attention, value: Tensor, position: list[list[int]]) -> Tensor:
    """z_i = Σ p_ij (v_j + a_ij), p_i = softmax(q_i · (k_j + a_ij) / √d), in numpy."""
    x = value.detach().numpy()
    query, key, content = (
        (x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()).reshape(ROWS, TIME, HEADS, HEAD)
        for linear in (attention.query, attention.key, attention.value)
    )
    mixed = np.zeros((ROWS, TIME, HEADS, HEAD))
    for row in range(ROWS):
        for head in range(HEADS):
            for i in range(TIME):
                near = [vector(position[row][j] - position[row][i]) for j in range(LENGTH[row])]
                scores = np.array([query[row, i, head] @ (key[row, j, head] + near[j]) / math.sqrt(HEAD) for j in range(LENGTH[row])])
                shares = np.exp(scores - scores.max())
                shares /= shares.sum()
                mixed[row, i, head] = sum(shares[j] * (content[row, j, head] + near[j]) for j in range(LENGTH[row]))
    return torch.from_numpy(mixed.reshape(ROWS, TIME, -1)) @ attention.output.weight.t() + attention.output.bias


@pytest.fixture(scope="module")
def attention() -> Attention:
    torch.manual_seed(0)
    made = Attention(width=WIDTH, heads=HEADS, head_width=HEAD, drop=0.0, attention_drop=0.0).double()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def sight_of(position: Tensor) -> Sight:
    mask = mask_of(Batch(tokens=torch.zeros(ROWS, TIME), length=torch.tensor(LENGTH)))
    positions = Functional(clip=CLIP).build(**SIZES)
    return Sight(mask=mask, positions=positions, query_position=position, key_position=position)


TOGETHER = torch.arange(TIME)[None]
APART = torch.tensor([list(range(TIME)), [0, 1, 2, 0, 1, 5, 6, 7, 20]])


@pytest.mark.parametrize("position", [TOGETHER, TOGETHER.expand(ROWS, -1), APART], ids=["once", "by row", "apart"])
def test_attention_is_the_formula(attention: Attention, values: Any, position: Tensor) -> None:
    value = values(ROWS, TIME)
    expected = by_formula(attention, value, position.expand(ROWS, -1).tolist())
    close(attention(value, queries=None, sight=sight_of(position), layer=0), expected)
    with torch.no_grad():
        close(attention(value, queries=None, sight=sight_of(position), layer=0), expected)


def test_both_paths_have_the_same_gradients_and_they_are_right(attention: Attention, values: Any) -> None:
    found = []
    for position in (TOGETHER, TOGETHER.expand(ROWS, -1)):
        value = values(ROWS, TIME).requires_grad_()
        out = attention(value, queries=None, sight=sight_of(position), layer=0)
        weight = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        found.append(torch.autograd.grad((out * weight).sum(), [value, *attention.parameters()]))
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)
    moved = values(ROWS, TIME, seed=5)
    step = 1e-6
    higher, lower = (
        by_formula(attention, values(ROWS, TIME) + sign * step * moved, TOGETHER.expand(ROWS, -1).tolist()) for sign in (1, -1)
    )
    slope = float(((higher - lower).detach() * weight).sum()) / (2 * step)
    assert float((found[0][0] * moved).sum()) == pytest.approx(slope, rel=1e-6)


def test_reading_some_positions_gives_their_states(stack_of: Any, values: Any) -> None:
    stack, value = stack_of(), values(ROWS, TIME)
    read = torch.tensor([[8, 0, 3], [4, 1, 1]])
    whole = stack(value, sight=sight_of(TOGETHER)).last
    close(stack(value, sight=sight_of(TOGETHER), read=read).last, whole.gather(1, read[:, :, None].expand(-1, -1, WIDTH)))


def test_nothing_is_learned() -> None:
    module = Functional().build(**SIZES)
    assert not module.state_dict()
    assert module.table.shape == (129, HEAD)


@pytest.mark.parametrize(("read", "memory"), [(None, 0), (2, 0), (None, 4)])
def test_flops_are_those_counted(stack_of: Any, values: Any, read: int | None, memory: int) -> None:
    stack, value = stack_of(), values(ROWS, TIME).requires_grad_()
    positions = Functional(clip=CLIP).build(**SIZES)
    size: dict[str, Any] = {"rows": ROWS, "time": TIME, "positions": positions, "read": read, "memory": memory}
    keys = torch.arange(-memory, TIME)[None]
    with FlopCounterMode(display=False) as counter:
        out = stack(
            value,
            sight=Sight(mask=AttentionMask(), positions=positions, query_position=TOGETHER, key_position=keys),
            read=None if read is None else torch.tensor([[1, 2], [3, 4]]),
            memory=[values(ROWS, memory)] * 3 if memory else None,
        ).last
        assert counter.get_total_flops() == stack.flops(**size)
        out.sum().backward()
    assert counter.get_total_flops() == stack.step_flops(**size)


def test_an_impossible_clip_is_refused() -> None:
    with pytest.raises(PlumeError, match="cut off at 0"):
        Functional(clip=0)
