"""Records of single runs, from their directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.lineup import overrides_for
from plume.comparing.measuring.sizes import disk, parameters
from plume.comparing.results import CurvePoint, ModelRecord, Origin, PredictionSpeed, PretrainRecord, RecipeDifference, ScoreRecord, Status
from plume.comparing.study import Study
from plume.core.files import read_json
from plume.core.part import describe, differences
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.static.recipe import StaticRecipe
from plume.train.evaluate import learned_context
from plume.train.metrics import read_metrics
from plume.train.pretrain import OUTCOME
from plume.train.settings import with_changes
from plume.tuning.linear.recipe import TermRecipe

_HELD_OUT = "held_out/"
_TOLD = ("name", "title", "paper", "size")  # differences that say nothing of the method


def model_record(folder: Path, study: Study, entrant: Entrant, cells: Sequence[Cell], states: Mapping[str, dict[str, Any]]) -> ModelRecord:
    """An entrant with what is known of it, as far as its cells are done."""
    own = [cell for cell in cells if cell.entrant == entrant.name]
    made = [cell for cell in own if cell.kind.makes and _done(states.get(cell.key))]
    tuned = [cell for cell in own if cell.kind is CellKind.TUNE and _done(states.get(cell.key))]
    trained = [cell for cell in made if cell.kind is CellKind.PRETRAIN and not entrant.from_scratch]
    outcomes = [_outcome(folder / cell.folder) for cell in trained]
    spent = outcomes[0]["spent"] if outcomes else {}
    recipe = entrant.declared
    parent, changes = parent_of(recipe, study) if entrant.origin is Origin.RECIPE else ("", ())
    return ModelRecord(
        name=entrant.name,
        family=recipe.name,
        size=recipe.size,
        title=recipe.title,
        paper=recipe.paper,
        control=entrant.control,
        parent=parent,
        differences=changes,
        parameters=_parameters(folder, entrant, made, tuned),
        flops_per_token=spent["flops"] / spent["tokens"] if spent.get("flops") and spent.get("tokens") else 0.0,
        disk=disk(folder / tuned[0].folder) if tuned else 0,
        tokenizer=describe(recipe.tokenizer) if isinstance(recipe, Recipe) else "words",
        origin=entrant.origin,
        source=entrant.source,
        continues=entrant.continues,
        mode=entrant.mode,
        made_from=entrant.made_from,
        direct=entrant.direct,
    )


def _parameters(folder: Path, entrant: Entrant, made: Sequence[Cell], tuned: Sequence[Cell]) -> int:
    """Of the model as it was made; of what is made for a task alone, with that task."""
    if not entrant.has_weights:
        return parameters(folder / tuned[0].folder) if tuned else 0
    if not made and entrant.cells(0):
        return 0
    return parameters(entrant.directory(folder, made[0].seed if made else 0))


def _done(state: Mapping[str, Any] | None) -> bool:
    return state is not None and state["status"] == Status.DONE


def parent_of(recipe: Recipe | StaticRecipe | TermRecipe, study: Study) -> tuple[str, tuple[RecipeDifference, ...]]:
    """The family that it was made from, at the same size, with what the study sets, and what differs."""
    if not isinstance(recipe, Recipe) or recipe.name not in catalog.families():
        return "", ()
    family = catalog.made_from(recipe.name)
    parent = catalog.sizes(family).get(recipe.size) if family else None
    if parent is None:
        return "", ()
    beside = with_changes(parent, overrides=overrides_for(parent, study))
    found = [one for one in differences(beside, recipe) if one.path not in _TOLD]
    return f"{family}/{recipe.size}", tuple(
        RecipeDifference(path=one.path, parent=describe(one.left), here=describe(one.right)) for one in found
    )


def _outcome(folder: Path) -> dict[str, Any]:
    return dict(read_json(folder / OUTCOME, "the figures of a finished run"))


def pretrain_record(folder: Path, cell: Cell, state: Mapping[str, Any] | None) -> PretrainRecord:
    """A run that made a model directory; of one that did not train, what it took."""
    if state is None or not _done(state):
        status, reason = (Status.WAITING, "") if state is None else (Status(state["status"]), state["reason"])
        return PretrainRecord(model=cell.entrant, seed=cell.seed, status=status, reason=reason)
    if cell.kind is not CellKind.PRETRAIN:
        took = state["seconds"]["pretraining"]
        return PretrainRecord(model=cell.entrant, seed=cell.seed, status=Status.DONE, seconds=took, peak_memory=state["peak_memory"])
    outcome = _outcome(folder / cell.folder)
    spent, trivial = outcome["spent"], outcome["trivial"]
    objective = next((name for name in trivial if name in outcome["held_out"]), "")
    return PretrainRecord(
        model=cell.entrant,
        seed=cell.seed,
        status=Status.DONE,
        steps=spent["steps"],
        tokens=spent["tokens"],
        flops=spent["flops"],
        seconds=spent["seconds"],
        peak_memory=state["peak_memory"],
        objective=objective,
        trivial=trivial.get(objective),
        curve=_curve(folder / cell.folder, objective),
        stuck=objective in trivial and not learned_context(outcome["held_out"][objective], trivial[objective]),
    )


def _curve(folder: Path, objective: str) -> tuple[CurvePoint, ...]:
    """Held-out losses; when each was taken is known from the line of training before it."""
    points, seconds = [], 0.0
    for line in read_metrics(folder):
        seconds = line.get("seconds", seconds)
        if (loss := line.get(_HELD_OUT + objective)) is not None:
            points.append(CurvePoint(tokens=line["tokens"], seconds=seconds, loss=loss))
    return tuple(points)


def score_record(folder: Path, cell: Cell, state: Mapping[str, Any] | None, metric: str, speed: PredictionSpeed | None) -> ScoreRecord:
    """A tuning run with its scores."""
    if state is None or not _done(state):
        status, reason = (Status.WAITING, "") if state is None else (Status(state["status"]), state["reason"])
        return ScoreRecord(model=cell.entrant, task=cell.task, seed=cell.seed, status=status, reason=reason)
    lines = read_metrics(folder / cell.folder)
    return ScoreRecord(
        model=cell.entrant,
        task=cell.task,
        seed=cell.seed,
        status=Status.DONE,
        scores=state["scores"],
        main=state["scores"][metric],
        steps=state["steps"],
        seconds=state["seconds"]["tuning"],
        peak_memory=state["peak_memory"],
        curve=tuple((line["step"], line[_HELD_OUT + metric]) for line in lines if _HELD_OUT + metric in line),
        speed=speed,
    )
