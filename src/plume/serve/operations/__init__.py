"""What can be asked of a model: a file for each operation, which ends with `OPERATION = …`. The folder is the registry."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plume.serve.operations._operation import Operation


@cache
def operations() -> dict[str, Operation[Any, Any, Any]]:
    """All of them, by name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return {name: import_module(f"{__name__}.{name}").OPERATION for name in names}
