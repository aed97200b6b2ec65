"""Relative positions: XLNet against transformers, both streams; Transformer-XL against its formula pair by pair. In float64."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from transformers import XLNetConfig, XLNetModel

from plume.core.errors import PlumeError
from plume.nn.attention import Attention, LayerCache, Sight
from plume.nn.positions.relative import Relative
from plume.nn.stack import Sharing, Stack, Transformer, initialise
from plume.nn.visibility import AttentionMask, visible

ROWS, TIME, TARGETS, WIDTH, HEADS, HEAD, DEPTH = 2, 9, 3, 16, 4, 4, 2
SIZES: dict[str, Any] = {"width": WIDTH, "heads": HEADS, "head_width": HEAD, "depth": DEPTH}


def close(ours: Tensor | None, theirs: Tensor | None, tolerance: float = 1e-9) -> None:
    assert ours is not None
    assert theirs is not None
    assert ours.shape == theirs.shape
    assert float((ours - theirs).detach().abs().max()) < tolerance


def randomise(module: torch.nn.Module) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)


# XLNet


def xlnet(clamp: int | None = None) -> tuple[XLNetModel, Stack, Any]:
    torch.manual_seed(0)
    config = XLNetConfig(
        vocab_size=30, d_model=WIDTH, n_layer=DEPTH, n_head=HEADS, d_inner=20, dropout=0.0, ff_activation="gelu", clamp_len=clamp or -1
    )
    theirs = XLNetModel(config).double()
    randomise(theirs)
    part = Transformer(width=WIDTH, depth=DEPTH, heads=HEADS, feed_forward=20, dropout=0.0, attention_dropout=0.0, attention_bias=False)
    stack = part.build(embedding_width=WIDTH, sharing=Sharing.NONE).double()
    positions = Relative(untied=True, segments=True, clamp=clamp, dropout=0.0).build(**SIZES).double()
    for layer, yours in enumerate(theirs.layer):
        block, relative, attention = stack.block(layer), positions.blocks[layer], yours.rel_attn
        for mine, other in ((block.attention.query, attention.q), (block.attention.key, attention.k), (block.attention.value, attention.v),
                            (relative.project, attention.r)):  # fmt: skip
            mine.weight.data.copy_(other.data.view(WIDTH, -1).t())
        block.attention.output.weight.data.copy_(attention.o.data.view(WIDTH, -1))
        for mine, other in ((positions.content_bias[layer], attention.r_w_bias), (positions.position_bias[layer], attention.r_r_bias),
                            (relative.segment_bias, attention.r_s_bias), (relative.segment, attention.seg_embed)):  # fmt: skip
            mine.data.copy_(other.data)
        for mine, other in ((block.attention_norm, attention.layer_norm), (block.feed_forward.inner, yours.ff.layer_1),
                            (block.feed_forward.output, yours.ff.layer_2), (block.feed_forward_norm, yours.ff.layer_norm)):  # fmt: skip
            mine.load_state_dict(other.state_dict())
    return theirs, stack, positions


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers makes XLNet's sinusoids in float32 whatever the model's type."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)


class Case:
    """Two rows with their own targets, order of prediction and segments; the other tokens are context."""

    def __init__(self, *, memory: int, segments: bool) -> None:
        torch.manual_seed(1)
        self.memory = memory
        self.tokens = torch.randint(0, 30, (ROWS, TIME))
        self.read = torch.tensor([[7, 2, 4], [0, 8, 3]])
        self.rank = torch.full((ROWS, TIME), -1).scatter(1, self.read, torch.arange(TARGETS).expand(ROWS, -1))
        self.segment = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 2], [0, 1, 1, 1, 1, 1, 1, 1, 2]]) if segments else None
        self.states = [torch.randn(ROWS, memory, WIDTH, dtype=torch.float64) for _ in range(DEPTH)] if memory else None

    def theirs(self, model: XLNetModel, *, two_streams: bool) -> list[Tensor]:
        """Content and query stream after the last block."""
        hidden = (self.rank[:, None, :] >= self.rank[:, :, None]) & (self.rank[:, None, :] >= 0)
        mapping = torch.nn.functional.one_hot(self.read, TIME).double()
        out = model(
            self.tokens,
            perm_mask=hidden.double(),
            target_mapping=mapping if two_streams else None,
            token_type_ids=self.segment,
            mems=None if self.states is None else [state.transpose(0, 1) for state in self.states],
            output_hidden_states=True,
            use_mems=True,
        )
        return list(out.hidden_states[-2 if two_streams else -1 :])

    def sight(self, positions: Any, *, two_streams: bool, known: bool = True) -> Sight:
        keys = [torch.arange(-self.memory, TIME)[None]]
        query, segment = torch.arange(TIME)[None], self.segment
        seen = visible(query=self.rank, key=self.rank)
        if two_streams:
            query = torch.cat([query.expand(ROWS, -1), self.read], dim=1)
            segment = None if segment is None else torch.cat([segment, segment.gather(1, self.read)], dim=1)
            seen = torch.cat([seen, visible(query=self.rank.gather(1, self.read), key=self.rank, strict=True)], dim=1)
        seen = torch.cat([seen.new_ones(ROWS, seen.shape[1], self.memory), seen], dim=2)
        return Sight(
            mask=AttentionMask(allowed=seen[:, None]),
            positions=positions,
            query_position=query,
            key_position=torch.cat(keys),
            query_segment=segment,
            key_segment=None if self.segment is None else torch.nn.functional.pad(self.segment, (self.memory, 0)),
            before=self.memory if known else None,
            in_order=known,
        )

    def ours(self, model: XLNetModel, stack: Stack, positions: Any, *, two_streams: bool, known: bool = True) -> Tensor:
        value = model.word_embedding(self.tokens)
        if two_streams:
            value = torch.cat([value, model.mask_emb.expand(ROWS, TARGETS, -1)], dim=1)
        sight = self.sight(positions, two_streams=two_streams, known=known)
        encoded: Tensor = stack(value, sight=sight, seen=TIME if two_streams else None, memory=self.states).last
        return encoded


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("two_streams", [False, True], ids=["one", "two"])
@pytest.mark.parametrize("memory", [0, 5, 12])
@pytest.mark.parametrize("segments", [False, True], ids=["plain", "segments"])
def test_xlnet_is_that_of_transformers(two_streams: bool, memory: int, segments: bool) -> None:
    model, stack, positions = xlnet()
    case = Case(memory=memory, segments=segments)
    expected = torch.cat(case.theirs(model, two_streams=two_streams), dim=1)
    weight = torch.randn(expected.shape, dtype=torch.float64)
    (expected * weight).sum().backward()
    theirs = model.layer
    embedded = model.word_embedding.weight.grad.clone()
    for known in (True, False):
        for module in (stack, positions, model.word_embedding):
            module.zero_grad()
        found = case.ours(model, stack, positions, two_streams=two_streams, known=known)
        close(found, expected)
        (found * weight).sum().backward()
        close(model.word_embedding.weight.grad, embedded)
        for layer in range(DEPTH):
            attention, relative = theirs[layer].rel_attn, positions.blocks[layer]
            close(relative.project.weight.grad, attention.r.grad.view(WIDTH, -1).t())
            close(stack.block(layer).attention.query.weight.grad, attention.q.grad.view(WIDTH, -1).t())
            close(positions.content_bias[layer].grad, attention.r_w_bias.grad)
            close(positions.position_bias[layer].grad, attention.r_r_bias.grad)
            if segments:
                close(relative.segment_bias.grad, attention.r_s_bias.grad)
                close(relative.segment.grad, attention.seg_embed.grad)
        with torch.no_grad():  # the fused kernel
            close(case.ours(model, stack, positions, two_streams=two_streams, known=known), expected)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("memory", [0, 5])
def test_xlnet_with_distances_clamped(memory: int) -> None:
    model, stack, positions = xlnet(clamp=4)
    case = Case(memory=memory, segments=False)
    close(case.ours(model, stack, positions, two_streams=True), torch.cat(case.theirs(model, two_streams=True), dim=1))
    unclamped = xlnet()
    assert (case.ours(*unclamped, two_streams=True) - case.ours(model, stack, positions, two_streams=True)).abs().max() > 1e-3


def test_reading_some_positions_gives_their_states() -> None:
    model, stack, positions = xlnet()
    case = Case(memory=5, segments=True)
    whole = case.ours(model, stack, positions, two_streams=False)
    read = torch.tensor([[8, 0, 1, 1], [3, 7, 7, 2]])
    narrow = stack(model.word_embedding(case.tokens), sight=case.sight(positions, two_streams=False), read=read, memory=case.states).last
    close(narrow, whole.gather(1, read[:, :, None].expand(-1, -1, WIDTH)))


# Transformer-XL


def by_formula(attention: Attention, positions: Any, value: Tensor, memory: Tensor, layer: int) -> Tensor:
    """§3.3, the four terms (a) to (d) of a query i and a key j that is not ahead of it, one pair at a time."""
    seen = torch.cat([memory, value], dim=1)
    behind = memory.shape[1]
    query, key, content = (
        linear(given).view(ROWS, -1, HEADS, HEAD)
        for linear, given in ((attention.query, value), (attention.key, seen), (attention.value, seen))
    )
    project = positions.blocks[layer].project.weight.view(HEADS, HEAD, WIDTH)
    (u,), (v,) = positions.content_bias, positions.position_bias
    mixed = torch.zeros(ROWS, value.shape[1], HEADS, HEAD, dtype=torch.float64)
    for row in range(ROWS):
        for head in range(HEADS):
            for i in range(value.shape[1]):
                scores = []
                for j in range(behind + i + 1):
                    distance = behind + i - j
                    angles = [distance / 10000 ** (2 * pair / WIDTH) for pair in range(WIDTH // 2)]
                    sinusoid = torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.float64)
                    q, k, r = query[row, i, head], key[row, j, head], project[head] @ sinusoid
                    scores.append((q @ k + q @ r + u[head] @ k + v[head] @ r) / math.sqrt(HEAD))
                mixed[row, i, head] = torch.stack(scores).softmax(0) @ content[row, : behind + i + 1, head]
    return attention.output(mixed.flatten(2))


@pytest.fixture(scope="module")
def transformer_xl() -> tuple[Attention, Any]:
    torch.manual_seed(0)
    attention = Attention(width=WIDTH, heads=HEADS, head_width=HEAD, drop=0.0, attention_drop=0.0, bias=False).double()
    positions = Relative(dropout=0.0).build(**SIZES, causal=True).double()
    randomise(attention)
    randomise(positions)
    return attention, positions


def causal_sight(positions: Any, memory: int, *, time: int = TIME, known: bool = True) -> Sight:
    return Sight(
        mask=AttentionMask(causal=True),
        positions=positions,
        query_position=torch.arange(time)[None],
        key_position=torch.arange(-memory, time)[None],
        before=memory if known else None,
        in_order=known,
    )


@pytest.mark.parametrize("memory", [0, 1, 6])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("time", [1, 2, 7])
def test_transformer_xl_is_the_formula(transformer_xl: Any, values: Any, memory: int, layer: int, time: int) -> None:
    attention, positions = transformer_xl
    value, recalled = values(ROWS, time), values(ROWS, memory, seed=3)
    parameters = [attention.query.weight, positions.blocks[layer].project.weight, positions.content_bias[0], positions.position_bias[0]]
    weight = torch.linspace(-1, 1, value.numel(), dtype=torch.float64).view_as(value)
    expected = by_formula(attention, positions, value, recalled, layer)
    gradients = torch.autograd.grad((expected * weight).sum(), parameters)
    for known in (True, False):
        found = attention(
            torch.cat([recalled, value], 1), queries=value, sight=causal_sight(positions, memory, time=time, known=known), layer=layer
        )
        close(found, expected)
        for ours, theirs in zip(torch.autograd.grad((found * weight).sum(), parameters), gradients, strict=True):
            close(ours, theirs)
        with torch.no_grad():
            sight = causal_sight(positions, memory, time=time, known=known)
            close(attention(torch.cat([recalled, value], 1), queries=value, sight=sight, layer=layer), expected)


def test_step_by_step_with_a_cache_is_the_whole_at_once(transformer_xl: Any, values: Any) -> None:
    attention, positions = transformer_xl
    value, cache, done = values(ROWS, TIME), LayerCache(), 0
    whole = attention(value, queries=None, sight=causal_sight(positions, 0), layer=0)
    for length in (4, 1, 3, 1):
        step = causal_sight(positions, done, time=length)
        with torch.no_grad():
            found = attention(value[:, done : done + length], queries=None, sight=step, layer=0, cache=cache)
        close(found, whole[:, done : done + length])
        done += length


# What all of them share


def test_parameters_are_tied_or_not() -> None:
    one_bias, projection, segment = HEADS * HEAD, WIDTH * HEADS * HEAD, 3 * HEADS * HEAD

    def count(scheme: Relative) -> int:
        return sum(parameter.numel() for parameter in scheme.build(**SIZES).parameters())

    assert count(Relative()) == 2 * one_bias + DEPTH * projection
    assert count(Relative(untied=True)) == DEPTH * (2 * one_bias + projection)
    assert count(Relative(untied=True, segments=True)) == DEPTH * (2 * one_bias + projection + segment)


def test_first_values_have_the_spread() -> None:
    torch.manual_seed(0)
    positions = Relative(untied=True, segments=True).build(width=256, heads=4, head_width=64, depth=8)
    initialise(positions, 0.05)
    for name, parameter in positions.named_parameters():
        assert float(parameter.detach().std()) == pytest.approx(0.05, rel=0.15), name


def test_the_sinusoids_are_dropped_only_in_training(values: Any) -> None:
    model, stack, _ = xlnet()
    positions = Relative(untied=True, dropout=0.5).build(**SIZES).double()
    case = Case(memory=0, segments=False)
    first, second = (case.ours(model, stack, positions, two_streams=False) for _ in range(2))
    assert (first - second).abs().max() > 1e-6
    positions.eval()
    first, second = (case.ours(model, stack, positions, two_streams=False) for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_recomputing_gives_the_same_gradients(checkpointing: bool) -> None:
    model, stack, positions = xlnet()
    case = Case(memory=5, segments=True)
    stack.train().checkpointing = checkpointing
    case.ours(model, stack, positions, two_streams=True).square().sum().backward()
    gradient = positions.position_bias[0].grad.clone()
    stack.checkpointing = False
    stack.zero_grad()
    positions.zero_grad()
    case.ours(model, stack, positions, two_streams=True).square().sum().backward()
    close(gradient, positions.position_bias[0].grad)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("memory", "two_streams", "read"), [(0, False, None), (7, False, None), (7, True, None), (5, False, 2)])
def test_flops_are_those_counted(causal: bool, memory: int, two_streams: bool, read: int | None) -> None:
    _, stack, _ = xlnet()
    positions = Relative(segments=True).build(**SIZES, causal=causal).double()
    case = Case(memory=memory, segments=True)
    length = TIME + (TARGETS if two_streams else 0)
    value = torch.randn(ROWS, length, WIDTH, dtype=torch.float64, requires_grad=True)
    seen = TIME if two_streams else None
    size: dict[str, Any] = {"rows": ROWS, "time": length, "positions": positions, "seen": seen, "memory": memory, "read": read}
    with FlopCounterMode(display=False) as counter:
        wanted = None if read is None else case.read[:, :read]
        sight = case.sight(positions, two_streams=two_streams)
        out = stack(value, sight=replace(sight, shared={}), seen=seen, memory=case.states, read=wanted).last
        assert counter.get_total_flops() == stack.flops(**size)
        out.sum().backward()
    assert counter.get_total_flops() == stack.step_flops(**size)


def test_an_impossible_clamp_is_refused() -> None:
    with pytest.raises(PlumeError, match="cut off at 0"):
        Relative(clamp=0)
