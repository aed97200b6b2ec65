"""--set: one field of a tree of parts, changed by its dotted path. Values are literals, words and declarations of parts, never code."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from typing import Any

from plume.core import own_parts
from plume.core.errors import PlumeError, suggest
from plume.core.part import Part, replace
from plume.core.part_fields import hints
from plume.core.part_json import decode


def overridden(part: Part, path: list[str], text: str, assignment: str) -> Any:
    """The part with the field at `path` as `text` says; `assignment` is what the user typed, for errors."""
    name, rest = path[0], path[1:]
    known = hints(type(part))
    if name not in known:
        raise PlumeError(f"In '{assignment}': {type(part).__name__} has no part '{name}'; {suggest(name, known)}.")
    current = getattr(part, name)
    if not rest:
        return replace(part, **{name: decode(known[name], _parse(text, known[name], assignment), assignment)})  # type: ignore[type-var]
    if isinstance(current, tuple):
        position = _position(rest[0], current, assignment)
        if len(rest) == 1:
            raise PlumeError(f"In '{assignment}': name a field of {name}.{position}, or set {name} as a whole.")
        changed = tuple(overridden(item, rest[1:], text, assignment) if i == position else item for i, item in enumerate(current))
        return replace(part, **{name: changed})  # type: ignore[type-var]
    if not isinstance(current, Part):
        raise PlumeError(f"In '{assignment}': '{name}' is the plain value {current!r} and has no parts below it.")
    return replace(part, **{name: overridden(current, rest, text, assignment)})  # type: ignore[type-var]


def _position(word: str, items: tuple[Any, ...], assignment: str) -> int:
    """Items of a tuple are addressed by number, or by their own `name` (objectives.masked_lm.weight)."""
    names = [getattr(item, "name", str(i)) for i, item in enumerate(items)]
    if word in names:
        return names.index(word)
    if word.isdigit() and int(word) < len(items):
        return int(word)
    raise PlumeError(f"In '{assignment}': no item '{word}'; {suggest(word, names)}.")


def _parse(text: str, hint: Any, assignment: str) -> Any:
    worded = str in (hint, *typing.get_args(hint))
    if text.startswith("[") and worded:
        return text  # [MASK] is a word, not a list
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text  # a bare word or path: the field's type decides whether a string will do
    if worded and isinstance(node, ast.BinOp | ast.Attribute):
        return text  # torch-int8, bert/tiny and words.json are words, not a difference, a quotient or a field
    return _evaluate(node, hint, assignment)


def _evaluate(node: ast.expr, hint: Any, assignment: str) -> Any:
    """Literals, tuples, bare words, and calls of parts that live beside the field's own type. Never arbitrary code."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return _made(node.func.id, node.keywords, hint, assignment)
    if isinstance(node, ast.Tuple | ast.List):
        inner = typing.get_args(hint)[0] if typing.get_args(hint) else hint
        return tuple(_evaluate(item, inner, assignment) for item in node.elts)
    if isinstance(node, ast.Name):
        return {"none": None, "true": True, "false": False}.get(node.id.lower(), node.id)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise PlumeError(f"In '{assignment}': cannot read '{ast.unparse(node)}'; use numbers, words, or Part(field=value).") from None


def _made(name: str, keywords: list[ast.keyword], hint: Any, assignment: str) -> Any:
    """What `name(keyword=value, …)` declares."""
    maker, known = _maker(name, hint, assignment)
    given = {}
    for keyword in keywords:
        word = str(keyword.arg)
        if word not in known:
            raise PlumeError(f"In '{assignment}': {name} has no field '{word}'; {suggest(word, known)}.")
        given[word] = decode(known[word], _evaluate(keyword.value, known[word], assignment), assignment)
    try:
        return maker(**given)
    except TypeError as error:  # a field without a default was left out
        raise PlumeError(f"In '{assignment}': {error}.") from None


def _family(base: type[Part]) -> Iterator[type[Part]]:
    """The class and all that derive from it: in its folder, where its kind lives, or in a file that the user has named."""
    for name in _files_beside(base):
        importlib.import_module(name)
    own_parts.load_named()
    waiting = [base]
    while waiting:
        kind = waiting.pop()
        yield kind
        waiting += kind.__subclasses__()


def _leaves_to_others(kind: type[Part]) -> bool:
    """Is it what parts have in common, and no part itself: do others derive from it, and is a method theirs to write?"""
    methods = (inspect.getattr_static(kind, name) for name in dir(kind))
    codes = (getattr(getattr(method, "fget", method), "__code__", None) for method in methods)
    return bool(kind.__subclasses__()) and any("NotImplementedError" in code.co_names for code in codes if code is not None)


def _files_beside(base: type[Part]) -> list[str]:
    """The modules of the folder in which plume declares it; a user's own class has none."""
    if not own_parts.is_plumes(base):
        return []
    package = importlib.import_module(base.__module__.rpartition(".")[0])
    return [f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__)]


def _maker(name: str, hint: Any, assignment: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What a name in a setting calls, and the fields it takes: a part's class, or a declaration such as masked_lm(…)."""
    known: dict[str, Callable[..., Any]] = {}
    for base in (hint, *typing.get_args(hint)):
        if isinstance(base, type) and issubclass(base, Part):
            kinds = [kind for kind in _family(base) if dataclasses.is_dataclass(kind) and not _leaves_to_others(kind)]
            # plume's come last: a name that it has means the same whatever else is named
            known |= {kind.__name__: kind for kind in sorted(kinds, key=own_parts.is_plumes)}
            known |= _declarations(base)
    if name not in known:
        raise PlumeError(f"In '{assignment}': no part called '{name}' fits here; {suggest(name, known)}.")
    made = known[name]
    if isinstance(made, type):
        return made, hints(made)
    return made, {field: kind for field, kind in typing.get_type_hints(made).items() if field != "return"}


def _declarations(base: type[Part]) -> dict[str, Callable[..., Any]]:
    """Functions that return such a part, each in a file of its name in the same folder."""
    files = {path.rpartition(".")[2]: path for path in _files_beside(base)}
    made = {name: getattr(importlib.import_module(path), name, None) for name, path in files.items() if not name.startswith("_")}
    return {name: found for name, found in made.items() if callable(found) and _returns(found, base)}


def _returns(found: Callable[..., Any], base: type[Part]) -> bool:
    # Only the one annotation is looked up: others may name what is imported for type checkers alone.
    name = getattr(found, "__annotations__", {}).get("return") if not isinstance(found, type) else None
    kind = getattr(importlib.import_module(found.__module__), name, None) if isinstance(name, str) else name
    return isinstance(kind, type) and issubclass(kind, base)
