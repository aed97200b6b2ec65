"""A pruned network is the whole one with what is gone switched off, exactly, whatever the family; it saves, loads, and counts its products."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from plume.compressing.shrinking.units import Kept, with_units
from plume.core.errors import PlumeError
from plume.model.checkpoint import load_model, save_model, state_of
from plume.model.gating import GatedUnit, gated, open_gates, units_of
from plume.model.networks.model import Model
from plume.nn.stack import Sharing
from plume.recipes import _catalog as catalog

TRANSFORMERS = [family for family in catalog.networks() if not catalog.recipe(family).recurrent]
every_family = pytest.mark.parametrize("family", [family for family in TRANSFORMERS if catalog.recipe(family).sharing is Sharing.NONE])
every_unit = pytest.mark.parametrize("unit", list(GatedUnit), ids=lambda unit: unit.value)


def some_of(model: Model, unit: GatedUnit, seed: int = 0) -> Kept:
    """Unlike numbers in the layers, one at least, in order."""
    source = torch.Generator().manual_seed(seed)
    found = {}
    for number, (place, counts) in enumerate(units_of(model, unit).items()):
        shares = [1 + (2 * layer + number) % max(count - 1, 1) for layer, count in enumerate(counts)]
        found[place] = [
            torch.randperm(count, generator=source)[:share].sort()[0].tolist() for count, share in zip(counts, shares, strict=True)
        ]
    return found


def switched(model: Model, unit: GatedUnit, kept: Kept) -> Any:
    """The whole model with all others off."""
    gates = open_gates(model, unit)
    for place, layers in kept.items():
        for gate, stay in zip(gates[place], layers, strict=True):
            gate.zero_()
            gate[stay] = 1.0
    return gated(model, gates) if unit is GatedUnit.HEAD else gated(model, {}, neurons=gates)


def losses(model: Model, batches: list[Any], *, gradient: bool) -> list[torch.Tensor]:
    with torch.set_grad_enabled(gradient), torch.random.fork_rng(), model.fresh_memory():
        torch.manual_seed(0)  # what a generator draws
        return [loss.total.detach() for batch in batches for loss in model.losses(batch).values()]


@every_family
@every_unit
def test_pruned_is_masked(
    family: str, unit: GatedUnit, miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any, weighed: Any, tmp_path: Path
) -> None:
    recipe = miniature(family)
    readers = kinds_of(recipe)
    tokenizer = readers[0][1].tokenizer
    whole = built(recipe, vocabulary=tokenizer.size).eval()
    batches = [on_cpu(batch_of(reader, step)) for _, reader in readers for step in range(2 if recipe.memory is not None else 1)]
    kept = some_of(whole, unit)
    pruned = with_units(whole, unit, kept)
    assert sum(p.numel() for p in pruned.parameters()) < sum(p.numel() for p in whole.parameters())
    for gradient in (False, True):  # other kernels
        with switched(whole, unit, kept):
            expected = losses(whole, batches, gradient=gradient)
        for ours, theirs in zip(losses(pruned, batches, gradient=gradient), expected, strict=True):
            assert float((ours - theirs).abs()) < 1e-12 * max(1.0, float(theirs.abs())), family
    save_model(tmp_path / "model", pruned.float(), tokenizer)
    loaded, _ = load_model(tmp_path / "model")
    assert loaded.recipe == pruned.recipe
    assert all(torch.equal(value, state_of(loaded)[name]) for name, value in state_of(pruned).items())
    for ours, theirs in zip(losses(loaded, batches, gradient=False), losses(pruned, batches, gradient=False), strict=True):
        assert float(ours) == float(theirs)
    with FlopCounterMode(display=False) as counter:
        weighed(pruned.train(), readers[0][0], batches[0])[0].backward()
    pruned.memories = {}
    assert pruned.flops(batches[0]) == counter.get_total_flops()


@pytest.mark.parametrize("family", ["bert", "t5", "xlnet", "transformer-xl", "nezha"])
@every_unit
def test_pruned_twice_is_pruned_once(family: str, unit: GatedUnit, miniature: Any, built: Any) -> None:
    """What was taken out is told as the whole network counts it."""
    whole = built(miniature(family)).eval()
    first = {place: [[n for n in range(count) if n != 1] for count in counts] for place, counts in units_of(whole, unit).items()}
    second = {place: [[n for n in range(len(stay)) if n != 1] for stay in layers] for place, layers in first.items()}
    both = {place: [[stay[n] for n in again] for stay, again in zip(first[place], layers, strict=True)] for place, layers in second.items()}
    twice, once = with_units(with_units(whole, unit, first), unit, second), with_units(whole, unit, both)
    assert twice.recipe == once.recipe
    assert all(torch.equal(value, state_of(once)[name]) for name, value in state_of(twice).items())
    assert [one.kept for one in twice.modules() if hasattr(one, "kept") and isinstance(one.kept, dict)] == [
        one.kept for one in once.modules() if hasattr(one, "kept") and isinstance(one.kept, dict)
    ]


@pytest.mark.parametrize("family", [family for family in TRANSFORMERS if catalog.recipe(family).sharing is not Sharing.NONE])
@every_unit
def test_shared_blocks_are_refused(family: str, unit: GatedUnit, miniature: Any, built: Any) -> None:
    whole = built(miniature(family))
    with pytest.raises(PlumeError, match="share one"):
        with_units(whole, unit, some_of(whole, unit))


@pytest.mark.parametrize("family", ["ulmfit", "elmo", "cove"])
@every_unit
def test_recurrent_networks_are_refused(family: str, unit: GatedUnit, miniature: Any, built: Any) -> None:
    with pytest.raises(PlumeError, match="recurrent network"):
        with_units(built(miniature(family)), unit, {})
