"""The house itself: floors that one can overlook, names that mean one thing, and a sentence about everything that is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import runpy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import plume

ROOT = Path(plume.__file__).parent
CATALOGS = {"recipes", "objectives", "tasks", "cli"}  # the folder is the registry: one file each
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__main__.py")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def _public(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    yield from (one for one in body if isinstance(one, ast.ClassDef | ast.FunctionDef) and not one.name.startswith("_"))


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES}), ids=lambda folder: folder.relative_to(ROOT.parent).as_posix())
def test_a_floor_can_be_overlooked(folder: Path) -> None:
    if folder.relative_to(ROOT).as_posix() not in CATALOGS:
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 25
    assert len(ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or "") > 20, "what happens here?"


def test_no_public_class_is_called_like_another() -> None:
    found = defaultdict(list)
    for path in MODULES:
        for one in _public(ast.parse(path.read_text(encoding="utf-8")).body):
            if isinstance(one, ast.ClassDef):
                found[one.name].append(_name(path))
    assert not {name: places for name, places in found.items() if len(places) > 1}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_everything_public_is_documented(path: Path) -> None:
    """A method may leave it to the one that it overrides."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    missing = [one.name for one in _public(tree.body) if not ast.get_docstring(one)]
    for kind in (one for one in _public(tree.body) if isinstance(one, ast.ClassDef)):
        bare = [one.name for one in _public(kind.body) if not ast.get_docstring(one)]  # type: ignore[arg-type]
        if bare:
            made = getattr(importlib.import_module(_name(path)), kind.name)
            missing += [f"{kind.name}.{name}" for name in bare if not any(_said(base, name) for base in made.__mro__[1:])]
    assert not missing


def _said(base: type, name: str) -> bool:
    found = inspect.getattr_static(base, name, None)
    return bool(getattr(getattr(found, "fget", None) or getattr(found, "__func__", found), "__doc__", None))


def test_the_picture_of_the_rooms_is_true() -> None:
    """It is drawn from the import contract and the folders: python docs/make_rooms.py"""
    drawn = runpy.run_path(str(ROOT.parents[1] / "docs" / "make_rooms.py"))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["picture"]()
