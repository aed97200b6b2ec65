"""The run bracket takes any Trainable: here a student that learns from a teacher which is not saved, with a queue that it carries from step to
step and a teacher that is moved between steps. What is left on disk is the student, as a model directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.heads.head import Loss
from plume.model.build import build
from plume.model.checkpoint import load_model, read_weights, save_recipe
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.trainable import Trainable
from plume.train.budget import Budget
from plume.train.checkpoint import checkpoints
from plume.train.fit import begin, fit
from plume.train.loop import Outcome, TrainingPlan
from plume.train.settings import Settings


class Distillation(Trainable):
    """Hidden states of the student against the teacher's; the mean state of the last steps is a queue; the teacher follows slowly."""

    def __init__(self, student: Model, teacher: Model) -> None:
        super().__init__()
        self.student, self.teacher = student, teacher.requires_grad_(False)
        self.memories = {}
        self.queue = torch.zeros(4, student.width)
        self.steps_seen: list[int] = []

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        return self.student.named_parameters()

    def carried(self) -> dict[str, Tensor]:
        return {"queue": self.queue}

    def carry_on(self, carried: dict[str, Tensor]) -> None:
        self.queue = carried["queue"]

    def after_step(self, steps: int) -> None:
        self.steps_seen.append(steps)
        with torch.no_grad():
            for mine, other in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
                mine.lerp_(other, 0.1)

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"hidden": batch.tokens.size}

    def flops(self, batch: Batch) -> int:
        return 1

    def losses(self, batch: Batch) -> dict[str, Loss]:
        ours, theirs = self.student.encode(batch).last, self.teacher.encode(batch).last
        apart = (ours - theirs).square().sum() + 0.01 * (ours.mean((0, 1)) - self.queue.mean(0)).square().sum()
        self.queue = torch.cat([self.queue[1:], ours.detach().mean((0, 1))[None]])
        return {"hidden": Loss(total=apart, count=ours.shape[0] * ours.shape[1])}


class Run:
    """A run of so many steps, from the beginning or from where it stopped."""

    def __init__(self, recipe: Recipe, mixture_for: Any, tokenizer: Any, folder: Path) -> None:
        self.recipe, self.mixture_for, self.tokenizer, self.folder = recipe, mixture_for, tokenizer, folder

    def go(self, steps: int, *, fresh: bool, stop: int | None = None) -> tuple[Distillation, Outcome]:
        made = [build(self.recipe, vocabulary=self.tokenizer.size, seed=seed) for seed in (1, 2)]
        model = Distillation(*made)
        settings = Settings(
            recipe=self.recipe, corpus=("x",), budget=Budget(unit="steps", amount=steps), save_every=Budget(unit="steps", amount=1)
        )

        def write() -> None:
            save_recipe(self.folder, self.recipe)
            self.tokenizer.save(self.folder / "tokenizer.json")

        outcome = fit(
            model, self.mixture_for(self.recipe), plan=TrainingPlan(training=self.recipe.training, weights=[{}], during=[(0.0, 1.0)]),
            settings=settings, folder=self.folder, processes=begin(settings), fingerprint={}, write=write, measure=lambda _: {},
            enough=lambda: stop is not None and len(model.steps_seen) >= stop, fresh=fresh, quiet=True,
        )  # fmt: skip
        return model, outcome


@pytest.fixture
def run(miniature: Any, mixture_for: Any, tokenizer_for: Any, tmp_path: Path) -> Any:
    recipe = miniature("bert", width=16, rows=4)
    return lambda name: Run(recipe, mixture_for, tokenizer_for(recipe), tmp_path / name)


def test_what_is_left_is_the_student_and_no_teacher(run: Any) -> None:
    one = run("whole")
    model, outcome = one.go(3, fresh=True)
    assert outcome.position.spent.steps == 3 and model.steps_seen == [1, 2, 3]
    saved = read_weights(one.folder / "model.safetensors")
    assert saved.keys() == dict(model.student.named_parameters()).keys()
    loaded, _ = load_model(one.folder)
    for (name, mine), (_, theirs) in zip(loaded.named_parameters(), model.student.named_parameters(), strict=True):
        assert torch.equal(mine, theirs), name
    moments = read_weights(checkpoints(one.folder)[-1] / "optimiser.safetensors")
    assert not any("teacher" in name for name in moments) and any(name.startswith("embedding.token") for name in moments)


def test_the_student_moves_towards_its_teacher(run: Any) -> None:
    """And the teacher's own weights move by what `after_step` does alone: they have no optimizer."""
    model, _ = run("moves").go(1, fresh=True)
    fresh = build(model.student.recipe, vocabulary=model.student.vocabulary, seed=2)
    for name, mine in model.teacher.named_parameters():
        before, student = dict(fresh.named_parameters())[name], dict(model.student.named_parameters())[name]
        torch.testing.assert_close(mine, before.lerp(student, 0.1), msg=name)


def test_what_is_carried_is_there_again(run: Any) -> None:
    one = run("cut")
    stopped, _ = one.go(6, fresh=True, stop=3)
    assert not torch.equal(stopped.queue, torch.zeros_like(stopped.queue))
    resumed, outcome = one.go(3, fresh=False)  # nothing is left to do: what is there was read
    assert outcome.position.spent.steps == 3 and torch.equal(resumed.queue, stopped.queue)
