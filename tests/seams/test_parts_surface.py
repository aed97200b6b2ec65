"""plume.parts: everything that a recipe is declared with can be imported from one place."""

from __future__ import annotations

import enum
import importlib
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import plume.parts
from plume.core import catalog
from plume.core.part import Part
from plume.core.part_fields import hints
from plume.model.recipe import Recipe
from plume.static.recipe import StaticRecipe


def kinds_in(hint: Any) -> Iterator[type]:
    """The classes that a field's type names."""
    if isinstance(hint, type):
        yield hint
    for inner in typing.get_args(hint):
        yield from kinds_in(inner)


def declared_with(kind: type, seen: set[type]) -> None:
    """The part or enum, all that derive from it, and whatever their fields take."""
    if kind in seen or not (issubclass(kind, Part | enum.Enum) and kind.__module__.startswith("plume.")):
        return
    seen.add(kind)
    for other in [*kind.__subclasses__(), *(one for hint in _fields(kind).values() for one in kinds_in(hint))]:
        declared_with(other, seen)


def _fields(kind: type) -> dict[str, Any]:
    return hints(kind) if issubclass(kind, Part) and hasattr(kind, "__dataclass_fields__") else {}


@pytest.fixture(scope="module")
def everything() -> set[type]:
    for room in ("noise", "text", "data", "nn", "heads", "objectives", "model", "static"):
        package = importlib.import_module(f"plume.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"plume.{room}."):
            importlib.import_module(info.name)
    found: set[type] = set()
    for root in (Recipe, StaticRecipe):
        declared_with(root, found)
    return found


def test_nothing_that_a_recipe_may_hold_is_missing(everything: set[type]) -> None:
    assert len(everything) > 100
    assert not sorted(kind.__name__ for kind in everything if getattr(plume.parts, kind.__name__, None) is not kind)
    objectives = {name.replace("-", "_") for name in catalog.names("objectives")}
    assert not objectives - set(plume.parts.__all__)


@pytest.mark.parametrize("name", plume.parts.__all__)
def test_each_name_is_there_and_documented(name: str) -> None:
    said = getattr(plume.parts, name).__doc__
    assert said and not said.startswith(f"{name}("), "a dataclass without a docstring shows its signature"


def test_each_name_is_listed_once() -> None:
    assert len(set(plume.parts.__all__)) == len(plume.parts.__all__)
    public = {name for name in vars(plume.parts) if name[0].isalpha() and name != "annotations"}
    assert public == set(plume.parts.__all__)


def test_importing_plume_imports_neither_it_nor_torch() -> None:
    code = "import sys, plume; print([name for name in ('plume.parts', 'torch', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
