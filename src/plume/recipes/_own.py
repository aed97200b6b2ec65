"""A user's own recipe: from a file, or by naming the objectives that a known one should have."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from plume.core import catalog
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.own_parts import named_file
from plume.core.part import part_from_json, replace
from plume.data.layouts.layout import SentencePairs
from plume.model.recipe import Recipe, unchecked
from plume.objectives._objective import Objective
from plume.static.recipe import StaticRecipe


def read_recipe_file(path: Path) -> Recipe | StaticRecipe:
    """A Python file that makes one recipe (or names it RECIPE), or a recipe.json. A Python file's own parts are named by it (`core/own_parts.py`)."""
    if not path.exists():
        raise PlumeError(f"There is no recipe file at {path}.")
    if path.suffix == ".json":
        made = part_from_json(read_json(path, "it should hold a recipe"))
        if not isinstance(made, Recipe | StaticRecipe):
            raise PlumeError(f"{path} holds no recipe.")
        return made
    return _storable(_only_recipe(vars(named_file(path)), path), path)


def _only_recipe(names: dict[str, object], path: Path) -> Recipe | StaticRecipe:
    chosen = names.get("RECIPE")
    if isinstance(chosen, Recipe | StaticRecipe):
        return chosen
    assigned = {
        target.id
        for statement in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    }  # a recipe that the file only imports is not its own
    found = {name: value for name, value in names.items() if isinstance(value, Recipe | StaticRecipe) and name in assigned}
    if len(found) != 1:
        listed = f"it has {', '.join(found)}" if found else "it has none"
        raise PlumeError(f"{path} should make one recipe, or name the one to train RECIPE = …; {listed}.")
    return next(iter(found.values()))


def _storable(recipe: Recipe | StaticRecipe, path: Path) -> Recipe | StaticRecipe:
    """What is made of it must open again: with plume's parts alone, or with the files that are named now."""
    try:
        part_from_json(recipe.to_json())
    except PlumeError as error:
        raise PlumeError(f"{path}: {error}") from None
    return recipe


def changed(recipe: Recipe, *, objectives: Sequence[str] = (), overrides: Sequence[str] = ()) -> Recipe:
    """The recipe with what --objective and --set say; it must make sense when all is said, not in between."""
    with unchecked():
        if objectives:
            recipe = with_objectives(recipe, objectives)
        for assignment in overrides:
            recipe = recipe.override(assignment)
    recipe.check()
    return recipe


def with_objectives(recipe: Recipe, wanted: Sequence[str]) -> Recipe:
    """The recipe trained on these objectives (`masked_lm=1`, `sentence_order=0.5`) instead of its own.

    One that the recipe has keeps its noise and head, and without a number its weight. Those with noise of their own take turns in
    proportion to their weights.
    """
    own = {objective.name: objective for objective in recipe.objectives}
    chosen = tuple(_weighted(word, own) for word in wanted)
    labels = {objective.pair_label for objective in chosen if objective.pair_label is not None}
    layout = recipe.layout
    if len(labels) == 1 and layout.label not in labels and all(objective.layout is None for objective in chosen):
        layout = SentencePairs(label=labels.pop())
    return replace(recipe, objectives=chosen, layout=layout)


def _weighted(word: str, own: dict[str, Objective]) -> Objective:
    name, _, number = word.partition("=")
    name = name.strip().replace("-", "_")
    try:
        weight = float(number) if number else None
    except ValueError:
        raise PlumeError(f"'--objective {word}': the weight after = is a number, as in masked_lm=1 or sentence_order=0.5.") from None
    if name in own:
        return own[name] if weight is None else replace(own[name], weight=weight)
    made = getattr(catalog.load("objectives", name.replace("_", "-")), name)()
    assert isinstance(made, Objective), "an objective's file has a function of its name"
    return made if weight is None else replace(made, weight=weight)
