"""Part: the frozen record every declaration is made of. It can be replaced, compared, overridden and written as JSON.

A recipe is a tree of parts. What a part does lives in its methods, beside its fields, so that reading one file is enough.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from plume.core.errors import PlumeError, suggest
from plume.core.moved import address_now, field_now, record_now

replace = dataclasses.replace
_HINTS: dict[Any, dict[str, Any]] = {}
TAG = "part"  # the JSON key that says which class wrote a record


class Part:
    """Base of all declarations. Subclasses are `@dataclass(frozen=True, kw_only=True)`.

    >>> from plume.noise.select import Tokens
    >>> part_from_json(Tokens(rate=0.2).to_json()) == Tokens(rate=0.2)
    True
    """

    def to_json(self) -> dict[str, Any]:
        return {TAG: _address(type(self))} | {name: _plain(getattr(self, name)) for name in _hints(type(self))}

    def override(self, assignment: str) -> Self:
        """A copy with one field changed, named by its dotted path: `network.depth=4`, `layout=FullSentences()`."""
        path, equals, text = assignment.partition("=")
        if not equals or not path.strip():
            raise PlumeError(f"'{assignment}' is not a setting: write path=value, for example network.depth=4.")
        return _override(self, path.strip().split("."), text.strip(), assignment)


def has_path(part: Part, path: str) -> bool:
    """Is there a field of that dotted path, so that it may be set?

    >>> from plume.noise.select import Tokens
    >>> has_path(Tokens(), "rate"), has_path(Tokens(), "rates.first")
    (True, False)
    """
    name, _, rest = path.partition(".")
    if name not in _hints(type(part)):
        return False
    value = getattr(part, name)
    if rest and isinstance(value, tuple):
        item, _, rest = rest.partition(".")
        named = {str(i): one for i, one in enumerate(value)} | {getattr(one, "name", ""): one for one in value}
        value = named.get(item)
    return not rest or (isinstance(value, Part) and has_path(value, rest))


class Difference(NamedTuple):
    path: str
    left: Any
    right: Any


def differences(left: Any, right: Any, path: str = "") -> Iterator[Difference]:
    """The leaves in which two trees of parts differ; a part replaced by one of another class is one difference."""
    if isinstance(left, Part) and type(left) is type(right):
        for name in _hints(type(left)):
            yield from differences(getattr(left, name), getattr(right, name), f"{path}.{name}" if path else name)
    elif isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        for position, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from differences(one, other, f"{path}[{position}]")
    elif left != right:
        yield Difference(path, left, right)


def describe(value: Any) -> str:
    """A part as its shortest declaration, defaults left out.

    >>> from plume.noise.select import Tokens
    >>> describe(Tokens(rate=0.2))
    'Tokens(rate=0.2)'
    """
    if isinstance(value, Part):
        shown = [
            f"{field.name}={describe(getattr(value, field.name))}"
            for field in dataclasses.fields(value)  # type: ignore[arg-type]
            if not _is_default(value, field)
        ]
        return f"{type(value).__name__}({', '.join(shown)})"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple):
        return f"({', '.join(describe(item) for item in value)})"
    return repr(value)


def part_from_json(data: Any) -> Any:
    """Rebuild what `to_json` wrote; strict: an unknown class or field is an error, a field left out takes its default."""
    if not isinstance(data, dict) or not isinstance(data.get(TAG), str):
        raise PlumeError(f"Not a plume declaration: expected an object with a '{TAG}' field, got {str(data)[:80]!r}.")
    data = record_now(data)
    address = address_now(data[TAG])
    kind = _class_at(address)
    hints = _hints(kind)
    values = {field_now(address, name): value for name, value in data.items() if name != TAG}
    for name in values:
        if name not in hints:
            raise PlumeError(f"{data[TAG]} has no field '{name}': {suggest(name, hints)}.")
    required = {field.name for field in dataclasses.fields(kind) if _has_no_default(field)}  # type: ignore[arg-type]
    if missing := sorted(required - values.keys()):
        raise PlumeError(f"{data[TAG]} lacks {', '.join(missing)}: the file was cut or changed by hand.")
    return kind(**{name: _decode(hints[name], value, f"{data[TAG]}.{name}") for name, value in values.items()})


def _override(part: Part, path: list[str], text: str, assignment: str) -> Any:
    name, rest = path[0], path[1:]
    hints = _hints(type(part))
    if name not in hints:
        raise PlumeError(f"In '{assignment}': {type(part).__name__} has no part '{name}'; {suggest(name, hints)}.")
    current = getattr(part, name)
    if not rest:
        return replace(part, **{name: _decode(hints[name], _parse(text, hints[name], assignment), assignment)})  # type: ignore[type-var]
    if isinstance(current, tuple):
        position = _position(rest[0], current, assignment)
        if len(rest) == 1:
            raise PlumeError(f"In '{assignment}': name a field of {name}.{position}, or set {name} as a whole.")
        changed = tuple(_override(item, rest[1:], text, assignment) if i == position else item for i, item in enumerate(current))
        return replace(part, **{name: changed})  # type: ignore[type-var]
    if not isinstance(current, Part):
        raise PlumeError(f"In '{assignment}': '{name}' is the plain value {current!r} and has no parts below it.")
    return replace(part, **{name: _override(current, rest, text, assignment)})  # type: ignore[type-var]


def _position(word: str, items: tuple[Any, ...], assignment: str) -> int:
    """Items of a tuple are addressed by number, or by their own `name` (objectives.masked_lm.weight)."""
    names = [getattr(item, "name", str(i)) for i, item in enumerate(items)]
    if word in names:
        return names.index(word)
    if word.isdigit() and int(word) < len(items):
        return int(word)
    raise PlumeError(f"In '{assignment}': no item '{word}'; {suggest(word, names)}.")


def _parse(text: str, hint: Any, assignment: str) -> Any:
    if text.startswith("[") and str in (hint, *typing.get_args(hint)):
        return text  # [MASK] is a word, not a list
    try:
        return _evaluate(ast.parse(text, mode="eval").body, hint, assignment)
    except SyntaxError:
        return text  # a bare word or path: the field's type decides whether a string will do


def _evaluate(node: ast.expr, hint: Any, assignment: str) -> Any:
    """Literals, tuples, bare words, and calls of parts that live beside the field's own type. Never arbitrary code."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        kind, hints = _maker(node.func.id, hint, assignment)
        for keyword in node.keywords:
            if keyword.arg not in hints:
                raise PlumeError(f"In '{assignment}': {node.func.id} has no field '{keyword.arg}'; {suggest(str(keyword.arg), hints)}.")
        given = {
            str(word.arg): _decode(hints[str(word.arg)], _evaluate(word.value, hints[str(word.arg)], assignment), assignment)
            for word in node.keywords
        }
        try:
            return kind(**given)
        except TypeError as error:  # a field without a default was left out
            raise PlumeError(f"In '{assignment}': {error}.") from None
    if isinstance(node, ast.Tuple | ast.List):
        inner = typing.get_args(hint)[0] if typing.get_args(hint) else hint
        return tuple(_evaluate(item, inner, assignment) for item in node.elts)
    if isinstance(node, ast.Name):
        return {"none": None, "true": True, "false": False}.get(node.id.lower(), node.id)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise PlumeError(f"In '{assignment}': cannot read '{ast.unparse(node)}'; use numbers, words, or Part(field=value).") from None


def _family(base: type[Part]) -> Iterator[type[Part]]:
    """The class and all that derive from it in its folder, where its kind lives."""
    package = importlib.import_module(base.__module__.rpartition(".")[0])
    for info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{info.name}")
    waiting = [base]
    while waiting:
        kind = waiting.pop()
        yield kind
        waiting += kind.__subclasses__()


def _maker(name: str, hint: Any, assignment: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What a name in a setting calls, and the fields it takes: a part's class, or a declaration such as masked_lm(…)."""
    known: dict[str, Callable[..., Any]] = {}
    for base in (hint, *typing.get_args(hint)):
        if isinstance(base, type) and issubclass(base, Part):
            known |= {kind.__name__: kind for kind in _family(base) if dataclasses.is_dataclass(kind)}
            known |= _declarations(base)
    if name not in known:
        raise PlumeError(f"In '{assignment}': no part called '{name}' fits here; {suggest(name, known)}.")
    made = known[name]
    if isinstance(made, type):
        return made, _hints(made)
    return made, {field: kind for field, kind in typing.get_type_hints(made).items() if field != "return"}


def _declarations(base: type[Part]) -> dict[str, Callable[..., Any]]:
    """Functions that return such a part, each in a file of its name in the same folder."""
    package = importlib.import_module(base.__module__.rpartition(".")[0])
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
    made = {name: getattr(importlib.import_module(f"{package.__name__}.{name}"), name, None) for name in names}
    return {name: found for name, found in made.items() if callable(found) and _returns(found, base)}


def _returns(found: Callable[..., Any], base: type[Part]) -> bool:
    # Only the one annotation is looked up: others may name what is imported for type checkers alone.
    name = getattr(found, "__annotations__", {}).get("return") if not isinstance(found, type) else None
    kind = getattr(importlib.import_module(found.__module__), name, None) if isinstance(name, str) else name
    return isinstance(kind, type) and issubclass(kind, base)


def _decode(hint: Any, value: Any, where: str) -> Any:
    """`value` as the type a field declares, or an error that says what the field takes."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        for option in typing.get_args(hint):
            try:
                return _decode(option, value, where)
            except PlumeError:
                continue
    elif hint is Any or (hint is types.NoneType and value is None):
        return value
    elif typing.get_origin(hint) is tuple and isinstance(value, list | tuple):
        inner = typing.get_args(hint)
        kinds = [inner[0]] * len(value) if len(inner) == 2 and inner[1] is Ellipsis else list(inner)
        if len(kinds) == len(value):
            return tuple(_decode(kind, item, where) for kind, item in zip(kinds, value, strict=True))
    elif isinstance(hint, type):
        if isinstance(value, dict) and issubclass(hint, Part):
            value = part_from_json(value)
        if issubclass(hint, enum.Enum) and isinstance(value, str):
            found = {member.name.lower(): member for member in hint} | {str(member.value).lower(): member for member in hint}
            if value.lower() in found:
                return found[value.lower()]
            raise PlumeError(f"{where}: unknown value '{value}'; {suggest(value, [str(member.value) for member in hint])}.")
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool):
            return value
    raise PlumeError(f"{where}: {value!r} does not fit; expected {_type_name(hint)}.")


def _type_name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_json()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _is_default(part: Part, field: dataclasses.Field[Any]) -> bool:
    value = getattr(part, field.name)
    if field.default is not dataclasses.MISSING:
        return bool(value == field.default)
    return field.default_factory is not dataclasses.MISSING and value == field.default_factory()


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _hints(kind: Any) -> dict[str, Any]:
    """Field names and their resolved types, in order of declaration."""
    if kind not in _HINTS:
        _HINTS[kind] = _resolved(kind)
    return _HINTS[kind]


def _resolved(kind: Any) -> dict[str, Any]:
    resolved = typing.get_type_hints(kind)
    return {field.name: resolved[field.name] for field in dataclasses.fields(kind)}


def _address(kind: type) -> str:
    """`noise.select:Tokens` for plume's own parts."""
    return f"{kind.__module__.removeprefix('plume.')}:{kind.__qualname__}"


def _class_at(address: str) -> type[Part]:
    module_name, _, class_name = address.partition(":")
    try:
        # Only plume's own modules: a declaration file must not be able to import anything else.
        kind = getattr(importlib.import_module(f"plume.{module_name}"), class_name)
    except (ImportError, AttributeError, ValueError):
        raise PlumeError(f"Unknown part '{address}': written by a newer plume, or the file was changed by hand.") from None
    if not (isinstance(kind, type) and issubclass(kind, Part) and dataclasses.is_dataclass(kind)):
        raise PlumeError(f"'{address}' is not a part.")
    return kind
