"""CTRL, MPNet and XLNet against their transformers classes in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_fields
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from plume.core.batch import Batch, Order, Target
from plume.core.part import replace
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.recipes import _catalog as catalog

VOCABULARY, ROWS, TIME, HEADS, DEPTH = 60, 3, 12, 4, 3
LENGTHS = torch.tensor([9, 12, 5])
Pair = Callable[[str], tuple[Model, Any]]


@pytest.fixture(scope="module")
def pair(ours_of: Callable[[str], Model]) -> Pair:
    """One of our models and the transformers model with the same weights."""

    def make(family: str) -> tuple[Model, Any]:
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

    return make


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


def ctrl(pair: Pair) -> tuple[Model, Any]:
    ours, theirs = pair("ctrl")
    # transformers makes the sinusoids in float32.
    exact = transformers.models.ctrl.modeling_ctrl.positional_encoding(16, 32, torch.float64)
    theirs.transformer.pos_encoding = exact
    return ours, theirs


@pytest.mark.parametrize("padded", [False, True])
def test_ctrl(padded: bool, pair: Pair) -> None:
    ours, theirs = ctrl(pair)
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
def test_mpnet_reads_like_transformers(padded: bool, pair: Pair) -> None:
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
def test_xlnet_both_streams(padded: bool, memory: int, pair: Pair) -> None:
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
def test_xlnet_reads_a_row_backwards(memory: int, pair: Pair) -> None:
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
def test_xlnet_content_stream_alone(padded: bool, pair: Pair) -> None:
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
def test_xlnet_remembers_what_transformers_does(pair: Pair) -> None:
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
