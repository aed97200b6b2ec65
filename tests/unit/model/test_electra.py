"""ELECTRA's two networks: what is pasted, what is asked, and what learns from what."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from plume.core.batch import Batch
from plume.core.part import replace
from plume.data.loader import Cursor
from plume.model.networks.electra import Electra

DETECTION, MASKED = "replaced_token_detection", "masked_lm"


@pytest.fixture(scope="module")
def recipe(miniature: Any) -> Any:
    return miniature("electra")


@pytest.fixture(scope="module")
def reader(recipe: Any, reader_for: Any) -> Any:
    return reader_for(recipe)


@pytest.fixture
def model(recipe: Any, reader: Any, built: Any) -> Electra:
    return built(recipe, vocabulary=reader.tokenizer.size).train()


@pytest.fixture(scope="module")
def batch(reader: Any, on_cpu: Any) -> Batch:
    """A padded one."""
    found = next(made for step in range(20) if (made := reader.batch(Cursor(step=step))).length is not None)
    return on_cpu(found)


def original(batch: Batch) -> torch.Tensor:
    target = batch.labels[MASKED]
    return batch.tokens.flatten().scatter(0, target.index, target.value).view_as(batch.tokens)


@pytest.fixture
def judged(model: Electra, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """What the discriminator is shown when every second sample hits the original and the others are token 7."""
    value = batch.labels[MASKED].value
    samples = torch.where(torch.arange(len(value)) % 2 == 0, value, 7)
    seen: list[Batch] = []
    encode = model.encode
    monkeypatch.setattr("plume.model.networks.electra.sample", lambda head, hidden: samples)
    monkeypatch.setattr(model, "encode", lambda made: (seen.append(made), encode(made))[1])
    model.losses(batch)
    (only,) = seen
    return only


def test_samples_stand_where_tokens_were_hidden(judged: Batch, batch: Batch) -> None:
    target = batch.labels[MASKED]
    expected = original(batch).flatten()
    expected[target.index[1::2]] = 7
    assert torch.equal(judged.tokens.flatten(), expected)
    assert judged.read is None


def test_a_sample_that_hits_the_original_counts_as_original(judged: Batch, batch: Batch) -> None:
    answers = judged.labels[DETECTION]
    changed = (judged.tokens != original(batch)).flatten()[answers.index]
    assert torch.equal(answers.value, changed.long())
    assert 0 < int(answers.value.sum()) <= len(batch.labels[MASKED].value) // 2


def test_every_token_but_padding_is_judged(judged: Batch, batch: Batch) -> None:
    inside = torch.arange(batch.tokens.shape[1]) < batch.length[:, None]
    assert torch.equal(judged.labels[DETECTION].index, inside.flatten().nonzero().squeeze(1))


def test_the_generator_learns_nothing_from_the_discriminator(model: Electra, batch: Batch) -> None:
    torch.manual_seed(0)
    model.losses(batch)[DETECTION].total.backward()
    own = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is not None and name.startswith(("generator.", f"heads.{MASKED}"))
    ]
    assert own == []
    assert float(model.embedding.token.weight.grad.abs().max()) > 0
    assert all(parameter.grad is not None for parameter in model.stack.parameters())


def test_the_discriminator_s_body_learns_nothing_from_the_generator(model: Electra, batch: Batch) -> None:
    torch.manual_seed(0)
    model.losses(batch)[MASKED].total.backward()
    assert all(parameter.grad is None for parameter in [*model.stack.parameters(), *model.head(DETECTION).parameters()])
    assert all(parameter.grad is not None for parameter in model.generator.parameters())


def test_embeddings_are_shared_and_owned_once(model: Electra) -> None:
    assert model.head(MASKED).token is model.embedding.token
    tables = [name for name, parameter in model.named_parameters() if parameter.shape == model.embedding.token.weight.shape]
    assert tables == ["embedding.token.weight"]


def test_the_generator_is_a_fraction_as_wide_and_as_deep(recipe: Any, model: Electra) -> None:
    part = model.generator.part
    fraction = recipe.assembly.fraction
    assert part.depth == recipe.network.depth
    assert part.width == round(recipe.network.width * fraction)
    assert part.feed_forward == round(recipe.network.feed_forward * fraction)


def test_pruning_the_discriminator_leaves_the_generator_whole(recipe: Any) -> None:
    pruned = replace(recipe.network, pruned=((0,), (1, 2)))
    assert recipe.assembly.generator(pruned).pruned == ()


def test_samples_repeat_with_the_seed(model: Electra, batch: Batch) -> None:
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(float(model.losses(batch)[DETECTION].total.detach()))
    assert found[0] == found[1] != found[2]


def test_the_detector_weighs_fifty(recipe: Any) -> None:
    assert {objective.name: objective.weight for objective in recipe.objectives} == {MASKED: 1.0, DETECTION: 50.0}
