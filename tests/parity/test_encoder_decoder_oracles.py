"""MASS and PALM, which transformers does not have, against oracles written from the papers: one row at a time, no padding, no masks but causal.

Each oracle is given a row of the corpus and plume's weights, builds for itself what encoder and decoder read and must answer, and gives the loss; in
float64, on a real batch of several lengths, loss and every gradient must agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.collate import gather

TOLERANCE = 1e-9


@dataclass
class Oracle:
    """A Transformer with norms behind each sum (arXiv:1706.03762 §3), learned positions and a norm behind the embeddings."""

    weights: dict[str, Tensor]
    heads: int
    epsilon: float
    offset: int = 0  # rows of the table of positions before the first

    def linear(self, name: str, value: Tensor) -> Tensor:
        return value @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0.0)

    def norm(self, name: str, value: Tensor) -> Tensor:
        mean = value.mean(-1, keepdim=True)
        spread = ((value - mean) ** 2).mean(-1, keepdim=True)
        return (value - mean) / torch.sqrt(spread + self.epsilon) * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def embed(self, name: str, ids: list[int], places: list[int]) -> Tensor:
        vectors = self.weights["embedding.token.weight"][ids]
        return self.norm(f"{name}.norm", vectors + self.weights[f"{name}.position.table.weight"][[self.offset + place for place in places]])

    def attend(self, name: str, asking: Tensor, seen: Tensor, *, causal: bool = False) -> Tensor:
        query, key, value = (self.linear(f"{name}.{part}", of) for part, of in (("query", asking), ("key", seen), ("value", seen)))
        mixed = []
        for q, k, v in zip(*(part.chunk(self.heads, dim=-1) for part in (query, key, value)), strict=True):
            scores = q @ k.T / math.sqrt(q.shape[1])
            if causal:
                scores = scores + torch.full_like(scores, -math.inf).triu(1)
            mixed.append(scores.softmax(-1) @ v)
        return self.linear(f"{name}.output", torch.cat(mixed, dim=-1))

    def feed_forward(self, name: str, value: Tensor) -> Tensor:
        inner = self.linear(f"{name}.inner", value)
        return self.linear(f"{name}.output", inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2))))

    def encode(self, ids: list[int]) -> Tensor:
        value = self.embed("embedding", ids, list(range(len(ids))))
        for layer in range(self.depth("stack")):
            block = f"stack.blocks.{layer}"
            value = self.norm(f"{block}.attention_norm", value + self.attend(f"{block}.attention", value, value))
            value = self.norm(f"{block}.feed_forward_norm", value + self.feed_forward(f"{block}.feed_forward", value))
        return value

    def decode(self, ids: list[int], places: list[int], read: Tensor) -> Tensor:
        value = self.embed("decoder_embedding", ids, places)
        for layer in range(self.depth("decoder")):
            block = f"decoder.blocks.{layer}"
            value = self.norm(f"{block}.attention_norm", value + self.attend(f"{block}.attention", value, value, causal=True))
            value = self.norm(f"{block}.across_norm", value + self.attend(f"{block}.across", value, read))
            value = self.norm(f"{block}.feed_forward_norm", value + self.feed_forward(f"{block}.feed_forward", value))
        return value

    def depth(self, stack: str) -> int:
        return len({name.split(".")[2] for name in self.weights if name.startswith(f"{stack}.blocks.")})

    def vocabulary(self, value: Tensor, bias: Tensor | float = 0.0) -> Tensor:
        """Scores with the token embeddings as weights."""
        return value @ self.weights["embedding.token.weight"].T + bias


def mass_loss(oracle: Oracle, text: list[int], shown: list[int], hidden: list[int]) -> Tensor:
    """arXiv:1905.02450 §3.2: from the text with one span hidden, log p(span): each token after the true one before it, in its own position."""
    read = oracle.encode(shown)
    states = oracle.decode([text[place - 1] for place in hidden], [place - 1 for place in hidden], read)
    scores = oracle.vocabulary(states, oracle.weights["heads.masked_seq2seq.bias"])
    return sum((scores[step].logsumexp(0) - scores[step, text[place]] for step, place in enumerate(hidden)), torch.zeros(()).double())


def palm_masked_loss(oracle: Oracle, text: list[int], shown: list[int], hidden: list[int]) -> Tensor:
    """arXiv:2004.07159 §2.2, the first stage: BERT's masked tokens, from the encoder."""
    states = oracle.linear("heads.masked_lm.dense", oracle.encode(shown)[hidden])
    states = oracle.norm("heads.masked_lm.norm", states * 0.5 * (1 + torch.erf(states / math.sqrt(2))))
    scores = oracle.vocabulary(states, oracle.weights["heads.masked_lm.bias"])
    return sum((scores[step].logsumexp(0) - scores[step, text[place]] for step, place in enumerate(hidden)), torch.zeros(()).double())


def palm_continuation_loss(oracle: Oracle, text: list[int], shown: list[int], hidden: list[int]) -> Tensor:
    """§2.2 and §2.3: four fifths are read, the rest is written; p(y) = λ · vocabulary + (1 − λ) · the attention on source tokens that are y.

    `text` has <s> before it and </s> behind it; nothing is spoilt. The decoder begins with </s>, as BART's, and closes with it.
    """
    begin, *body, end = text
    cut = max(1, min(round(len(body) * 0.8), len(body) - 1))  # something is read, and of two tokens one is left to write
    source = [begin, *body[:cut], end]
    answers = [*body[cut:], end]
    read = oracle.encode(source)
    states = oracle.decode([end, *answers[:-1]], list(range(len(answers))), read)
    scores = oracle.vocabulary(oracle.linear("heads.continuation.dense", states))
    total = torch.zeros(()).double()
    for step, answer in enumerate(answers):
        state = states[step]
        energy = torch.tanh(oracle.linear("heads.continuation.memory", read) + oracle.linear("heads.continuation.state", state))
        looks = oracle.linear("heads.continuation.score", energy)[:, 0].softmax(0)
        context = sum((look * one for look, one in zip(looks, read, strict=True)), torch.zeros_like(state))
        write = torch.sigmoid(oracle.linear("heads.continuation.gate", torch.cat([context, state])))[0]
        copied = sum((look for look, token in zip(looks, source, strict=True) if token == answer), torch.zeros(()).double())
        total = total - torch.log(write * scores[step].softmax(0)[answer] + (1 - write) * copied)
    return total


CASES = {
    "mass masked_seq2seq": (mass_loss, 1e-12, 0),
    "palm masked_lm": (palm_masked_loss, 1e-5, 2),
    "palm continuation": (palm_continuation_loss, 1e-5, 2),
}


def rows_of(batch: Batch, text: Any, name: str) -> list[tuple[list[int], list[int], list[int]]]:
    """Of each row the text, what the encoder is shown, and the places that are hidden there."""
    source = batch.source or batch
    column = batch.labels[name].index % batch.tokens.shape[1]
    row = batch.labels[name].index // batch.tokens.shape[1]
    place = column if batch.source is None or batch.position is None else batch.position[row, column] + 1
    return [
        (text.tokens[number, :size].tolist(), source.tokens[number, :size].tolist(), place[row == number].tolist())
        for number, size in enumerate(text.length.tolist())
    ]


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_the_papers(case: str, miniature: Any, reader_for: Any, built: Any, on_cpu: Any) -> None:
    loss_of, epsilon, offset = CASES[case]
    family, name = case.split()
    recipe = miniature(family)
    recipe = replace(recipe, assembly=replace(recipe.assembly, depth=1))  # the two sides may differ
    kind = next(kind for kind in recipe.kinds if kind.name == name)
    reader = reader_for(recipe, kind=kind)
    plan, _ = reader.plan(0)
    by_length = np.argsort(plan.end[:, 0] - plan.start[:, 0])
    index = by_length[np.linspace(0, len(by_length) - 1, 6).astype(int)]  # the shortest row, the longest and some between
    text = gather(reader.store, plan, index, reader.frame, reader.special)
    assert len(set(text.length.tolist())) > 3  # so that there is padding
    batch = reader.collator(text, Draws(seed=0, epoch=0, index=index))
    model = built(recipe, vocabulary=reader.tokenizer.size)
    weights = dict(model.named_parameters())
    found = model.head(name).loss(model.token_states(on_cpu(batch)), on_cpu(batch).labels[name])

    oracle = Oracle(weights=weights, heads=recipe.transformer.heads, epsilon=epsilon, offset=offset)
    rows = rows_of(batch, text, name)
    expected = sum((loss_of(oracle, *row) for row in rows), torch.zeros(()).double())
    assert found.total.item() == pytest.approx(expected.item(), rel=TOLERANCE)
    ours, theirs = (torch.autograd.grad(total, list(weights.values()), allow_unused=True) for total in (found.total, expected))
    for mine, their in zip(ours, theirs, strict=True):
        assert (mine is None) == (their is None)
        if mine is not None:
            torch.testing.assert_close(mine, their, rtol=0.0, atol=TOLERANCE * max(1.0, float(their.abs().max())))


def test_mass_shows_what_it_does_not_hide(miniature: Any, reader_for: Any) -> None:
    """The rows that the oracle is given: one span, half of the row, the rest as in the text, and now and then the end of it."""
    reader = reader_for(miniature("mass"), rows=64)
    plan, batches = reader.plan(0)
    text = gather(reader.store, plan, batches[0], reader.frame, reader.special)
    batch = reader.collator(text, Draws(seed=0, epoch=0, index=batches[0]))
    ends = 0
    for tokens, shown, hidden in rows_of(batch, text, "masked_seq2seq"):
        assert hidden == list(range(hidden[0], hidden[0] + round(len(tokens) / 2))) and hidden[0] > 0
        assert all(np.array(shown)[[place not in hidden for place in range(len(tokens))]] == np.delete(tokens, hidden))
        ends += hidden[-1] == len(tokens) - 1
    assert 0.1 < ends / 64 < 0.5
