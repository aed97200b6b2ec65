"""Attention: one meaning by every path, with heads masked or taken out, with and without a cache."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.nn.attention import Attention, LayerCache, Sight
from plume.nn.positions.rotary import Rotary
from plume.nn.positions.scheme import PositionModule
from plume.nn.visibility import AttentionMask, mask_of, ranks, visible

ROWS, TIME, WIDTH, HEADS = 3, 9, 16, 4
LENGTH = torch.tensor([9, 5, 2])
RANK = torch.stack([torch.randperm(TIME, generator=torch.Generator().manual_seed(row)) for row in range(ROWS)])
DOCUMENT = (torch.arange(TIME) >= 4).long().expand(ROWS, TIME)


def batch(order: Order, *, padded: bool = False, documents: bool = False) -> Batch:
    return Batch(
        tokens=torch.zeros(ROWS, TIME, dtype=torch.long),
        order=order,
        rank=RANK if order is Order.RANKED else None,
        length=LENGTH if padded else None,
        document=DOCUMENT if documents else None,
    )


ORDERS = (Order.FULL, Order.CAUSAL, Order.RANKED)  # the others reach the network as ranks
BATCHES = [batch(order, padded=padded, documents=documents) for order in ORDERS for padded in (False, True) for documents in (False, True)]
NAMES = [f"{b.order}-{'padded' if b.length is not None else 'full'}-{'documents' if b.document is not None else 'one'}" for b in BATCHES]
every_batch = pytest.mark.parametrize("made", BATCHES, ids=NAMES)


class Slope(PositionModule):
    """A bias at the scores, other for each head, as ALiBi and T5 have."""

    def at_scores(self, query: Tensor, *, sight: Sight, layer: int) -> Tensor:
        distance = (sight.query_position[:, :, None] - sight.key_position[:, None, :]).to(query.dtype)
        return torch.arange(1, query.shape[1] + 1, dtype=query.dtype)[None, :, None, None] * -0.1 * distance[:, None]


@pytest.fixture(scope="module")
def attention() -> Attention:
    torch.manual_seed(0)
    return Attention(width=WIDTH, heads=HEADS, head_width=WIDTH // HEADS, drop=0.0, attention_drop=0.0).double()


def sight(made: Batch, positions: PositionModule | None = None, **changes: Any) -> Sight:
    position = torch.arange(TIME)[None]
    return Sight(mask=mask_of(made), positions=positions or PositionModule(), query_position=position, key_position=position, **changes)


def by_formula(
    attention: Attention, value: Tensor, made: Batch, *, bias: Tensor | None = None, factor: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√d + bias) V a head at a time, with unseen scores at -inf and probabilities times a factor."""
    seen = visible(query=ranks(made), key=ranks(made), query_document=made.document, key_document=made.document)
    width = attention.head_width
    mixed, probabilities = [], []
    for head in range(attention.heads):
        part = slice(head * width, (head + 1) * width)
        query, key, content = ((layer(value))[..., part] for layer in (attention.query, attention.key, attention.value))
        scores = query @ key.transpose(1, 2) / math.sqrt(width)
        scores = scores if bias is None else scores + bias[:, head]
        probability = scores.masked_fill(~seen, float("-inf")).softmax(-1) * (1.0 if factor is None else factor[head])
        mixed.append(probability @ content)
        probabilities.append(probability)
    return attention.output(torch.cat(mixed, -1)), torch.stack(probabilities, 1)


def text(made: Batch) -> Tensor:
    return torch.arange(TIME) < (torch.full((ROWS,), TIME) if made.length is None else made.length)[:, None]


def close(ours: Tensor, theirs: Tensor) -> None:
    assert float((ours - theirs).detach().abs().max()) < 1e-12


@every_batch
@pytest.mark.parametrize("positions", [PositionModule(), Slope()], ids=["plain", "bias"])
def test_eager_and_fused_are_the_formula(attention: Attention, values: Any, made: Batch, positions: PositionModule) -> None:
    value = values(ROWS, TIME)
    bias = positions.at_scores(torch.zeros(ROWS, HEADS, TIME, 1, dtype=torch.float64), sight=sight(made, positions), layer=0)
    expected, probabilities = by_formula(attention, value, made, bias=bias)
    recorded: list[Tensor] = []
    with torch.no_grad():
        fused = attention(value, queries=None, sight=sight(made, positions), layer=0)
        eager = attention(value, queries=None, sight=sight(made, positions, recorded=recorded), layer=0)
    close(fused[text(made)], expected[text(made)])
    close(eager[text(made)], expected[text(made)])
    close(recorded[0].transpose(1, 2)[text(made)], probabilities.transpose(1, 2)[text(made)])


@every_batch
def test_both_paths_have_the_same_gradients(attention: Attention, values: Any, made: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = []
    for short in (256, 0):  # up to this length the plain products are used
        monkeypatch.setattr("plume.nn.attention._SHORT", short)
        value = values(ROWS, TIME).requires_grad_()
        out = attention(value, queries=None, sight=sight(made), layer=0)[text(made)]
        found = torch.autograd.grad(
            (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum(), [value, *attention.parameters()]
        )
        gradients.append(found)
    for ours, theirs in zip(*gradients, strict=True):
        close(ours, theirs)


@every_batch
def test_queries_that_are_read_alone_give_the_same(attention: Attention, values: Any, made: Batch) -> None:
    value = values(ROWS, TIME)
    read = torch.tensor([[8, 0, 3], [4, 1, 1], [0, 1, 0]])
    index = read[:, :, None].expand(-1, -1, WIDTH)
    narrow = Sight(
        mask=mask_of(made).rows(read, TIME),
        positions=PositionModule(),
        query_position=torch.arange(TIME)[None].expand(ROWS, -1).gather(1, read),
        key_position=torch.arange(TIME)[None],
    )
    whole = attention(value, queries=None, sight=sight(made), layer=0)
    close(attention(value, queries=value.gather(1, index), sight=narrow, layer=0), whole.gather(1, index))


@pytest.mark.parametrize("made", [BATCHES[1], BATCHES[4], BATCHES[8]], ids=["full", "causal", "ranked"])
def test_a_head_mask_scales_that_head_s_probabilities(attention: Attention, values: Any, made: Batch) -> None:
    factors = torch.tensor([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.5, 1.0]], dtype=torch.float64)
    value = values(ROWS, TIME)
    for layer in range(2):
        expected, _ = by_formula(attention, value, made, factor=factors[layer])
        with torch.no_grad():
            fused = attention(value, queries=None, sight=sight(made, head_mask=factors), layer=layer)
        eager = attention(value, queries=None, sight=sight(made, head_mask=factors), layer=layer)
        close(fused[text(made)], expected[text(made)])
        close(eager[text(made)], expected[text(made)])


def test_attention_is_dropped_only_in_training(values: Any) -> None:
    torch.manual_seed(0)
    dropping = Attention(width=WIDTH, heads=HEADS, head_width=4, drop=0.0, attention_drop=0.5).double()
    made, value = batch(Order.FULL), values(ROWS, TIME)
    first, second = (dropping(value, queries=None, sight=sight(made), layer=0) for _ in range(2))
    assert (first - second).abs().max() > 1e-3
    close(dropping.eval()(value, queries=None, sight=sight(made), layer=0), by_formula(dropping, value, made)[0])


def test_a_cache_returns_all_that_was_put_in() -> None:
    cache = LayerCache()
    generator = torch.Generator().manual_seed(0)
    pieces = [torch.randn(2, 3, length, 4, generator=generator) for length in (5, 1, 70, 1, 200, 3)]  # grows past 64, and past twice that
    for number, piece in enumerate(pieces):
        key, value = cache.extend(piece, -piece)
        expected = torch.cat(pieces[: number + 1], dim=2)
        assert torch.equal(key, expected)
        assert torch.equal(value, -expected)
        assert cache.length == expected.shape[2]


def test_a_cache_moves_its_rows() -> None:
    cache = LayerCache()
    first = torch.arange(2 * 3 * 4 * 1.0).view(2, 3, 4, 1)
    cache.extend(first, first + 100)
    cache.reorder(torch.tensor([1, 1, 0]))
    more = torch.full((3, 3, 1, 1), -1.0)
    key, value = cache.extend(more, more)
    assert torch.equal(key[:, :, :4], first[[1, 1, 0]])
    assert torch.equal(value[:, :, :4], first[[1, 1, 0]] + 100)
    assert (key[:, :, 4] == -1).all()


@pytest.mark.parametrize(
    "positions",
    [PositionModule(), Slope(), Rotary().build(width=WIDTH, heads=HEADS, head_width=4, depth=1)],
    ids=["plain", "bias", "rotary"],
)
def test_step_by_step_with_a_cache_is_the_whole_at_once(attention: Attention, values: Any, positions: PositionModule) -> None:
    value, made, cache = values(ROWS, TIME), batch(Order.CAUSAL), LayerCache()
    whole = attention(value, queries=None, sight=sight(made, positions), layer=0)
    done = 0
    for length in (4, 1, 3, 1):
        now = slice(done, done + length)
        step = Sight(
            mask=AttentionMask(causal=length > 1),
            positions=positions,
            query_position=torch.arange(TIME)[None, now],
            key_position=torch.arange(done + length)[None],
        )
        with torch.no_grad():
            close(attention(value[:, now], queries=None, sight=step, layer=0, cache=cache), whole[:, now])
        done += length


def test_a_bounded_cache_keeps_the_last() -> None:
    cache = LayerCache()
    given = torch.arange(2 * 1 * 5 * 1.0).view(2, 1, 5, 1)
    cache.extend(given, -given)
    cache.keep_last(9)
    assert cache.length == 5
    cache.keep_last(2)
    more = torch.full((2, 1, 1, 1), 50.0)
    key, value = cache.extend(more, more)
    assert torch.equal(key, torch.cat([given[:, :, 3:], more], dim=2))
    assert torch.equal(value, torch.cat([-given[:, :, 3:], more], dim=2))


def test_looking_across_is_the_formula_and_keys_are_made_once(attention: Attention, values: Any) -> None:
    """Without positions, whatever the scheme; the second step finds the source's keys in the cache."""
    asking, source = values(ROWS, 4), values(ROWS, TIME, seed=7)
    keys = torch.arange(TIME) < LENGTH[:, None]
    heads = [linear(given).view(ROWS, -1, HEADS, 4).transpose(1, 2) for linear, given in
             ((attention.query, asking), (attention.key, source), (attention.value, source))]  # fmt: skip
    scores = (heads[0] @ heads[1].transpose(-1, -2) / 2).masked_fill(~keys[:, None, None], float("-inf"))
    expected = attention.output((scores.softmax(-1) @ heads[2]).transpose(1, 2).flatten(2))
    seen = Sight(
        mask=AttentionMask(allowed=keys[:, None, None]),
        positions=Slope(),
        query_position=torch.arange(4)[None],
        key_position=torch.arange(TIME)[None],
        source=source,
    )
    close(attention.look_across(asking, sight=seen, layer=0), expected)
    cache = LayerCache()
    with torch.no_grad():
        close(attention.look_across(asking[:, :1], sight=seen, layer=0, cache=cache), expected[:, :1])
        seen.source = torch.zeros_like(source)  # not looked at again
        close(attention.look_across(asking[:, 1:], sight=seen, layer=0, cache=cache), expected[:, 1:])
    assert cache.length == TIME
