"""Part: the frozen record every declaration is made of. It can be replaced, compared, overridden and written as JSON.

A recipe is a tree of parts. What a part does lives in its methods, beside its fields, so that reading one file is enough. How a part is
read from JSON is in `part_json`, how --set changes one in `overriding`, whose parts may be named in files in `own_parts`.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from plume.core import own_parts
from plume.core.errors import PlumeError
from plume.core.part_fields import hints

if TYPE_CHECKING:
    from plume.core.knowledge import Knowledge

replace = dataclasses.replace


class Part:
    """Base of all declarations. Subclasses are `@dataclass(frozen=True, kw_only=True)`.

    >>> from plume.noise.select import Tokens
    >>> part_from_json(Tokens(rate=0.2).to_json()) == Tokens(rate=0.2)
    True
    """

    needs_knowledge: ClassVar[bool] = False  # is it built for one knowledge base (`core/knowledge.py`)?
    reads_arrays: ClassVar[tuple[str, ...]] = ()  # and what of it do its modules read beside names: triples, vectors

    def for_knowledge(self, knowledge: Knowledge) -> Self:
        """The same with the numbers of this knowledge base, where it is built for one."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The record as JSON holds it: the address of its class, and every field."""
        from plume.core.part_json import part_to_json

        return part_to_json(self)

    def override(self, assignment: str) -> Self:
        """A copy with one field changed, named by its dotted path: `network.depth=4`, `layout=FullSentences()`."""
        from plume.core.overriding import overridden

        path, equals, text = assignment.partition("=")
        if not equals or not path.strip():
            raise PlumeError(f"'{assignment}' is not a setting: write path=value, for example network.depth=4.")
        return overridden(self, path.strip().split("."), text.strip(), assignment)

    def problems(self, recipe: Any, name: str) -> Iterable[str]:
        """Why it cannot work in this Recipe, a sentence each. `name` is that of the objective, or else of the field, which it belongs to."""
        return ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        file = own_parts.executed_file(type(self))
        return super().__reduce_ex__(protocol) if file is None else (_in_another_process, (file, self.to_json()))


def _in_another_process(file: str, data: dict[str, Any]) -> Any:
    """A part whose class is of a user's file, which that process may not have executed yet."""
    own_parts.use_parts(file)
    return part_from_json(data)


def part_from_json(data: Any) -> Any:
    """Rebuild what `to_json` wrote; strict: an unknown class or field is an error, a field left out takes its default."""
    from plume.core.part_json import read_part

    return read_part(data)


def has_path(part: Part, path: str) -> bool:
    """Is there a field of that dotted path, so that it may be set?

    >>> from plume.noise.select import Tokens
    >>> has_path(Tokens(), "rate"), has_path(Tokens(), "rates.first")
    (True, False)
    """
    name, _, rest = path.partition(".")
    if name not in hints(type(part)):
        return False
    value = getattr(part, name)
    if rest and isinstance(value, tuple):
        item, _, rest = rest.partition(".")
        named = {str(i): one for i, one in enumerate(value)} | {getattr(one, "name", ""): one for one in value}
        value = named.get(item)
    return not rest or (isinstance(value, Part) and has_path(value, rest))


class Difference(NamedTuple):
    """One leaf in which two declarations differ."""

    path: str
    left: Any
    right: Any


def differences(left: Any, right: Any, path: str = "") -> Iterator[Difference]:
    """The leaves in which two trees of parts differ; a part replaced by one of another class is one difference."""
    if isinstance(left, Part) and type(left) is type(right):
        for name in hints(type(left)):
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


def _is_default(part: Part, field: dataclasses.Field[Any]) -> bool:
    value = getattr(part, field.name)
    if field.default is not dataclasses.MISSING:
        return bool(value == field.default)
    return field.default_factory is not dataclasses.MISSING and value == field.default_factory()
