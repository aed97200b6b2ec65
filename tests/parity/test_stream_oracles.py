"""Transformer-XL, NEZHA and MPNet's objective against numpy oracles: one row, one pair of positions after the other where the paper's formula is
about pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch, Order
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.noise.rows import Alphabet, Rows

VOCABULARY, ROWS, TIME, HEADS, DEPTH = 60, 3, 12, 4, 3
LENGTHS = torch.tensor([9, 12, 5])
Numbers = NDArray[np.float64]
OursOf = Callable[[str], Model]


def test_mpnet_objective_is_the_papers(ours_of: OursOf) -> None:
    """A batch of the recipe's own noise, against the authors' arrangement: context, predicted tokens, their masks; masks ask."""
    model = ours_of("mpnet")
    weights = {name: value.numpy() for name, value in state_of(model).items()}
    generator = np.random.default_rng(3)
    tokens = generator.integers(5, VOCABULARY, (2, 14))
    tokens[1, 11:] = 1
    special = np.zeros((2, 14), bool)
    special[:, 0], special[0, 13], special[1, 10:] = True, True, True
    rows = Rows(tokens=tokens, length=np.array([14, 11]), special=special, word_start=generator.random((2, 14)) < 0.6)
    noise = model.recipe.noise
    noise = replace(noise, select=replace(noise.select, rate=0.4))
    aim = noise(rows, Draws(seed=1, epoch=0, index=np.arange(2)), Alphabet(size=VOCABULARY, mask=4, pad=1))
    where = np.nonzero(aim.where)
    read = np.zeros((2, int(aim.where.sum(1).max())), np.int64)
    for row in range(2):
        asked = np.flatnonzero(aim.where[row])
        read[row, : len(asked)] = asked
    assert aim.rank is not None and aim.until is not None and aim.position is not None and aim.query is not None
    batch = Batch(
        tokens=torch.from_numpy(aim.shown), length=torch.from_numpy(aim.length), order=Order.RANKED, rank=torch.from_numpy(aim.rank),
        until=torch.from_numpy(aim.until), position=torch.from_numpy(aim.position), read=torch.from_numpy(read),
        query=torch.from_numpy(np.take_along_axis(aim.query, read, 1)),
    )  # fmt: skip
    states = model.encode(batch).last.detach().numpy()
    for row in range(2):
        asked = np.flatnonzero(aim.where[row])
        order = asked[np.argsort(aim.rank[row, asked])]
        expected = two_streams(weights, rows.tokens[row, : rows.length[row]], order, aim.query[row, order])
        mine = states[row, [int(np.flatnonzero(read[row] == place)[0]) for place in order]]
        assert np.abs(mine - expected).max() < 1e-9
    assert len(where[0]) > 6


def two_streams(weights: dict[str, Numbers], tokens: NDArray[Any], order: NDArray[Any], masks: NDArray[Any]) -> Numbers:
    """arXiv:2004.09297, figure 2: [N, D] states of the query stream for the tokens at `order`, in that order."""
    context = np.setdiff1d(np.arange(len(tokens)), order)
    place = np.concatenate([context, order, order])  # the masks stand where the predicted tokens do
    shown = np.concatenate([tokens[context], tokens[order], masks])
    c, n = len(context), len(order)
    step = np.arange(n)
    content = np.zeros((c + 2 * n, c + 2 * n), bool)
    content[:, :c] = True
    content[:c, c + n :] = content[c + n :, c + n :] = True  # context and masks see all masks, and no predicted token
    content[c : c + n, c : c + n] = step <= step[:, None]  # a predicted token sees those before it and itself,
    content[c : c + n, c + n :] = step > step[:, None]  # and for the others their masks
    query = np.concatenate([np.ones((n, c), bool), step < step[:, None], step >= step[:, None]], axis=1)
    seen = np.concatenate([content, query])
    places, words = np.concatenate([place, order]), np.concatenate([shown, masks])
    value = weights["embedding.token.weight"][words] + weights["embedding.position.absolute.table.weight"][places + 2]
    value = norm(weights, "embedding.norm", value, 1e-5)
    bias = weights["embedding.position.table.weight"][bucket(place[None, :] - places[:, None])].transpose(2, 0, 1)
    for layer in range(DEPTH):
        name = f"stack.blocks.{layer}"
        keys = value[: c + 2 * n]
        q, k, v = (split(dense(weights, f"{name}.attention.{part}", x)) for part, x in (("query", value), ("key", keys), ("value", keys)))
        scores = np.where(seen, q @ k.transpose(0, 2, 1) / math.sqrt(8) + bias, -np.inf)
        value = block(weights, name, value, softmax(scores) @ v, 1e-5)
    return value[c + 2 * n :]


def bucket(distance: NDArray[Any]) -> NDArray[Any]:
    """Sixteen buckets a side: eight exact ones, eight ever wider up to 128."""
    away = np.abs(distance)
    wide = 8 + (np.log(np.maximum(away, 1) / 8) / math.log(16) * 8).astype(int)
    return np.where(away < 8, away, np.minimum(wide, 15)) + 16 * (distance > 0)


def dense(weights: dict[str, Numbers], name: str, value: Numbers) -> Numbers:
    return value @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)


def norm(weights: dict[str, Numbers], name: str, value: Numbers, epsilon: float) -> Numbers:
    centred = value - value.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def softmax(scores: Numbers) -> Numbers:
    power = np.exp(scores - scores.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def split(value: Numbers) -> Numbers:
    return value.reshape(len(value), HEADS, -1).transpose(1, 0, 2)  # [H, T, W]


def gelu(value: Numbers) -> Numbers:
    return value * (1 + np.vectorize(math.erf)(value / math.sqrt(2))) / 2


def block(weights: dict[str, Numbers], name: str, value: Numbers, mixed: Numbers, epsilon: float, activation: Any = gelu) -> Numbers:
    """What follows attention in a post-norm block."""
    merged = mixed.transpose(1, 0, 2).reshape(len(value), -1)
    value = norm(weights, f"{name}.attention_norm", value + dense(weights, f"{name}.attention.output", merged), epsilon)
    inner = activation(dense(weights, f"{name}.feed_forward.inner", value))
    return norm(weights, f"{name}.feed_forward_norm", value + dense(weights, f"{name}.feed_forward.output", inner), epsilon)


def transformer_xl(weights: dict[str, Numbers], tokens: NDArray[Any], memory: list[Numbers]) -> list[Numbers]:
    """arXiv:1901.02860 §3.3, for one row: the input of every block, and the last output. `memory` [M, D] a block."""
    value = weights["embedding.token.weight"][tokens] * math.sqrt(32)
    layers = [value]
    u, v = weights["embedding.position.content_bias.0"], weights["embedding.position.position_bias.0"]
    frequency = 10000.0 ** (-np.arange(0, 32, 2) / 32)
    for layer in range(DEPTH):
        name = f"stack.blocks.{layer}"
        past = len(memory[layer])
        seen = np.concatenate([memory[layer], value])
        q, k, x = (split(dense(weights, f"{name}.attention.{part}", y)) for part, y in (("query", value), ("key", seen), ("value", seen)))
        project = weights[f"embedding.position.blocks.{layer}.project.weight"]
        scores = np.full((HEADS, len(value), len(seen)), -np.inf)
        for i in range(len(value)):
            for j in range(past + i + 1):
                angle = (past + i - j) * frequency
                r = (project @ np.concatenate([np.sin(angle), np.cos(angle)])).reshape(HEADS, -1)
                scores[:, i, j] = (((q[:, i] + u) * k[:, j]).sum(-1) + ((q[:, i] + v) * r).sum(-1)) / math.sqrt(8)
        value = block(weights, name, value, softmax(scores) @ x, 1e-5, lambda inner: np.maximum(inner, 0))
        layers.append(value)
    return layers


def test_transformer_xl_is_the_papers(ours_of: OursOf) -> None:
    """Three stretches of a stream, the third shorter; the memory is longer than a stretch and is cut."""
    model = ours_of("transformer-xl")
    assert model.recipe.memory is not None
    model.memory = replace(model.recipe.memory, length=7)
    weights = {name: value.numpy() for name, value in state_of(model).items()}
    stream = torch.randint(5, VOCABULARY, (2, 14), generator=torch.Generator().manual_seed(9))
    memory = [[np.zeros((0, 32))] * DEPTH for _ in range(2)]
    for number, (first, last) in enumerate(((0, 5), (5, 10), (10, 14))):
        batch = Batch(tokens=stream[:, first:last], order=Order.CAUSAL, stream=0, begins=number == 0)
        logits = model.head("causal_lm").logits(model.encode(batch).last).detach().numpy()
        for row in range(2):
            layers = transformer_xl(weights, stream[row, first:last].numpy(), memory[row])
            expected = layers[-1] @ weights["embedding.token.weight"].T + weights["heads.causal_lm.bias"]
            assert np.abs(logits[row] - expected).max() < 1e-9, f"stretch {number}"
            memory[row] = [np.concatenate([old, new])[-7:] for old, new in zip(memory[row], layers[:-1], strict=True)]
    with torch.no_grad():
        fused = model.eval().head("causal_lm").logits(model.encode(Batch(tokens=stream, order=Order.CAUSAL)).last)
    alone = transformer_xl(weights, stream[0].numpy(), [np.zeros((0, 32))] * DEPTH)[-1]
    assert np.abs(fused[0].numpy() - alone @ weights["embedding.token.weight"].T - weights["heads.causal_lm.bias"]).max() < 1e-9


def nezha(weights: dict[str, Numbers], tokens: NDArray[Any], segment: NDArray[Any], clip: int) -> Numbers:
    """arXiv:1909.00204 §2.1, for one row: sinusoids of the clipped distance join keys and values."""
    value = norm(weights, "embedding.norm", weights["embedding.token.weight"][tokens] + weights["embedding.segment.weight"][segment], 1e-12)
    time, width = len(tokens), 8
    frequency = 10000.0 ** (-np.arange(0, width, 2) / width)
    a = np.zeros((time, time, width))
    for i in range(time):
        for j in range(time):
            angle = (np.clip(j - i, -clip, clip) + clip) * frequency
            a[i, j, 0::2], a[i, j, 1::2] = np.sin(angle), np.cos(angle)
    for layer in range(DEPTH):
        name = f"stack.blocks.{layer}"
        q, k, v = (split(dense(weights, f"{name}.attention.{part}", value)) for part in ("query", "key", "value"))
        mixed = np.zeros((HEADS, time, width))
        for i in range(time):
            probability = softmax(np.einsum("hw,hjw->hj", q[:, i], k + a[i]) / math.sqrt(width))
            mixed[:, i] = np.einsum("hj,hjw->hw", probability, v + a[i])
        value = block(weights, name, value, mixed, 1e-12)
    return value


def test_nezha_is_the_papers(tiny: Callable[[str], Any], ours_of: OursOf) -> None:
    """Distances beyond the clip occur; the second row is padded."""
    recipe = replace(tiny("nezha"), positions=replace(tiny("nezha").positions, clip=4))
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    model.load_state_dict(ours_of("nezha").state_dict())
    weights = {name: value.numpy() for name, value in state_of(model).items()}
    tokens = torch.randint(5, VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(7))
    segment = (torch.arange(TIME) >= 4).long().expand(ROWS, TIME)
    whole = model.encode(Batch(tokens=tokens, length=LENGTHS, segment=segment)).last.detach().numpy()
    read = torch.tensor([[0, 3], [11, 2], [4, 0]])
    some = model.encode(Batch(tokens=tokens, length=LENGTHS, segment=segment, read=read)).last.detach().numpy()
    for row, last in enumerate(LENGTHS.tolist()):
        expected = nezha(weights, tokens[row, :last].numpy(), segment[row, :last].numpy(), 4)
        assert np.abs(whole[row, :last] - expected).max() < 1e-9
        assert np.abs(some[row] - expected[read[row]]).max() < 1e-9
