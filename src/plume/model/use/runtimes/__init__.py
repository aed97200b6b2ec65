"""What computes the states of a batch: a file for each runtime. The folder is the registry."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plume.core.errors import PlumeError, suggest

if TYPE_CHECKING:
    from torch import nn

    from plume.model.networks.model import Model
    from plume.model.use.runtimes._graph import Build
    from plume.model.use.runtimes._runtime import Runner, Runtime
    from plume.text.tokenizer import Tokenizer


def runtime(name: str, model: Model, tokenizer: Tokenizer) -> Runtime:
    """The one of that name for this model: "torch", "onnx", "onnx-int8"."""
    made: Runtime = _module(name).RUNTIME(model, tokenizer)
    return made


def runner(name: str, model: nn.Module, called: str, build: Build) -> Runner:
    """Any but torch, for the graphs that `build` makes of this model, which is `called` so."""
    made: Runner = _module(name).RUNNER(model, called, build)
    return made


def _module(name: str) -> Any:
    known = sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[a-z]*.py"))
    if name not in known:
        raise PlumeError(f"There is no runtime '{name}': {suggest(name, known)}.")
    return importlib.import_module(f"plume.model.use.runtimes.{name.replace('-', '_')}")
