"""LAMB against a page of numpy, Adafactor against transformers' own, Muon against torch's; all through checkpoints, and on a real loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.model.optimizers.adafactor import Adafactor
from plume.model.optimizers.adamw import AdamW
from plume.model.optimizers.lamb import LAMB
from plume.model.optimizers.muon import Muon, orthogonalised
from plume.model.optimizers.optimizer import Optimizer
from plume.model.recipe import Training
from plume.recipes import _catalog as catalog
from plume.train.checkpoint import Position, checkpoints, load_checkpoint, save_checkpoint
from plume.train.optimizer import make_optimizer, set_rate

STEPS = 6
SHAPES = {"matrix": (130, 140), "narrow": (5, 200), "vector": (7,), "zero": (3, 3)}


def network(seed: int = 0) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    module = nn.Module()
    for name, shape in SHAPES.items():
        value = torch.randn(shape, generator=generator, dtype=torch.float64) * (name != "zero")
        module.register_parameter(name, nn.Parameter(value))
    return module


def gradients(step: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(100 + step)
    return {name: torch.randn(shape, generator=generator, dtype=torch.float64) * 3.0**-step for name, shape in SHAPES.items()}


def run(training: Training) -> dict[str, np.ndarray]:
    """The weights after some steps whose rate and gradients shrink."""
    module = network()
    optimizer = make_optimizer(module, training)
    for step in range(STEPS):
        for name, gradient in gradients(step).items():
            module.get_parameter(name).grad = gradient
        set_rate(optimizer, training.peak / (1 + step), 0.0)
        optimizer.step()
    return {name: value.detach().numpy() for name, value in module.named_parameters()}


def test_lamb_is_that_of_its_authors() -> None:
    """lamb_optimizer.py of ALBERT: Adam's step without correction, decay added, then as long as the weights are large; vectors by Adam alone."""
    training = Training(optimizer=LAMB(), peak=0.05, beta1=0.8, beta2=0.95, epsilon=1e-3, decay=0.1)
    found = run(training)
    for name, start in network().named_parameters():
        weight, matrix = start.detach().numpy().copy(), len(SHAPES[name]) == 2
        mean, square = np.zeros_like(weight), np.zeros_like(weight)
        for step in range(STEPS):
            gradient = gradients(step)[name].numpy()
            mean, square = 0.8 * mean + 0.2 * gradient, 0.95 * square + 0.05 * gradient**2
            update = mean / (np.sqrt(square) + 1e-3) + (0.1 * weight if matrix else 0)
            size, length = np.sqrt((weight**2).sum()), np.sqrt((update**2).sum())
            ratio = size / length if matrix and size > 0 and length > 0 else 1.0
            weight = weight - 0.05 / (1 + step) * ratio * update
        np.testing.assert_allclose(found[name], weight, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_adafactor_is_transformers_own(clip: float) -> None:
    """Matrices with two sides of 128 or more are factored, as T5 and PEGASUS ran it; transformers factors all, so the others are numpy's."""
    found = run(Training(optimizer=Adafactor(clip=clip), peak=0.05, decay=0.0))
    theirs = network()
    optimizer = transformers.Adafactor(theirs.parameters(), lr=0.05, scale_parameter=True, relative_step=False, clip_threshold=clip)
    for step in range(STEPS):
        for name, gradient in gradients(step).items():
            theirs.get_parameter(name).grad = gradient.clone()
        optimizer.param_groups[0]["lr"] = 0.05 / (1 + step)
        optimizer.step()
    for name in ("matrix", "vector"):
        np.testing.assert_allclose(found[name], theirs.get_parameter(name).detach().numpy(), rtol=1e-9, atol=2e-9)
    for name in ("narrow", "zero"):
        weight, square = network().get_parameter(name).detach().numpy(), 0.0
        for step in range(STEPS):
            gradient, decay = gradients(step)[name].numpy(), 1 - (step + 1) ** -0.8
            square = decay * square + (1 - decay) * (gradient**2 + 1e-30)
            update = gradient / np.sqrt(square)
            update /= max(1, np.sqrt((update**2).mean()) / clip)
            weight = weight - 0.05 / (1 + step) * max(1e-3, np.sqrt((weight**2).mean())) * update
        np.testing.assert_allclose(found[name], weight, rtol=1e-6)


def test_adafactor_keeps_a_row_and_a_column() -> None:
    module = network()
    optimizer = make_optimizer(module, Training(optimizer=Adafactor()))
    for name, gradient in gradients(0).items():
        module.get_parameter(name).grad = gradient
    optimizer.step()
    shapes = {
        name: {key: tuple(value.shape) for key, value in optimizer.state[parameter].items()}
        for name, parameter in module.named_parameters()
    }
    assert shapes["matrix"] == {"step": (), "rows": (130,), "columns": (140,)}
    assert shapes["narrow"] == {"step": (), "exp_avg_sq": (5, 200)}


@pytest.mark.parametrize("wrong", [{"exponent": 0.0}, {"exponent": 1.5}, {"clip": 0.0}])
def test_adafactor_s_numbers_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(PlumeError, match="an exponent above 0 and up to 1, a clip above 0"):
        Adafactor(**wrong)


@pytest.mark.parametrize(("optimizer", "peak"), [(LAMB(), 0.02), (Adafactor(), 0.05), (AdamW(), 0.003), (Muon(), 0.003)])
def test_it_learns_and_goes_on_from_a_checkpoint(
    optimizer: Optimizer, peak: float, tmp_path: Path, miniature: Any, reader_for: Any, batch_of: Any, on_cpu: Any
) -> None:
    """One batch by heart; a run that is saved half-way ends with the same bits."""
    recipe = miniature("bert", width=128, depth=1)
    recipe = replace(recipe, training=replace(recipe.training, optimizer=optimizer, peak=peak))
    reader = reader_for(recipe)
    batch, vocabulary = on_cpu(batch_of(reader)), reader.tokenizer.size

    def steps(model: Any, chosen: torch.optim.Optimizer, count: int) -> list[float]:
        found = []
        for _ in range(count):
            loss, _ = model(batch, {name: torch.tensor(1.0 / n) for name, n in model.counts(batch).items()})
            loss.backward()
            chosen.step()
            chosen.zero_grad()
            found.append(float(loss.detach()))
        return found

    def fresh() -> tuple[Any, torch.optim.Optimizer]:
        model = recipe.assembly.build(recipe, vocabulary=vocabulary)
        model.initialise(1)
        return model, make_optimizer(model, recipe.training)

    whole, chosen = fresh()
    first = steps(whole, chosen, 8)
    save_checkpoint(tmp_path, whole, chosen, Position(), write=True)
    rest = steps(whole, chosen, 12)
    assert rest[-1] < 0.6 * first[0]
    resumed, again = fresh()
    load_checkpoint(checkpoints(tmp_path)[-1], resumed, again)
    assert steps(resumed, again, 12) == rest
    for (name, ours), theirs in zip(whole.named_parameters(), resumed.parameters(), strict=True):
        assert torch.equal(ours, theirs), name


def in_blocks(seed: int) -> nn.Module:
    """A matrix of a block, wide and tall, and parameters that are none."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"inner": (48, 12), "outer": (12, 48), "query": (12, 12), "key": (12, 12)}
    block = nn.ModuleDict({name: nn.Linear(shape[1], shape[0]) for name, shape in shapes.items()})
    module = nn.Module()
    module.add_module("blocks", nn.ModuleList([block]))
    module.add_module("token", nn.Embedding(9, 12))
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return module


def test_muon_is_torch_s_for_the_blocks_and_adamw_for_the_rest() -> None:
    """torch's own works in bfloat16, hence the tolerance; what is no matrix of a block moves as by AdamW alone, to the bit."""
    training = Training(optimizer=Muon(factor=4.0), peak=0.01, decay=0.1)
    ours, theirs, plain = (in_blocks(0) for _ in range(3))
    matrices = [value for name, value in theirs.named_parameters() if name.startswith("blocks.") and value.ndim == 2]
    chosen = make_optimizer(ours, training)
    oracle = torch.optim.Muon(matrices, lr=0.04, weight_decay=0.0)
    adamw = make_optimizer(plain, replace(training, optimizer=AdamW()))
    for step in range(3):
        gradients = [value.detach().clone() for value in in_blocks(step + 1).parameters()]
        for module, optimizer in ((ours, chosen), (theirs, oracle), (plain, adamw)):
            for parameter, gradient in zip(module.parameters(), gradients, strict=True):
                parameter.grad = gradient.clone()
            optimizer.step()
    for (name, mine), other, adam in zip(ours.named_parameters(), theirs.parameters(), plain.parameters(), strict=True):
        if name.startswith("blocks.") and mine.ndim == 2:
            begun = dict(in_blocks(0).named_parameters())[name]
            assert torch.nn.functional.cosine_similarity((mine - begun).flatten(), (other - begun).flatten(), dim=0) > 0.999, name
            assert torch.allclose(mine, other, atol=0.01), name
        else:
            assert torch.equal(mine, adam), name


def test_orthogonalised_keeps_directions_and_evens_out_their_strength() -> None:
    matrices = torch.randn(3, 20, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    made = orthogonalised(matrices, 5)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    strength = torch.diagonal(left.mT @ made @ right.mT, dim1=1, dim2=2)
    assert strength.min() > 0.6 and strength.max() < 1.3
    rest = left.mT @ made @ right.mT - torch.diag_embed(strength)
    assert rest.abs().max() < 1e-9


@pytest.mark.parametrize("wrong", [{"factor": 0.0}, {"momentum": 1.0}, {"iterations": 0}, {"decay": -1.0}])
def test_muon_s_numbers_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(PlumeError, match="momentum from 0 to below 1"):
        Muon(**wrong)  # type: ignore[arg-type]


def test_published_sizes_have_their_paper_s_optimizer_and_small_ones_muon() -> None:
    own = {"albert": LAMB, "nezha": LAMB, "t5": Adafactor, "pegasus": Adafactor}
    for family in catalog.networks():
        for size, recipe in catalog.sizes(family).items():
            small = size in ("tiny", "mini", "small") and not recipe.recurrent
            assert type(recipe.training.optimizer) is (Muon if small else own.get(family, AdamW)), f"{family}/{size}"
    t5 = catalog.recipe("t5").training
    for step in (1, 9_999, 40_000, 524_288):  # §3.1.2
        assert t5.peak * t5.schedule.factor(step / 524_288) == pytest.approx(max(step, 10_000) ** -0.5, rel=2e-3)


def test_a_recipe_of_before_there_was_a_choice_is_read() -> None:
    written = Training(peak=0.3).to_json()
    del written["optimizer"]
    assert part_from_json(written) == Training(peak=0.3)
    assert Training().override("optimizer=LAMB()").optimizer == LAMB()
