"""Who sees whom: change token j, and the output at i changes iff i may see j."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.data.loader import Cursor, Reader
from plume.model.kinds import BatchKind
from plume.model.recipe import Recipe
from plume.nn.visibility import ranks, visible
from plume.noise.appended import AppendedSpans
from plume.recipes import _catalog as catalog

TRANSFORMERS = [family for family in catalog.networks() if not catalog.recipe(family).recurrent]

every_family = pytest.mark.parametrize("family", catalog.networks())
both_paths = pytest.mark.parametrize("gradients", [True, False], ids=["training", "inference"])  # the plain and the fused path
TIME, VOCABULARY = 7, 60


def sighted_batches(recipe: Recipe) -> list[Batch]:
    """The family's own order, and every other that the one stack must serve, with padding and documents."""
    tokens = torch.randint(5, VOCABULARY, (1, TIME), generator=torch.Generator().manual_seed(1))
    rank = torch.tensor([[3, 0, 0, 2, 1, 1, 4]])
    document = torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    length = torch.tensor([5])
    order = recipe.noise.order if recipe.noise.order in (Order.FULL, Order.CAUSAL) else Order.FULL
    return [
        Batch(tokens=tokens, order=order),
        Batch(tokens=tokens, order=order, length=length),
        Batch(tokens=tokens, order=order, document=document),
        Batch(tokens=tokens, order=Order.CAUSAL),
        Batch(tokens=tokens, order=Order.RANKED, rank=rank),
        Batch(tokens=tokens, order=Order.RANKED, rank=rank, length=length, document=document),
    ]


def each_changed(tokens: Tensor) -> Tensor:
    """[1, T] to [T + 1, T]: row 0 as it is, row j + 1 with token j changed."""
    time = tokens.shape[1]
    changed = tokens.repeat(time + 1, 1)
    changed[torch.arange(time) + 1, torch.arange(time)] = VOCABULARY - 1 - (tokens[0] == VOCABULARY - 1).long()
    return changed


def repeated(batch: Batch, rows: int) -> Batch:
    return batch.map(lambda array: array.repeat(rows, *[1] * (array.ndim - 1)))


def moved(states: Tensor) -> Tensor:
    """[i, j]: does the output at i change with token j?"""
    return ((states[1:] - states[:1]).abs().amax(-1) > 1e-12).T


def text_of(batch: Batch) -> Tensor:
    """[T] false at padding."""
    time = batch.tokens.shape[1]
    return torch.arange(time) < (time if batch.length is None else int(batch.length))


@pytest.mark.parametrize("family", TRANSFORMERS)
@both_paths
def test_no_token_leaks(family: str, gradients: bool, miniature: Any, built: Any) -> None:
    recipe = miniature(family)
    model = built(recipe, vocabulary=VOCABULARY).eval()
    for batch in sighted_batches(recipe):
        many = replace(repeated(batch, TIME + 1), tokens=each_changed(batch.tokens))
        rank = ranks(batch)
        allowed = visible(query=rank, key=rank, query_document=batch.document, key_document=batch.document)[0]
        text = text_of(batch)
        for encode in (model.encode, model.token_states):
            with torch.set_grad_enabled(gradients):
                states = encode(many).last.detach()
            assert torch.equal(moved(states)[text], allowed[text]), f"{batch.order}, padded {batch.length is not None}"


# Batches as the noise makes them


def one_row(batch: Batch, row: int) -> Batch:
    return replace(batch, labels={}).map(lambda array: array[row : row + 1])


def own_sight(kind: BatchKind, batch: Batch) -> Tensor:
    """[i, j] from what the papers say of each kind, not from the ranks that the data side wrote."""
    steps = torch.arange(batch.tokens.shape[1])
    backward = steps[:, None] >= steps
    if kind.noise.target.decoder or kind.noise.order is Order.CAUSAL:
        allowed = backward
    elif kind.noise.order is Order.REVERSED:
        allowed = ~backward | torch.eye(len(steps), dtype=torch.bool)
    elif isinstance(kind.noise.target, AppendedSpans) or kind.noise.order is Order.PREFIX:
        # A first part that sees itself, and a second that sees the first and itself from left to right (GLM §2.1, UniLM §2.3).
        second = batch.within if isinstance(kind.noise.target, AppendedSpans) else batch.segment
        assert second is not None
        first = second[0] == 0 if isinstance(kind.noise.target, AppendedSpans) else second[0] == second[0, 0]
        allowed = first | (~first[:, None] & backward)
    elif kind.noise.target.streams:
        rank = ranks(batch)
        allowed = visible(query=rank, key=rank, until=batch.until)[0]
    else:
        allowed = torch.ones_like(backward)
    return allowed & text_of(batch)


def through(first: Tensor, second: Tensor) -> Tensor:
    """What is seen by way of what sees it: two blocks see further than one."""
    return (first.double() @ second.double()) > 0


def expected_sight(kind: BatchKind, batch: Batch) -> Tensor:
    """[outputs, j] after two blocks; a token always has its part in its own state."""
    own = own_sight(kind, batch) | torch.eye(batch.tokens.shape[1], dtype=torch.bool)
    if batch.read is None:
        return through(own, own)
    if not kind.noise.target.streams:
        return through(own, own)[batch.read[0]]
    rank = ranks(batch)
    strict = visible(query=rank.gather(1, batch.read), key=rank, until=batch.until, strict=True)[0]
    return through(strict, own)


@every_family
@both_paths
def test_real_batches_leak_nothing(family: str, gradients: bool, miniature: Any, built: Any, kinds_of: Any, on_cpu: Any) -> None:
    recipe = miniature(family, rows=4)
    for kind, reader in kinds_of(recipe):
        model = built(recipe, vocabulary=max(VOCABULARY, reader.tokenizer.size)).eval()
        batch = on_cpu(reader.batch(reader_cursor(reader)))
        for row in (0, 3):
            one = one_row(batch, row)
            many = replace(repeated(one, one.tokens.shape[1] + 1), tokens=each_changed(one.tokens))
            with torch.set_grad_enabled(gradients):
                states = model.token_states(many).last.detach()
            outputs = text_of(one) if one.read is None else read_in(batch, row)
            assert torch.equal(moved(states)[outputs], expected_sight(kind, one)[outputs]), kind.name


def read_in(batch: Batch, row: int) -> Tensor:
    """[M] false where `read` is only filled up: other rows have more to read."""
    assert batch.read is not None
    count = batch.read.shape[1]
    read = torch.zeros(batch.read.numel(), dtype=torch.bool)
    for target in batch.labels.values():
        read[target.slot] = True
    return read[row * count : (row + 1) * count]


def reader_cursor(reader: Reader) -> Cursor:
    """A batch whose rows differ in length, if there is one."""
    plan, batches = reader.plan(0)
    length = (plan.end - plan.start).sum(1)[batches]
    return Cursor(step=int((length.max(1) - length.min(1)).argmax()))


@every_family
@both_paths
def test_a_decoder_sees_its_whole_source_and_no_padding(
    family: str, gradients: bool, miniature: Any, built: Any, kinds_of: Any, on_cpu: Any
) -> None:
    recipe = miniature(family, rows=4)
    for kind, reader in kinds_of(recipe):
        if not kind.noise.target.decoder:
            continue
        model = built(recipe, vocabulary=max(VOCABULARY, reader.tokenizer.size)).eval()
        batch = on_cpu(reader.batch(reader_cursor(reader)))
        assert batch.source is not None
        lengths = batch.source.length
        row = 0 if lengths is None else int(lengths.argmin())
        one = one_row(batch, row)
        source = one.source
        assert source is not None
        many = repeated(one, source.tokens.shape[1] + 1)
        many = replace(many, source=replace(many.source, tokens=each_changed(source.tokens)))
        with torch.set_grad_enabled(gradients):
            states = model.token_states(many).last.detach()
        text = text_of(one) if one.read is None else read_in(batch, row)
        assert torch.equal(moved(states)[text], text_of(source).expand(int(text.sum()), -1)), kind.name


@every_family
def test_a_query_stream_never_sees_its_answer(family: str, miniature: Any, built: Any, kinds_of: Any, on_cpu: Any) -> None:
    """Wherever the answer stands among the tokens of the row, the prediction does not feel it; it does feel the rest of the text."""
    recipe = miniature(family, rows=4)
    for kind, reader in kinds_of(recipe):
        if not kind.noise.target.streams:
            continue
        model = built(recipe, vocabulary=max(VOCABULARY, reader.tokenizer.size)).eval()
        batch = on_cpu(reader.batch(reader_cursor(reader)))
        time = batch.tokens.shape[1]
        (target,) = [target for name, target in batch.labels.items()]
        assert target.slot is not None
        assert batch.read is not None
        assert torch.equal(batch.tokens.flatten()[target.index], target.value), "the content stream shows the answer"
        one = one_row(batch, 0)
        with torch.no_grad():
            states = model.token_states(replace(repeated(one, time + 1), tokens=each_changed(one.tokens))).last
        seen = moved(states)
        rank = ranks(one)[0]
        mine = target.index < time
        for place, slot in zip(target.index[mine].tolist(), target.slot[mine].tolist(), strict=True):
            assert not seen[slot, place]
            later = rank >= rank[place]
            assert not seen[slot][later].any()
            unhidden = (rank < rank[place]) if one.until is None else (rank < rank[place]) & (rank[place] <= one.until[0])
            assert seen[slot][unhidden].all()
            assert unhidden.sum() > 3
