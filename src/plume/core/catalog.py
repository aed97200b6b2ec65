"""The folder is the registry: what can be named is what lies in a folder, one file each."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from plume.core.errors import PlumeError, suggest


def names(room: str) -> list[str]:
    """The files of a room, as a user names them.

    >>> "masked-lm" in names("objectives")
    True
    """
    package = importlib.import_module(f"plume.{room}")
    return sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_"))


def load(room: str, name: str) -> ModuleType:
    """Import the file that a user named, or say what there is."""
    known = names(room)
    if name not in known:
        raise PlumeError(f"There is no '{name}' in plume's {room}: {suggest(name, known)}.")
    return importlib.import_module(f"plume.{room}.{name.replace('-', '_')}")
