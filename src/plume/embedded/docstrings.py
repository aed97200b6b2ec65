"""What the authors of the installed libraries wrote about each function, read from their source files; nothing is imported."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError

_DOCUMENTING = frozenset({"add_newdoc", "add_docstr", "add_docstr_all", "add_newdoc_for_scalar_type"})  # for functions written in C
_LEFT_OUT = frozenset({"tests", "testing", "externals", "_lib"})  # the last two hold copies of other packages
_Described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Docstring:
    """One docstring and whose it is."""

    module: str  # of the file: "scipy.signal._filter_design"
    name: str
    arguments: frozenset[str]
    text: str


def docstrings(package: str, *folders: str) -> Iterator[Docstring]:
    """Of a whole package, or of some of its folders and files, in the order of their names. Tests and copies of other packages are left out."""
    root = package_folder(package)
    for path in sorted(file for folder in folders or ("",) for file in _files(root / folder)):
        inside = path.relative_to(root).with_suffix("")
        if _LEFT_OUT.isdisjoint(inside.parts):
            module = ".".join([package, *inside.parts])
            yield from _described(ast.parse(path.read_bytes()), module)


def package_folder(package: str) -> Path:
    """Where an installed package lies."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise PlumeError(f"The embedded English text is read from the package {package}, which is not installed. Install plume again.")
    return Path(found.submodule_search_locations[0])


def _files(path: Path) -> list[Path]:
    return [path] if path.suffix == ".py" else list(path.rglob("*.py"))


def _described(node: _Described, module: str) -> Iterator[Docstring]:
    if text := ast.get_docstring(node):
        yield Docstring(module=module, name=getattr(node, "name", module), arguments=frozenset(_arguments(node)), text=text)
    for child in node.body:
        # What is inside a function is not for readers of the manual.
        if isinstance(child, ast.ClassDef) or (isinstance(child, ast.FunctionDef) and not isinstance(node, ast.FunctionDef)):
            yield from _described(child, module)
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            yield from _added(child.value, module)


def _arguments(node: _Described) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [
            name for child in node.body if isinstance(child, ast.FunctionDef) and child.name == "__init__" for name in _arguments(child)
        ]
    if isinstance(node, ast.Module):
        return []
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def _added(call: ast.Call, module: str) -> Iterator[Docstring]:
    """add_newdoc('numpy', 'arange', '''…''') and torch's add_docstr(torch.abs, r'''…''')."""
    called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if called not in _DOCUMENTING:
        return
    texts = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if texts:
        longest = max(texts, key=len)
        yield Docstring(module=module, name=ast.unparse(call.args[0]), arguments=frozenset(), text=inspect.cleandoc(longest))
