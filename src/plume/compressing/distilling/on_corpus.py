"""A model that is not tuned teaches on plain text: one pre-training run of the student, from where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plume.compressing.distilling.comparisons import DistilLoss
from plume.compressing.distilling.language_model import DistilPretraining
from plume.compressing.job import CompressionJob
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.checkpoint import read_recipe
from plume.model.recipe import Recipe
from plume.train import pretrain, runs
from plume.train.budget import Budget
from plume.train.continuing.recipe import continuing_recipe

_BUDGET = "10m"  # as plume pretrain has it


def distil_on_corpus(job: CompressionJob, student: Path, comparisons: Sequence[DistilLoss], *, trained: bool) -> str | None:
    """`trained`: the student has weights that know something, and goes on at a rate for that."""
    made = job.settings
    if not made.text:
        raise PlumeError(f"{job.source} is not tuned for a task: it teaches on plain text. Give some with --text FILE, or tune it first.")
    if made.epochs is not None:
        raise PlumeError("A language model is distilled on its corpus for a --budget, such as 10m or 5e6tokens: leave out --epochs.")
    settings = DistilPretraining(
        recipe=_recipe(job, student, trained), corpus=made.text, initial=str(student), budget=Budget.parse(made.budget or _BUDGET),
        seed=made.seed, teacher=str(job.source), comparisons=tuple(comparisons),
    )  # fmt: skip
    job.save()
    return pretrain.begin_fresh(settings, job.folder, quiet=job.quiet).outcome.stopped_by


def _recipe(job: CompressionJob, student: Path, trained: bool) -> Recipe:
    made = job.settings
    recipe = read_recipe(student)
    recipe = replace(continuing_recipe(recipe) if trained else recipe, warm_start=None)
    asked = {"batch": made.batch, "peak": made.rate, "length": made.length}
    recipe = replace(recipe, training=replace(recipe.training, **{name: value for name, value in asked.items() if value is not None}))
    for assignment in made.overrides:
        recipe = recipe.override(f"training.{assignment}")
    return recipe


def go_on(job: CompressionJob) -> str | None:
    """With a run that was stopped."""
    return runs.go_on(job.folder, budget=None, quiet=job.quiet)
