"""Kinds of batch in the loop: stages follow one another, and a run that is cut anywhere, or with memory, ends as one that was not."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from plume.core.part import replace
from plume.data.layouts.streams import Streams
from plume.model.build import build
from plume.model.checkpoint import read_weights
from plume.model.memory import Memory
from plume.model.optimizers.adamw import AdamW
from plume.model.recipe import Recipe
from plume.objectives.masked_lm import masked_lm
from plume.train.budget import Budget, Spent
from plume.train.checkpoint import Position, checkpoints, load_checkpoint
from plume.train.device import Precision
from plume.train.distributed import Processes
from plume.train.evaluate import evaluate
from plume.train.loop import Loop
from plume.train.optimizer import make_optimizer
from plume.train.pretrain import plan_of
from plume.train.progress import Progress
from plume.train.settings import Settings

CPU = torch.device("cpu")


class Run:
    """A loop over the tests' corpus, and which kinds of batch its steps were."""

    def __init__(self, recipe: Recipe, folder: Path, mixture_for: Any, *, steps: int, **options: Any) -> None:
        self.mixture = mixture_for(recipe, seed=4)
        self.model = build(recipe, vocabulary=self.mixture.readers[0].tokenizer.size, seed=1)
        self.optimizer = make_optimizer(self.model, recipe.training)
        self.folder = folder
        budget = Budget(unit="steps", amount=steps)
        settings = Settings(recipe=recipe, corpus=("x",), budget=budget, seed=4, **{"measurements": 2} | options)
        held_out = mixture_for(recipe, seed=9, held_out=True, rows=8)
        self.loop = Loop(
            settings=settings, plan=plan_of(recipe), model=self.model, wrapped=self.model, optimizer=self.optimizer, mixture=self.mixture,
            measure=lambda _: evaluate(self.model, held_out, device=CPU, processes=Processes(CPU)),
            processes=Processes(CPU), precision=Precision.FP32, folder=folder,
            progress=Progress(budget=budget, entropy=5.0, trivial={}, quiet=True), log=None,
        )  # fmt: skip
        self.kinds: list[int] = []
        step = self.loop._step

        def noted(given: Any, *rest: Any, **more: Any) -> Position:
            self.kinds.append(given.kind)
            return step(given, *rest, **more)

        self.loop._step = noted  # type: ignore[method-assign]

    def go(self, position: Position | None = None) -> Position:
        return self.loop.run(position or Position(cursors=self.mixture.start())).position

    def resume(self) -> Position:
        return load_checkpoint(checkpoints(self.folder)[-1], self.model, self.optimizer)

    def weights(self) -> dict[str, torch.Tensor]:
        return read_weights(self.folder / "model.safetensors")


def equal(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(scope="module")
def staged(miniature: Any) -> Recipe:
    """Words first, then words and something else, then that alone."""
    bert = miniature("bert", width=16, rows=4)
    words, both = replace(masked_lm(), during=(0.0, 0.6)), replace(masked_lm(), name="second", during=(0.3, 1.0))
    return replace(bert, objectives=(words, both, bert.objectives[1]))


@pytest.fixture(scope="module")
def whole(staged: Recipe, mixture_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Not cut, with the kinds of its steps noted."""
    run = Run(staged, tmp_path_factory.mktemp("staged") / "whole", mixture_for, steps=20)
    run.go()
    return run


def test_each_stage_has_its_kinds(staged: Recipe, mixture_for: Any, tmp_path: Path) -> None:
    run = Run(staged, tmp_path / "run", mixture_for, steps=20)
    position = run.go()
    assert position.spent.steps == 20
    assert run.kinds[:6] == [0] * 6
    assert set(run.kinds[6:12]) == {0, 1}
    assert run.kinds[12:] == [1] * 8
    assert [run.mixture.kind(step, [0, 1]) for step in range(6, 12)] == run.kinds[6:12]
    taken = [
        cursor.step + cursor.epoch * len(reader.plan(0)[1]) for cursor, reader in zip(position.cursors, run.mixture.readers, strict=True)
    ]
    assert taken == [run.kinds.count(0), run.kinds.count(1)]


@pytest.mark.parametrize("cut", [3, 6, 8, 12, 15])
def test_a_run_cut_at_any_stage_ends_bit_equal(staged: Recipe, whole: Run, mixture_for: Any, tmp_path: Path, cut: int) -> None:
    """Before, at and after the bounds of the stages; workers that read ahead read nothing too much."""
    first = Run(staged, tmp_path / "cut", mixture_for, steps=20, save_every=Budget(unit="steps", amount=cut), workers=2)
    report = first.loop._report

    def killed(spent: Spent, *rest: Any, **more: Any) -> None:
        if spent.steps == cut + 1:
            raise RuntimeError("killed")
        report(spent, *rest, **more)

    first.loop._report = killed  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="killed"):
        first.go()
    second = Run(staged, tmp_path / "cut", mixture_for, steps=20)
    position = second.resume()
    assert position.spent.steps == cut
    second.go(position)
    assert second.kinds == whole.kinds[cut:]
    assert equal(second.weights(), whole.weights())


def test_the_optimizer_counts_the_steps_of_each_parameter(staged: Recipe, mixture_for: Any, tmp_path: Path) -> None:
    """A head that a stage leaves alone has taken fewer steps, and its moments are as they were."""
    staged = replace(staged, training=replace(staged.training, optimizer=AdamW()))
    run = Run(staged, tmp_path / "run", mixture_for, steps=20)
    run.go()
    steps = {name: int(run.optimizer.state[parameter]["step"]) for name, parameter in run.model.named_parameters()}
    assert steps["heads.masked_lm.dense.weight"] == run.kinds.count(0)
    assert steps["heads.second.dense.weight"] == run.kinds.count(1)
    assert steps["embedding.token.weight"] == 20
    again = Run(staged, tmp_path / "run", mixture_for, steps=20)
    again.resume()
    for name, parameter in again.model.named_parameters():
        held = again.optimizer.state[parameter]
        assert int(held["step"]) == steps[name]
        theirs = run.optimizer.state[dict(run.model.named_parameters())[name]]
        assert torch.equal(held["exp_avg"], theirs["exp_avg"])
        assert torch.equal(held["exp_avg_sq"], theirs["exp_avg_sq"])


@pytest.fixture
def remembering(miniature: Any) -> Recipe:
    gpt2 = miniature("gpt2", width=16, rows=4, length=16)
    return replace(gpt2, layout=Streams(), memory=Memory(length=12))


def test_memory_is_kept_with_the_checkpoint(remembering: Recipe, mixture_for: Any, tmp_path: Path) -> None:
    """Two parts of a batch have a memory each; without it a resumed run would go on otherwise."""
    first = Run(remembering, tmp_path / "run", mixture_for, steps=5, accumulate=2)
    first.go()
    assert sorted(first.model.memories) == [0, 1]
    assert [layer.shape for layer in first.model.memories[0]] == [(2, 12, 16)] * 2
    shutil.copytree(tmp_path / "run", tmp_path / "forgetful")
    ended = []
    for name in ("run", "forgetful"):
        longer = Run(remembering, tmp_path / name, mixture_for, steps=9, accumulate=2)
        position = longer.resume()
        for stream, layers in first.model.memories.items():
            assert all(torch.equal(one, other) for one, other in zip(layers, longer.model.memories[stream], strict=True))
        if name == "forgetful":
            longer.model.memories = {}
        longer.go(position)
        ended.append(longer.weights())
    assert not equal(*ended)


def test_a_run_with_memory_cut_in_two_ends_bit_equal(remembering: Recipe, mixture_for: Any, tmp_path: Path) -> None:
    whole = Run(remembering, tmp_path / "whole", mixture_for, steps=9)
    whole.go()
    first = Run(remembering, tmp_path / "cut", mixture_for, steps=9, save_every=Budget(unit="steps", amount=4))
    steps = itertools.count(1)
    step = first.loop._step

    def killed(*given: Any, **more: Any) -> Position:
        if next(steps) == 7:
            raise RuntimeError("killed")
        return step(*given, **more)

    first.loop._step = killed  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="killed"):
        first.go()
    second = Run(remembering, tmp_path / "cut", mixture_for, steps=9)
    second.go(second.resume())
    assert equal(second.weights(), whole.weights())


def test_measuring_leaves_the_memory_of_the_run_alone(remembering: Recipe, mixture_for: Any, tmp_path: Path) -> None:
    often = Run(remembering, tmp_path / "often", mixture_for, steps=6, measurements=6)
    once = Run(remembering, tmp_path / "once", mixture_for, steps=6, measurements=1)
    often.go()
    once.go()
    assert equal(often.weights(), once.weights())


def test_a_memory_ends_where_the_stream_begins_anew(remembering: Recipe, mixture_for: Any, batch_of: Any, on_cpu: Any) -> None:
    reader = mixture_for(remembering).readers[0]
    model = build(remembering, vocabulary=reader.tokenizer.size, seed=1).eval()
    start, following = on_cpu(batch_of(reader, 0)), on_cpu(batch_of(reader, 1))
    assert (start.begins, following.begins) == (True, False)
    with torch.no_grad():
        model.encode(start)
        remembered = model.encode(following).last
        fresh = model.encode(replace(following, begins=True)).last
        alone = model.encode(replace(following, stream=None)).last
    assert float((remembered - alone).abs().max()) > 1e-6
    assert torch.equal(fresh, alone)
