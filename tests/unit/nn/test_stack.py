"""The stack: sharing, pruning, recomputing, reading some positions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.nn.attention import Sight
from plume.nn.block import Norm
from plume.nn.positions.rotary import Rotary
from plume.nn.positions.scheme import PositionModule
from plume.nn.stack import Sharing, Stack, Transformer, initialise
from plume.nn.visibility import AttentionMask
from plume.nn.watching import Watch, watched

WIDTH, DEPTH, HEADS, INNER = 16, 3, 4, 24
ATTENTION = 4 * (WIDTH * WIDTH + WIDTH)
FEED_FORWARD = WIDTH * INNER + INNER + INNER * WIDTH + WIDTH
NORM = 2 * WIDTH


def count(stack: Stack) -> int:
    return sum(parameter.numel() for parameter in stack.parameters())


def full(rows: int, time: int, **changes: Any) -> Batch:
    return Batch(tokens=torch.zeros(rows, time, dtype=torch.long), **changes)


def close(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float = 1e-12) -> None:
    assert float((ours - theirs).detach().abs().max()) < tolerance


@pytest.mark.parametrize(
    ("sharing", "attentions", "feed_forwards", "norms"),
    [
        (Sharing.NONE, DEPTH, DEPTH, 2 * DEPTH),
        (Sharing.ALL, 1, 1, 2),
        (Sharing.ATTENTION, 1, DEPTH, 2 * DEPTH),
        (Sharing.FEED_FORWARD, DEPTH, 1, 2 * DEPTH),
    ],
)
def test_sharing_counts_shared_parameters_once(stack_of: Any, sharing: Sharing, attentions: int, feed_forwards: int, norms: int) -> None:
    stack = stack_of(sharing=sharing)
    assert count(stack) == attentions * ATTENTION + feed_forwards * FEED_FORWARD + norms * NORM
    first, last = stack.block(0), stack.block(DEPTH - 1)
    assert (first.attention.query.weight is last.attention.query.weight) == (attentions == 1)
    assert (first.feed_forward.inner.weight is last.feed_forward.inner.weight) == (feed_forwards == 1)


def test_a_shared_block_runs_depth_times(stack_of: Any, values: Any, run: Any) -> None:
    """The same as a stack of copies, and its gradient is the sum of theirs."""
    shared, copies = stack_of(sharing=Sharing.ALL), stack_of()
    for layer in range(DEPTH):
        copies.block(layer).load_state_dict(shared.block(0).state_dict())
    value, batch = values(2, 5), full(2, 5)
    ours, theirs = run(shared, value, batch).last, run(copies, value, batch).last
    close(ours, theirs)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    for name, parameter in shared.block(0).named_parameters():
        gradients = [dict(copies.block(layer).named_parameters())[name].grad for layer in range(DEPTH)]
        close(parameter.grad, torch.stack(gradients).sum(0), 1e-8)


PRUNED = ((1, 3), (), (0,))


@pytest.mark.parametrize("norm", list(Norm))
def test_pruning_heads_is_masking_them(stack_of: Any, values: Any, run: Any, norm: Norm) -> None:
    whole, pruned = stack_of(norm=norm), stack_of(norm=norm)
    for layer, heads in enumerate(PRUNED):
        if heads:
            pruned.block(layer).attention.prune(list(heads))
    factors = torch.ones(DEPTH, HEADS, dtype=torch.float64)
    for layer, heads in enumerate(PRUNED):
        factors[layer, list(heads)] = 0.0
    value, batch = values(2, 6), full(2, 6, length=torch.tensor([6, 4]))
    close(run(pruned, value, batch).last, run(whole, value, batch, head_mask=factors).last)
    with torch.no_grad():
        close(run(pruned, value, batch).last, run(whole, value, batch, head_mask=factors).last)
    one_head = 3 * (WIDTH * 4 + 4) + 4 * WIDTH
    assert count(whole) - count(pruned) == 3 * one_head
    size = {"rows": 2, "time": 6, "positions": PositionModule()}
    assert whole.flops(**size) - pruned.flops(**size) == 3 * 2 * 2 * (4 * 6 * WIDTH * 4 + 2 * 6 * 6 * 4)


@pytest.mark.parametrize("gated", [False, True])
def test_pruning_neurons_is_masking_them(stack_of: Any, values: Any, run: Any, gated: bool) -> None:
    whole, pruned = stack_of(gated=gated), stack_of(gated=gated)
    gone = (tuple(range(1, INNER)), (), (0, 5, 23))
    for layer, neurons in enumerate(gone):
        pruned.block(layer).feed_forward.prune(neurons)
    factors = torch.ones(DEPTH, INNER, dtype=torch.float64)
    for layer, neurons in enumerate(gone):
        factors[layer, list(neurons)] = 0.0
    value, batch = values(2, 6), full(2, 6)
    with watched((whole, Watch(inner_gates=factors))):
        masked = run(whole, value, batch).last
    close(run(pruned, value, batch).last, masked)
    products = 3 if gated else 2
    assert count(whole) - count(pruned) == (INNER - 1 + 3) * (products * WIDTH + products - 1)
    size = {"rows": 2, "time": 6, "positions": PositionModule()}
    assert whole.flops(**size) - pruned.flops(**size) == 2 * 2 * 6 * products * WIDTH * (INNER - 1 + 3)
    part = part_from_json(replace(pruned.part, inner=(1, INNER, INNER - 3)).to_json())
    declared = part.build(embedding_width=WIDTH, sharing=Sharing.NONE).double()
    declared.load_state_dict(pruned.state_dict())
    assert torch.equal(run(declared, value, batch).last, run(pruned, value, batch).last)


def test_widths_of_blocks_fit_the_blocks(stack_of: Any) -> None:
    with pytest.raises(PlumeError, match="must stay"):
        stack_of().block(1).feed_forward.prune(range(INNER))
    for inner in ((3, 3), (3, 0, 3)):
        with pytest.raises(PlumeError, match="3 blocks need as many feed-forward widths"):
            replace(stack_of().part, inner=inner)
    with pytest.raises(PlumeError, match="share one feed-forward network"):
        replace(stack_of().part, inner=(3, 3, 4)).build(embedding_width=WIDTH, sharing=Sharing.FEED_FORWARD)


def test_one_head_of_a_block_must_stay(stack_of: Any) -> None:
    with pytest.raises(PlumeError, match="must stay"):
        stack_of().block(1).attention.prune(list(range(HEADS)))


def test_a_pruned_declaration_builds_the_pruned_stack(stack_of: Any, values: Any, run: Any) -> None:
    pruned = stack_of()
    for layer, heads in enumerate(PRUNED):
        if heads:
            pruned.block(layer).attention.prune(list(heads))
    part = part_from_json(replace(pruned.part, pruned=PRUNED).to_json())
    declared = part.build(embedding_width=WIDTH, sharing=Sharing.NONE).double()
    declared.load_state_dict(pruned.state_dict())
    value, batch = values(2, 6), full(2, 6)
    assert torch.equal(run(declared, value, batch).last, run(pruned, value, batch).last)


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("sharing", [Sharing.NONE, Sharing.ALL])
def test_recomputing_gives_the_same_gradients(stack_of: Any, values: Any, run: Any, norm: Norm, sharing: Sharing) -> None:
    """With dropout, so that the second pass must draw the same numbers."""
    batch = full(2, 5, length=torch.tensor([5, 3]), read=torch.tensor([[0, 3], [1, 1]]))
    found = []
    for checkpointing in (False, True):
        stack = stack_of(norm=norm, sharing=sharing, dropout=0.3, attention_dropout=0.3).train()
        stack.checkpointing = checkpointing
        value = values(2, 5).requires_grad_()
        torch.manual_seed(9)
        run(stack, value, batch).last.square().sum().backward()
        found.append([value.grad, *(parameter.grad for parameter in stack.parameters())])
    for plain, recomputed in zip(*found, strict=True):
        close(plain, recomputed)


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("order", [Order.FULL, Order.CAUSAL])
def test_reading_some_positions_gives_their_states(stack_of: Any, values: Any, run: Any, norm: Norm, order: Order) -> None:
    stack, value = stack_of(norm=norm), values(2, 6)
    rotary = Rotary().build(width=WIDTH, heads=HEADS, head_width=WIDTH // HEADS, depth=DEPTH)
    read = torch.tensor([[5, 0, 2], [3, 3, 1]])
    whole = run(stack, value, full(2, 6, order=order), positions=rotary).last
    close(
        run(stack, value, full(2, 6, order=order, read=read), positions=rotary).last,
        whole.gather(1, read[:, :, None].expand(-1, -1, WIDTH)),
    )


def test_layers_are_the_states_after_each_block(stack_of: Any, values: Any, run: Any) -> None:
    """The embeddings first; the final norm belongs to the last."""
    stack, value, batch = stack_of(norm=Norm.PRE), values(1, 4), full(1, 4)
    layers = run(stack, value, batch, keep_layers=True).layers
    assert len(layers) == DEPTH + 1
    assert torch.equal(layers[0], value)
    for depth in range(1, DEPTH):
        close(layers[depth], run(first_blocks(stack, depth), value, batch).last)
    close(layers[-1], stack.final_norm(run(first_blocks(stack, DEPTH), value, batch).last))
    assert run(stack, value, batch).layers == ()


def first_blocks(stack: Stack, depth: int) -> Stack:
    """A stack of its own, without the final norm."""
    short = replace(stack.part, depth=depth).build(embedding_width=WIDTH, sharing=Sharing.NONE).double()
    for layer in range(depth):
        short.block(layer).load_state_dict(stack.block(layer).state_dict())
    short.final_norm = None
    return short


@torch.no_grad()
def test_first_weights_have_the_papers_spread() -> None:
    """Normal with 0.02; GPT-2's projections into the residual 1/√(2·depth) of that; biases zero, norms one."""
    torch.manual_seed(0)
    stack = Transformer(width=128, depth=8, heads=4, feed_forward=512, norm=Norm.PRE, residual_scaling=True).build(
        embedding_width=128, sharing=Sharing.NONE
    )
    initialise(stack, 0.02)
    stack.initialise()
    block = stack.block(3)
    assert float(block.attention.query.weight.std()) == pytest.approx(0.02, rel=0.03)
    assert float(block.feed_forward.inner.weight.std()) == pytest.approx(0.02, rel=0.03)
    assert float(block.attention.output.weight.std()) == pytest.approx(0.02 / 4, rel=0.03)
    assert float(block.feed_forward.output.weight.std()) == pytest.approx(0.02 / 4, rel=0.03)
    assert float(block.attention.query.bias.abs().max()) == 0.0
    assert torch.equal(block.attention_norm.weight, torch.ones(128))


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(PlumeError, match="does not divide into 5 heads"):
        Transformer(width=16, heads=5)


@pytest.mark.parametrize("norm", list(Norm))
def test_a_memory_of_earlier_inputs_is_the_longer_input(stack_of: Any, values: Any, run: Any, norm: Norm) -> None:
    """Read left to right, what came before gives the same states whether it is read again or remembered."""
    stack, value, first = stack_of(norm=norm), values(2, 7), 3
    whole = run(stack, value, full(2, 7, order=Order.CAUSAL), keep_layers=True)
    position = torch.arange(7)[None]
    later = Sight(
        mask=AttentionMask(causal=True), positions=PositionModule(), query_position=position[:, first:], key_position=position, before=first
    )
    found = stack(value[:, first:], sight=later, memory=[layer[:, :first] for layer in whole.layers[:-1]]).last
    close(found, whole.last[:, first:])


@pytest.mark.parametrize("norm", list(Norm))
def test_those_that_only_look_change_nothing_for_the_others(stack_of: Any, values: Any, run: Any, norm: Norm) -> None:
    """A second stream: it looks at the first `seen`, and a stream that asks as they do gets what they get."""
    stack, value = stack_of(norm=norm), values(2, 5)
    whole = run(stack, value, full(2, 5)).last
    position = torch.arange(8)[None] % 5
    sight = Sight(mask=AttentionMask(), positions=PositionModule(), query_position=position, key_position=position[:, :5])
    found = stack(torch.cat([value, value[:, :3]], dim=1), sight=sight, seen=5).last
    close(found, torch.cat([whole, whole[:, :3]], dim=1))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("read", "seen", "memory", "source"), [(None, None, 0, 0), (2, None, 3, 0), (None, 5, 3, 0), (None, None, 0, 4)])
def test_flops_are_those_counted(gated: bool, read: int | None, seen: int | None, memory: int, source: int) -> None:
    """Forward, and three times that with the backward pass."""
    part = Transformer(width=WIDTH, depth=2, heads=HEADS, feed_forward=INNER, dropout=0.0, attention_dropout=0.0, gated=gated, key_width=6)
    stack = part.build(embedding_width=8, sharing=Sharing.NONE, decoder=source > 0)
    value = torch.randn(2, 6, 8, requires_grad=True)
    query, key = torch.arange(6)[None], torch.arange((seen or 6) + memory)[None]
    sight = Sight(mask=AttentionMask(), positions=PositionModule(), query_position=query, key_position=key)
    if source:
        looked_at = torch.randn(2, source, WIDTH, requires_grad=True)
        sight.across = Sight(mask=AttentionMask(), positions=PositionModule(), query_position=query, key_position=key, source=looked_at)
    expected = stack.flops(rows=2, time=6, positions=PositionModule(), read=read, seen=seen, memory=memory, source=source)
    with FlopCounterMode(display=False) as counter:
        wanted = None if read is None else torch.tensor([[0, 1], [2, 5]])
        out = stack(value, sight=sight, read=wanted, seen=seen, memory=[torch.randn(2, memory, WIDTH)] * 2 if memory else None).last
        assert counter.get_total_flops() == expected
        out.sum().backward()
    assert counter.get_total_flops() == 3 * expected
