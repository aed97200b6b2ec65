"""What computes the states of a batch: a file for each runtime. The folder is the registry."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from plume.core.errors import PlumeError, suggest

if TYPE_CHECKING:
    from plume.model.networks.model import Model
    from plume.model.use.runtimes._runtime import Runtime


def runtime(name: str, model: Model) -> Runtime:
    """The one of that name for this model: "torch", "onnx", "onnx-int8"."""
    known = sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[a-z]*.py"))
    if name not in known:
        raise PlumeError(f"There is no runtime '{name}': {suggest(name, known)}.")
    made: Runtime = importlib.import_module(f"plume.model.use.runtimes.{name.replace('-', '_')}").RUNTIME(model)
    return made
