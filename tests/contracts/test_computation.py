"""What a family computes, for each of its kinds of batch: only what is read, as many products as it says, and every parameter learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch
from plume.recipes import _catalog as catalog

# torch counts a product and sum, but not where it is made in place, as the recurrent layers do.
IN_PLACE = {
    torch.ops.aten.baddbmm_: lambda into, left, right, *_, **__: 2 * left[0] * left[1] * left[2] * right[2],
    torch.ops.aten.addmm_: lambda into, left, right, *_, **__: 2 * left[0] * left[1] * right[1],
}
every_family = pytest.mark.parametrize("family", catalog.networks())


def most_read(batch: Batch) -> int:
    """The most positions of a row that labels ask about."""
    rows, time = batch.tokens.shape
    asked = np.concatenate([np.concatenate([target.index, *(() if target.context is None else target.context.T)])
                            for target in batch.labels.values()])  # fmt: skip
    return int(np.bincount(np.unique(asked) // time, minlength=rows).max())


@every_family
def test_reading_some_positions_changes_no_loss_and_no_gradient(
    family: str, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any, weighed: Any
) -> None:
    recipe = miniature(family)
    for (kind, narrow), (_, whole) in zip(kinds_of(recipe), kinds_of(recipe, narrow=False), strict=True):
        if kind.noise.target.streams:  # the query stream is only where it is read
            continue
        found = []
        for reader in (narrow, whole):
            model = built(recipe, vocabulary=reader.tokenizer.size).train()
            made = batch_of(reader, 1)
            torch.manual_seed(1)
            loss, losses = weighed(model, kind, on_cpu(made))
            loss.backward()
            found.append((losses, [parameter.grad for parameter in model.parameters()], made))
        (ours, our_gradients, few), (theirs, their_gradients, all_of_it) = found
        assert (few.read is not None) == (most_read(all_of_it) <= few.tokens.shape[1] // 2)
        for name in theirs:
            assert float((ours[name].total - theirs[name].total).detach().abs()) < 1e-9
            assert int(ours[name].count) == int(theirs[name].count)
        for mine, yours in zip(our_gradients, their_gradients, strict=True):
            assert (mine is None) == (yours is None)
            assert mine is None or float((mine - yours).abs().max()) < 1e-9


@every_family
@pytest.mark.parametrize("narrow", [True, False], ids=["narrow", "whole"])
def test_flops_are_those_that_torch_counts(
    family: str, narrow: bool, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any, weighed: Any
) -> None:
    """Forward and backward, every product that ran, to the last one; in the second batch of a stream with the memory of the first."""
    recipe = miniature(family)
    for kind, reader in kinds_of(recipe, narrow=narrow):
        model = built(recipe, vocabulary=reader.tokenizer.size).train()
        for step in range(2 if recipe.memory is not None else 1):
            batch = on_cpu(batch_of(reader, step))
            said = model.flops(batch)
            with FlopCounterMode(display=False, custom_mapping=IN_PLACE) as counter:
                weighed(model, kind, batch)[0].backward()
            assert said == counter.get_total_flops(), f"{kind.name}, step {step}"


@pytest.mark.parametrize("family", [family for family in catalog.networks() if family != "elmo"])  # whose words have no table
def test_flops_of_a_narrow_token_table(
    family: str, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any, weighed: Any
) -> None:
    recipe = miniature(family).override("embedding.factorised=4")
    for kind, reader in kinds_of(recipe, rows=2):
        model = built(recipe, vocabulary=reader.tokenizer.size).train()
        batch = on_cpu(batch_of(reader))
        with FlopCounterMode(display=False, custom_mapping=IN_PLACE) as counter:
            weighed(model, kind, batch)[0].backward()
        assert model.flops(batch) == counter.get_total_flops(), kind.name


@every_family
def test_counts_are_known_before_the_network_runs(
    family: str, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any
) -> None:
    recipe = miniature(family)
    for kind, reader in kinds_of(recipe):
        batch = on_cpu(batch_of(reader))
        model = built(recipe, vocabulary=reader.tokenizer.size)
        assert model.counts(batch) == {name: int(loss.count) for name, loss in model.losses(batch).items()}
        assert set(model.counts(batch)) == {objective.name for objective in kind.objectives}


@every_family
def test_every_parameter_learns(family: str, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any, weighed: Any) -> None:
    recipe = miniature(family)
    readers = kinds_of(recipe)
    model = built(recipe, vocabulary=readers[0][1].tokenizer.size).train()
    for kind, reader in readers:
        for step in range(min(3, len(reader.plan(0)[1]))):
            weighed(model, kind, on_cpu(batch_of(reader, step)))[0].backward()
    learning = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    still = [name for name, parameter in learning if parameter.grad is None or float(parameter.grad.abs().max()) == 0.0]
    # A bias of the keys moves all scores of a query alike, which the softmax does not notice.
    assert [name for name in still if not name.endswith("key.bias")] == []
