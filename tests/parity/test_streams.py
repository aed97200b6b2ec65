"""CTRL, MPNet and XLNet against their transformers classes in float64; Transformer-XL, NEZHA and MPNet's objective against numpy oracles."""

from __future__ import annotations

import math
from dataclasses import replace as with_fields
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Order, Target
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.heads.sentence_classification import SentenceClassification
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.noise.rows import Alphabet, Rows
from plume.recipes import _catalog as catalog

VOCABULARY, ROWS, TIME, HEADS, DEPTH = 60, 3, 12, 4, 3
LENGTHS = torch.tensor([9, 12, 5])
Numbers = NDArray[np.float64]


def tiny(family: str) -> Any:
    recipe = catalog.recipe(f"{family}/tiny")
    heads = {o.name: replace(o.head, dropout=0.0) if isinstance(o.head, SentenceClassification) else o.head for o in recipe.objectives}
    return replace(
        recipe,
        objectives=tuple(replace(objective, head=heads[objective.name]) for objective in recipe.objectives),
        embedding=replace(recipe.embedding, width=32),
        network=replace(recipe.network, width=32, depth=DEPTH, heads=HEADS, feed_forward=48),
        positions=replace(recipe.positions, longest=None if recipe.positions.longest is None else 16),
        training=replace(recipe.training, length=16),
    )


def ours_of(family: str) -> Model:
    """Weights everywhere different from their initial values, norms and biases too."""
    recipe = tiny(family)
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    return model.train()


def pair(family: str) -> tuple[Model, Any]:
    """One of our models and the transformers model with the same weights."""
    ours = ours_of(family)
    bridge = catalog.bridge(ours.recipe)
    assert bridge is not None
    config = transformers.AutoConfig.for_model(**config_of(ours.recipe, bridge, vocabulary=VOCABULARY))
    config._attn_implementation = "eager"
    theirs = getattr(transformers, bridge.architecture(ours.recipe))(config).double()
    report = theirs.load_state_dict(bridge.keys.revert(state_of(ours)), strict=False)
    theirs.tie_weights()
    assert not report.unexpected_keys
    assert {key.rsplit(".", 1)[0] for key in report.missing_keys} <= {"lm_head", "lm_head.decoder", "lm_loss"}, report.missing_keys
    return ours, theirs.train()


def close(ours: Tensor, theirs: Tensor, what: str) -> None:
    assert ours.shape == theirs.shape, what
    difference = float((ours - theirs).detach().abs().max())
    assert difference < 1e-9, f"{what} differs by {difference}"


def assert_gradients(ours: Model, theirs: Any, *, untouched: tuple[str, ...] = ()) -> None:
    bridge = catalog.bridge(ours.recipe)
    assert bridge is not None
    found = {name: parameter.grad for name, parameter in theirs.named_parameters() if parameter.grad is not None}
    for copy, original in bridge.keys.copies:
        if copy in found and original not in found:
            found[original] = found[copy]
        found.pop(copy, None)
    expected = bridge.keys.apply(found)
    mine = {name: parameter.grad for name, parameter in ours.named_parameters() if parameter.grad is not None}
    assert set(mine) ^ set(expected) <= set(untouched)
    for name in set(mine) & set(expected):
        close(mine[name], expected[name], f"gradient of {name}")


def tokens_of(padded: bool) -> tuple[Tensor, Tensor | None, Tensor]:
    tokens = torch.randint(5, VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(7))
    inside = torch.arange(TIME) < LENGTHS[:, None] if padded else torch.ones(ROWS, TIME, dtype=torch.bool)
    return tokens, LENGTHS if padded else None, inside


# CTRL


def ctrl() -> tuple[Model, Any]:
    ours, theirs = pair("ctrl")
    # transformers makes the sinusoids in float32.
    exact = transformers.models.ctrl.modeling_ctrl.positional_encoding(16, 32, torch.float64)
    theirs.transformer.pos_encoding = exact
    return ours, theirs


@pytest.mark.parametrize("padded", [False, True])
def test_ctrl(padded: bool) -> None:
    ours, theirs = ctrl()
    tokens, length, inside = tokens_of(padded)
    found = theirs(input_ids=tokens, attention_mask=inside.long(), output_hidden_states=True)
    batch = Batch(tokens=tokens, length=length, order=Order.CAUSAL)
    encoded = ours.encode(batch, keep_layers=True)
    assert len(encoded.layers) == len(found.hidden_states) == DEPTH + 1
    for number, (mine, other) in enumerate(zip(encoded.layers, found.hidden_states, strict=True)):
        close(mine[inside], other[inside], f"layer {number}")
    head = ours.head("causal_lm")
    close(head.logits(encoded.last)[inside], found.logits[inside], "logits")
    with torch.no_grad():
        close(ours.eval().encode(batch).last[inside], found.hidden_states[-1][inside], "fused attention")
    ours.train()
    asked = (inside[:, 1:] & inside[:, :-1]).flatten()
    expected = torch.nn.functional.cross_entropy(found.logits[:, :-1].flatten(0, 1)[asked], tokens[:, 1:].flatten()[asked])
    shorter = Batch(tokens=tokens[:, :-1], length=None if length is None else length - 1, order=Order.CAUSAL)
    index = asked.nonzero().squeeze(1)
    loss = head.loss(ours.encode(shorter), Target(index=index, value=tokens[:, 1:].flatten()[index]))
    close(loss.total / loss.count, expected, "loss")
    expected.backward()
    (loss.total / loss.count).backward()
    assert_gradients(ours, theirs)


# MPNet


@pytest.mark.parametrize("padded", [False, True])
def test_mpnet_reads_like_transformers(padded: bool) -> None:
    """The content stream alone, everything visible."""
    ours, theirs = pair("mpnet")
    tokens, length, inside = tokens_of(padded)
    index = torch.tensor([1, 4, 8, 13, 20, 25, 27])
    value = torch.tensor([9, 8, 7, 6, 9, 30, 11])
    labels = torch.full((ROWS * TIME,), -100).scatter(0, index, value).view(ROWS, TIME)
    found = theirs(input_ids=tokens, attention_mask=inside.long(), labels=labels, output_hidden_states=True, output_attentions=True)
    batch = Batch(tokens=tokens, length=length)
    encoded = ours.encode(batch, keep_layers=True, record_attention=True)
    for number, (mine, other) in enumerate(zip(encoded.layers, found.hidden_states, strict=True)):
        close(mine[inside], other[inside], f"layer {number}")
    for number, (mine, other) in enumerate(zip(encoded.attention, found.attentions, strict=True)):
        close(mine.transpose(1, 2)[inside], other.transpose(1, 2)[inside], f"attention {number}")
    head = ours.head("masked_permuted_lm")
    close(head.logits(encoded.last)[inside], found.logits[inside], "logits")
    loss = head.loss(encoded, Target(index=index, value=value))
    close(loss.total / loss.count, found.loss, "loss")
    (loss.total / loss.count).backward()
    found.loss.backward()
    assert_gradients(ours, theirs)


def test_mpnet_objective_is_the_papers() -> None:
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


# XLNet


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers makes XLNet's sinusoids in float32 whatever the model's type."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)


class Permutation:
    """Rows with their own targets, orders of prediction and segments; the class token is of a third segment, as in pre-training."""

    read = torch.tensor([[7, 2, 4], [0, 8, 3], [2, 4, 1]])
    rank = torch.full((ROWS, TIME), 0).scatter(1, read, torch.arange(1, 4).expand(ROWS, -1))
    segment = torch.tensor([[0] * 5 + [1] * 6 + [2], [0] * 8 + [1] * 3 + [2], [0] * 2 + [1] * 2 + [2] * 8])

    def __init__(self, *, padded: bool, memory: int) -> None:
        self.tokens, self.length, self.inside = tokens_of(padded)
        generator = torch.Generator().manual_seed(2)
        self.states = [torch.randn(ROWS, memory, 32, generator=generator, dtype=torch.float64) for _ in range(DEPTH)] if memory else None

    def theirs(self) -> dict[str, Any]:
        hidden = (self.rank[:, None, :] >= self.rank[:, :, None]) & (self.rank[:, None, :] > 0)
        return {
            "input_ids": self.tokens,
            "attention_mask": self.inside.double(),
            "perm_mask": hidden.double(),
            "target_mapping": torch.nn.functional.one_hot(self.read, TIME).double(),
            "token_type_ids": self.segment,
            "mems": None if self.states is None else [state.transpose(0, 1) for state in self.states],
            "use_mems": True,
        }

    def ours(self) -> Batch:
        return Batch(
            tokens=self.tokens, length=self.length, order=Order.RANKED, rank=self.rank, segment=self.segment, read=self.read,
            query=torch.full_like(self.read, 6), stream=0,
        )  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("memory", [0, 5])
@pytest.mark.parametrize("padded", [False, True])
def test_xlnet_both_streams(padded: bool, memory: int) -> None:
    ours, theirs = pair("xlnet")
    case = Permutation(padded=padded, memory=memory)
    remembered = {} if case.states is None else {0: case.states}
    ours.memories = dict(remembered)
    found = theirs(**case.theirs(), output_hidden_states=True)
    encoded = ours.encode(case.ours(), keep_layers=True)
    for number, layer in enumerate(encoded.layers[:-1]):  # of the last block only the query stream is computed
        close(layer[:, :TIME][case.inside], found.hidden_states[2 * number][case.inside], f"content {number}")
        close(layer[:, TIME:], found.hidden_states[2 * number + 1], f"query {number}")
    close(encoded.last, found.hidden_states[-1], "last query")
    head = ours.head("permuted_lm")
    close(head.logits(encoded.last), found.logits, "logits")
    with torch.no_grad():
        ours.memories = dict(remembered)
        close(ours.eval().encode(case.ours()).last, found.hidden_states[-1], "fused attention")
    ours.train()
    answers = case.tokens.gather(1, case.read).flatten()
    expected = torch.nn.functional.cross_entropy(found.logits.flatten(0, 1), answers)
    slot = torch.arange(9)
    loss = head.loss(encoded, Target(index=slot, slot=slot, value=answers))
    close(loss.total / loss.count, expected, "loss")
    (loss.total / loss.count).backward()
    expected.backward()
    assert_gradients(ours, theirs)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("memory", [0, 5])
def test_xlnet_reads_a_row_backwards(memory: int) -> None:
    """`bi_data`: in the second of two rows distances count the other way, those to the memory too."""
    ours, theirs = pair("xlnet")
    theirs.transformer.bi_data = True
    case = Permutation(padded=True, memory=memory)
    given = {name: value[:2] if isinstance(value, Tensor) else value for name, value in case.theirs().items()}
    given["mems"] = None if case.states is None else [state[:2].transpose(0, 1) for state in case.states]
    ours.memories = {} if case.states is None else {0: [state[:2] for state in case.states]}
    batch = case.ours().map(lambda array: array[:2])
    found = theirs(**given)
    encoded = ours.encode(with_fields(batch, backward=torch.tensor([False, True])))
    close(ours.head("permuted_lm").logits(encoded.last), found.logits, "logits")
    found.logits.sin().sum().backward()
    ours.head("permuted_lm").logits(encoded.last).sin().sum().backward()
    assert_gradients(ours, theirs)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("padded", [False, True])
def test_xlnet_content_stream_alone(padded: bool) -> None:
    """What fine-tuning and embedding read: everything visible, no memory."""
    ours, theirs = pair("xlnet")
    case = Permutation(padded=padded, memory=0)
    found = theirs(
        input_ids=case.tokens, attention_mask=case.inside.double(), token_type_ids=case.segment, output_hidden_states=True, use_mems=False
    )
    encoded = ours.encode(Batch(tokens=case.tokens, length=case.length, segment=case.segment), keep_layers=True)
    for number, (mine, other) in enumerate(zip(encoded.layers, found.hidden_states, strict=True)):
        close(mine[case.inside], other[case.inside], f"layer {number}")


@pytest.mark.usefixtures("exact")
def test_xlnet_remembers_what_transformers_does() -> None:
    """Row after row: half of each goes into a memory of twelve, and the next row looks back at it."""
    ours, theirs = pair("xlnet")
    theirs.transformer.reuse_len, theirs.transformer.mem_len = 6, 10
    assert ours.recipe.memory is not None
    ours.memory = replace(ours.recipe.memory, length=10)
    case = Permutation(padded=False, memory=0)
    mems = None
    for turn in range(4):
        case.tokens = torch.randint(5, VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(turn))
        found = theirs(**case.theirs() | {"mems": mems})
        mems = found.mems
        encoded = ours.encode(case.ours())
        close(ours.head("permuted_lm").logits(encoded.last), found.logits, f"logits of row {turn}")
        for layer, (mine, other) in enumerate(zip(ours.memories[0], mems, strict=True)):
            close(mine, other.transpose(0, 1), f"memory of layer {layer} after row {turn}")


# Numpy oracles: one row, one pair of positions after the other where the paper's formula is about pairs


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


def test_transformer_xl_is_the_papers() -> None:
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


def test_nezha_is_the_papers() -> None:
    """Distances beyond the clip occur; the second row is padded."""
    recipe = replace(tiny("nezha"), positions=replace(tiny("nezha").positions, clip=4))
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).double()
    model.load_state_dict(ours_of("nezha").state_dict())
    weights = {name: value.numpy() for name, value in state_of(model).items()}
    tokens, length, _ = tokens_of(True)
    segment = (torch.arange(TIME) >= 4).long().expand(ROWS, TIME)
    assert length is not None
    whole = model.encode(Batch(tokens=tokens, length=length, segment=segment)).last.detach().numpy()
    read = torch.tensor([[0, 3], [11, 2], [4, 0]])
    some = model.encode(Batch(tokens=tokens, length=length, segment=segment, read=read)).last.detach().numpy()
    for row, last in enumerate(length.tolist()):
        expected = nezha(weights, tokens[row, :last].numpy(), segment[row, :last].numpy(), 4)
        assert np.abs(whole[row, :last] - expected).max() < 1e-9
        assert np.abs(some[row] - expected[read[row]]).max() < 1e-9
