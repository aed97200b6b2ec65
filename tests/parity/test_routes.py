"""Passes that leave blocks out (LayerDrop) or take others instead (BERT-of-Theseus), in float64 against a page of plain torch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from plume.compressing.replacing.network import TheseusModel
from plume.compressing.replacing.schedule import Rising, Steady
from plume.compressing.shrinking.layered import fewer_layers
from plume.core.batch import Batch, Order
from plume.core.part import replace
from plume.nn.route import Stop, routed
from plume.readers.example import Example
from plume.tasks.classification import TASK
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.tuned import TunedModel, assemble

Weights = dict[str, Tensor]
HEADS, LABELS = 4, ("cold", "mild", "warm")
TEXTS = ("the cat", "a wooden box near the river", "my sister paints", "two apples at home")


# The page of plain torch: BERT (arXiv:1810.04805), with its norms behind or, as GPT-2 has them, in front.


def norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], eps=1e-12)


def linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def attention(weights: Weights, x: Tensor, seen: Tensor) -> Tensor:
    rows, time, width = x.shape
    q, k, v = (linear(weights, f"attention.{name}", x).view(rows, time, HEADS, -1).transpose(1, 2) for name in ("query", "key", "value"))
    scores = (q @ k.transpose(2, 3) / (width // HEADS) ** 0.5).masked_fill(~seen, float("-inf"))
    return linear(weights, "attention.output", (scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, time, width))


def feed_forward(weights: Weights, x: Tensor, *, tanh: bool) -> Tensor:
    inner = F.gelu(linear(weights, "feed_forward.inner", x), approximate="tanh" if tanh else "none")
    return linear(weights, "feed_forward.output", inner)


def block(weights: Weights, x: Tensor, seen: Tensor, *, pre: bool) -> Tensor:
    if pre:
        x = x + attention(weights, norm(weights, "attention_norm", x), seen)
        return x + feed_forward(weights, norm(weights, "feed_forward_norm", x), tanh=True)
    x = norm(weights, "attention_norm", x + attention(weights, x, seen))
    return norm(weights, "feed_forward_norm", x + feed_forward(weights, x, tanh=False))


def embedded(weights: Weights, batch: Batch) -> Tensor:
    x = weights["embedding.token.weight"][batch.tokens] + weights["embedding.position.table.weight"][: batch.tokens.shape[1]]
    if "embedding.segment.weight" in weights:
        x = x + weights["embedding.segment.weight"][torch.zeros_like(batch.tokens) if batch.segment is None else batch.segment]
    return norm(weights, "embedding.norm", x) if "embedding.norm.weight" in weights else x


def named(module: nn.Module) -> Weights:
    return dict(module.named_parameters())


# LayerDrop


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_layer_drop(family: str, miniature: Any, built: Any) -> None:
    """Every set of blocks that can be left out, all of them among these: the final norm and what is read stay as they are."""
    model = built(miniature(family, depth=3).override("network.epsilon=1e-12")).eval()
    weights, pre = named(model), family == "gpt2"
    tokens = torch.randint(60, (2, 7), generator=torch.Generator().manual_seed(1))
    read = torch.tensor([[0, 3], [6, 2]])
    segment = None if pre else torch.zeros_like(tokens)
    batch = Batch(tokens=tokens, segment=segment, read=read, order=Order.CAUSAL if pre else Order.FULL)
    seen = torch.ones(7, 7, dtype=torch.bool)
    for dropped in itertools.product([False, True], repeat=3):
        x = embedded(weights, batch)
        for layer, gone in enumerate(dropped):
            if not gone:
                x = block(named(model.stack.blocks[layer]), x, seen.tril() if pre else seen, pre=pre)
        x = norm(weights, "stack.final_norm", x) if pre else x
        with routed((model.stack, [Stop(layer=i, block=None if gone else model.stack.block(i)) for i, gone in enumerate(dropped)])):
            encoded = model.encode(batch, keep_layers=True)
            narrow = model.encode(batch)
        assert len(encoded.layers) == 4
        for ours in (encoded.last, narrow.last):
            assert torch.allclose(ours, x[torch.arange(2)[:, None], read], rtol=1e-11, atol=1e-12)


def test_drawn_layers_are_left_out_in_training_only(miniature: Any, built: Any) -> None:
    recipe = miniature("bert", depth=3).override("network.layer_drop=0.4")
    stack = built(recipe).stack.train()
    torch.manual_seed(4)
    drawn = []
    for _ in range(600):
        stack.drop_layers()
        drawn.append([stop.block is None for stop in stack.route])
    assert np.abs(np.mean(drawn, axis=0) - 0.4).max() < 0.06
    assert abs(np.mean([all(one) for one in drawn]) - 0.4**3) < 0.03, "each by itself"
    stack.eval().drop_layers()
    assert not any(stop.block is None for stop in stack.route)


# BERT-of-Theseus


@pytest.fixture(scope="module")
def predecessor(miniature: Any, built: Any, tokenizer_for: Any) -> TunedModel:
    """BERT of four layers with a head that tells three classes, nothing of it as it was at first."""
    recipe = miniature("bert", depth=4)
    tokenizer = tokenizer_for(recipe)
    declared = Declared(tasks=(replace(TASK, labels=LABELS),), adaptation=FullTuning(dropout=0.0), length=32)
    model = assemble(built(recipe, vocabulary=tokenizer.size), declared).double()
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for parameter in model.heads.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.3)
    return TunedModel(model, tokenizer, declared)


@pytest.fixture
def theseus(predecessor: TunedModel) -> TheseusModel:
    """Two successors that have learned something already."""
    small = fewer_layers(predecessor, [0, 1], name="theseus")
    assert isinstance(small, TunedModel)
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in small.model.body.stack.parameters():
            parameter += torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.1
    return TheseusModel(small.model.train(), predecessor.model.body, Steady())


def rows(tuned: TunedModel, on_cpu: Any) -> tuple[Batch, Tensor]:
    examples = [Example(texts=(text,), answer=LABELS[number % 3]) for number, text in enumerate(TEXTS)]
    questions, _ = tuned.tasks[0].questions(examples, tuned.coder())
    batch = on_cpu(tuned.finish(questions.batch(np.arange(len(TEXTS))), questions))
    return batch, batch.labels["classification"].value


def theseus_loss(predecessor: TunedModel, theseus: TheseusModel, swapped: Sequence[bool], batch: Batch, answers: Tensor) -> Tensor:
    """Equation 5 of the paper: module i is one successor, or the two layers that it is to replace."""
    whole, small = predecessor.model.body, theseus.successor.body
    weights = named(whole)
    x = embedded(weights, batch)
    inside = torch.arange(x.shape[1]) < batch.length[:, None]
    for number, replaced in enumerate(swapped):
        for one in [small.stack.blocks[number]] if replaced else whole.stack.blocks[2 * number : 2 * number + 2]:
            x = block(named(one), x, inside[:, None, None, :], pre=False)
    pooled = torch.tanh(linear(weights, "pooler.dense", x[:, 0]))
    logits = linear(named(predecessor.model.heads["classification"]), "output", pooled)
    return F.cross_entropy(logits, answers, reduction="sum")


@pytest.mark.parametrize("swapped", list(itertools.product([True, False], repeat=2))[:-1], ids=str)
def test_theseus(swapped: tuple[bool, ...], predecessor: TunedModel, theseus: TheseusModel, on_cpu: Any) -> None:
    batch, answers = rows(predecessor, on_cpu)
    theseus.swapped = [list(swapped)]
    learning = {name: parameter for name, parameter in theseus.kept() if parameter.requires_grad}
    assert learning.keys() == {name for name, _ in theseus.kept() if name.startswith("body.stack.blocks.")}, "only successors learn"
    ours = theseus.losses(batch)["classification"]
    theirs = theseus_loss(predecessor, theseus, swapped, batch, answers)
    assert ours.count == len(TEXTS) and float(ours.total.detach()) == pytest.approx(float(theirs.detach()), rel=1e-12)
    slopes = [torch.autograd.grad(loss, list(learning.values()), allow_unused=True) for loss in (ours.total, theirs)]
    for name, mine, other in zip(learning, *slopes, strict=True):
        assert (mine is None) == (not swapped[int(name.split(".")[3])])
        assert (mine is None and other is None) or torch.allclose(mine, other, rtol=1e-9, atol=1e-13)


def test_swaps_follow_from_the_step(theseus: TheseusModel) -> None:
    def drawn() -> Iterator[list[bool]]:
        for step in range(400):
            torch.manual_seed(step)
            theseus.before_step(step / 400)
            (swapped,) = theseus.swapped
            yield swapped

    first = list(drawn())
    assert first == list(drawn())
    assert all(any(one) for one in first), "without any, a step would teach nothing"
    assert abs(np.mean(first[:200]) - (0.5 + 0.25 / 2)) < 0.07, "each with 0.5, and one of two where none was drawn"
    assert np.all(first[200:]), "the fine-tuning after"


def test_steps_are_carried_on(theseus: TheseusModel) -> None:
    theseus.replacement = Rising(first=0.2, rate=0.01)
    theseus.after_step(80)
    carried = theseus.carried()
    theseus.steps = 0
    theseus.carry_on(carried)
    theseus.before_step(0.0)
    assert theseus.steps == 80 and all(theseus.swapped[0]), "0.2 + 80 · 0.01 = 1"
