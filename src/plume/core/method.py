"""NamedMethod: a way to do something that a user names, as its file is called, and sets by its fields: compressions, prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from plume.core import catalog
from plume.core.errors import PlumeError
from plume.core.part import Part, replace


@dataclass(frozen=True, kw_only=True)
class NamedMethod(Part):
    """Base. A folder holds the methods of a kind, a file each that ends with its declaration, `METHOD`."""

    folder: ClassVar[str]  # "compressing.methods"
    purpose: ClassVar[str]  # what they are there for, as an error says it: "to make a model small"

    @property
    def name(self) -> str:
        """What users call it: its file's name."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @classmethod
    def names(cls) -> list[str]:
        """Of all methods of the kind."""
        return catalog.names(cls.folder)

    @classmethod
    def named(cls, name: str) -> Self:
        """The one that a user names."""
        if name not in cls.names():
            raise PlumeError(f"There is no method '{name}' {cls.purpose}: choose {', '.join(cls.names())}.")
        declared = catalog.load(cls.folder, name).METHOD
        assert isinstance(declared, cls)
        return declared

    @classmethod
    def described(cls) -> list[tuple[str, str, str]]:
        """Name, what it does, paper, of all: the first line of each file says the latter two."""
        found = []
        for name in cls.names():
            told = (catalog.load(cls.folder, name).__doc__ or "").strip().splitlines()[0]
            paper = re.search(r"arXiv:[\d.]+", told)
            found.append((name, told.partition(": ")[2].strip() or told, paper[0] if paper else ""))
        return found

    def having(self, given: Mapping[str, Any]) -> Self:
        """With these fields."""
        for name in given:
            self._refuse(name)
        return replace(self, **given)

    def adjusted(self, assignments: Sequence[str]) -> Self:
        """With fields by dotted path: `keep=0.5`, `tokens=6`."""
        made = self
        for assignment in assignments:
            made._refuse(assignment.partition("=")[0].partition(".")[0].strip())
            made = made.override(assignment)
        return made

    def _refuse(self, field: str) -> None:
        """A setting of another method is an error that names it."""
        own = _fields(self)
        if field in own:
            return
        having = [name for name in self.names() if field in _fields(catalog.load(self.folder, name).METHOD)]
        where = f"it is a setting of {', '.join(having)}" if having else f"it has {', '.join(sorted(own)) or 'none'}"
        raise PlumeError(f"--method {self.name} has no setting '{field}': {where}.")


def _fields(method: NamedMethod) -> set[str]:
    return {field.name for field in fields(method)}
