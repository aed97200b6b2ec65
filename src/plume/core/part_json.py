"""Parts as JSON: each an object that names its class by address (`noise.select:Tokens`) and holds its fields. Read strictly."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import importlib
import types
import typing
from typing import Any

from plume.core import own_parts
from plume.core.errors import PlumeError, suggest
from plume.core.moved import address_now, field_now, record_now
from plume.core.part import Part
from plume.core.part_fields import hints, required

TAG = "part"  # the key that says which class wrote a record
FROM = "from"  # of a user's own class: which file it came from. A word of Python's, so that no field can be called so


def part_to_json(part: Part) -> dict[str, Any]:
    """The address of its class, where a user's own came from, and every field."""
    kind = type(part)
    written: dict[str, Any]
    if own_parts.is_plumes(kind):
        written = {TAG: f"{kind.__module__.removeprefix('plume.')}:{kind.__qualname__}"}
    else:
        address, origin = own_parts.written(kind)
        written = {TAG: address, FROM: origin}
    return written | {name: _plain(getattr(part, name)) for name in hints(kind)}


def read_part(data: Any) -> Any:
    """The part that a record was written from."""
    if not isinstance(data, dict) or not isinstance(data.get(TAG), str):
        raise PlumeError(f"Not a plume declaration: expected an object with a '{TAG}' field, got {str(data)[:80]!r}.")
    data = record_now(data)
    address = address_now(data[TAG])
    kind = class_at(address, data.get(FROM))
    known = hints(kind)
    values = {field_now(address, name): value for name, value in data.items() if name not in (TAG, FROM)}
    for name in values:
        if name not in known:
            raise PlumeError(f"{data[TAG]} has no field '{name}': {suggest(name, known)}.")
    if missing := sorted(required(kind) - values.keys()):
        raise PlumeError(f"{data[TAG]} lacks {', '.join(missing)}: the file was cut or changed by hand.")
    return kind(**{name: decode(known[name], value, f"{data[TAG]}.{name}") for name, value in values.items()})


def class_at(address: str, origin: Any = None) -> type[Part]:
    """The class of that address: one of plume's, or of a module that the user has named."""
    module_name, _, class_name = address.partition(":")
    try:
        # Only plume's modules and those that the user has named: a declaration file must not be able to import anything else.
        own = own_parts.module_of(module_name, class_name, origin)
        kind = getattr(own or importlib.import_module(f"plume.{module_name}"), class_name)
    except (ImportError, AttributeError, ValueError):
        raise PlumeError(f"Unknown part '{address}': written by a newer plume, or the file was changed by hand.") from None
    if not (isinstance(kind, type) and issubclass(kind, Part) and dataclasses.is_dataclass(kind)):
        raise PlumeError(f"'{address}' is not a part.")
    return kind


def decode(hint: Any, value: Any, where: str) -> Any:
    """`value` as the type a field declares, or an error that says what the field takes."""
    options = _options(hint)
    if isinstance(value, dict) and any(isinstance(option, type) and issubclass(option, Part) for option in options):
        value = read_part(value)
    for option in options if len(options) > 1 else ():
        with contextlib.suppress(PlumeError):
            return decode(option, value, where)
    found = _as(hint, value, where)
    if found is not _UNFIT:
        return found
    raise PlumeError(f"{where}: {value!r} does not fit; expected {_type_name(hint)}.")


_UNFIT = object()


def _options(hint: Any) -> tuple[Any, ...]:
    united = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if united else (hint,)


def _as(hint: Any, value: Any, where: str) -> Any:
    """The value as one type, or _UNFIT."""
    if hint is Any or (hint is types.NoneType and value is None):
        return value
    if typing.get_origin(hint) is tuple and isinstance(value, list | tuple):
        return _as_tuple(typing.get_args(hint), value, where)
    if not isinstance(hint, type):
        return _UNFIT
    if issubclass(hint, enum.Enum) and isinstance(value, str):
        return _member(hint, value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value if isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool) else _UNFIT


def _as_tuple(inner: tuple[Any, ...], value: list[Any] | tuple[Any, ...], where: str) -> Any:
    kinds = [inner[0]] * len(value) if len(inner) == 2 and inner[1] is Ellipsis else list(inner)
    if len(kinds) != len(value):
        return _UNFIT
    return tuple(decode(kind, item, where) for kind, item in zip(kinds, value, strict=True))


def _member(kind: type[enum.Enum], value: str, where: str) -> enum.Enum:
    found = {member.name.lower(): member for member in kind} | {str(member.value).lower(): member for member in kind}
    if value.lower() in found:
        return found[value.lower()]
    raise PlumeError(f"{where}: unknown value '{value}'; {suggest(value, [str(member.value) for member in kind])}.")


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
