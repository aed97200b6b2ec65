"""What a model directory is best run by: runtime.json, which small models have, and which no other needs."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from plume.core.batch import Batch
from plume.core.files import read_json, write_json
from plume.model.networks.model import Model
from plume.model.use.runtimes._runtime import Runtime
from plume.model.use.runtimes.torch import TorchRuntime
from plume.text.tokenizer import Tokenizer

PREFERRED = "runtime.json"
_LIBRARIES = ("onnxruntime", "onnx", "onnxscript")


def prefer_runtime(folder: Path, runtime: str) -> None:
    """From now on the directory is run by this one, where it is installed and nothing else is asked for."""
    write_json(folder / PREFERRED, {"runtime": runtime})


def preferred_runtime(folder: Path) -> str:
    """What the directory says, if that can run here, else torch."""
    if not (folder / PREFERRED).exists():
        return "torch"
    told = read_json(folder / PREFERRED, "it should say what the model is run by")
    name = told.get("runtime") if isinstance(told, dict) else None
    if not isinstance(name, str) or (name.startswith("onnx") and missing_library() is not None):
        return "torch"
    return name


def missing_library() -> str | None:
    """Of those that ONNX Runtime needs."""
    return next((name for name in _LIBRARIES if importlib.util.find_spec(name) is None), None)


class OtherLayersByTorch:
    """A runtime that computes the last layer; torch, what else is asked for."""

    def __init__(self, last: Runtime, model: Model, tokenizer: Tokenizer) -> None:
        self.last, self._torch = last, TorchRuntime(model, tokenizer)

    def layers(self, batch: Batch, *, last_only: bool) -> Sequence[Tensor]:
        """[B, T, D] each: the last layer alone, or all from the embedding on."""
        return (self.last if last_only else self._torch).layers(batch, last_only=last_only)
