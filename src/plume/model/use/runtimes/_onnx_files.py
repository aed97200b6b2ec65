"""An encoder as an ONNX file, in full precision or with 8-bit weights. The one place where onnx and ONNX Runtime are imported.

Only the states of the last layer leave the graph: pooling and transforms stay plume's, so that one file serves every sentence.json.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from plume._version import __version__
from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.data.store import cache_home
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model

_HINT = "pip install 'plume-lm[onnx]'"


class EncoderGraph(nn.Module):
    """What is exported: tokens [B, T] and lengths [B] to states [B, T, D]."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, length: Tensor) -> Tensor:
        return self.model.encode(Batch(tokens=tokens, length=length)).last


def require_plain(model: Model) -> None:
    """Only what reads all tokens of a text at once, and nothing but these, has a graph of two inputs."""
    if model.spells or model.languages is not None or model.recipe.assembly.recurs or model.recipe.assembly.decodes:
        raise PlumeError(f"{model.recipe.name} cannot be run by ONNX Runtime: it reads more than tokens. Use the runtime torch.")


def write_onnx(model: Model, path: Path, *, int8: bool) -> None:
    """Export, and quantise the matrices if asked: per channel, which keeps vectors at a cosine of .99 (per tensor: .97)."""
    require_plain(model)
    _library("onnx")
    _library("onnxscript")
    whole = path.with_suffix(".whole.onnx") if int8 else path
    example = torch.ones((2, 7), dtype=torch.long), torch.tensor([7, 5])
    with _quiet():
        torch.onnx.export(
            EncoderGraph(model).eval(),
            example,
            str(whole),
            input_names=["tokens", "length"],
            output_names=["states"],
            dynamic_shapes={"tokens": {0: "rows", 1: "time"}, "length": {0: "rows"}},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        if int8:
            quantization: Any = importlib.import_module("onnxruntime.quantization")
            _library("onnxruntime")
            quantization.quantize_dynamic(str(whole), str(path), per_channel=True, weight_type=quantization.QuantType.QInt8)
            whole.unlink()


def session(model: Model, *, int8: bool, threads: int) -> Any:
    """ONNX Runtime's, of a file in plume's cache: exporting takes some seconds, so it is done once for the same weights."""
    runtime: Any = _library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    path = cache_home() / "onnx" / f"{_key(model)}{'-int8' if int8 else ''}.onnx"
    if not path.exists():
        write_atomic(path, lambda target: write_onnx(model, target, int8=int8))
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _key(model: Model) -> str:
    """The same for the same recipe, weights and plume."""
    made = hashlib.sha256(f"{__version__} {json.dumps(model.recipe.to_json(), sort_keys=True)}".encode())
    for name, value in state_of(model).items():
        made.update(name.encode())
        made.update(value.contiguous().cpu().numpy().data)
    return made.hexdigest()[:32]


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise PlumeError(f"{name} is not installed: {_HINT}, or use the runtime torch.") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporters talk a lot."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(level)


class OnnxRuntime:
    """The last layer's states by ONNX Runtime, on a CPU. Batches run side by side, each on one thread."""

    int8 = False

    def __init__(self, model: Model) -> None:
        require_plain(model)
        self._session = session(model, int8=self.int8, threads=1)

    def layers(self, batch: Batch, *, last_only: bool) -> list[Tensor]:
        """[B, T, D] the last layer."""
        if not last_only:
            raise PlumeError("ONNX Runtime computes the last layer alone: use the runtime torch for others.")
        if batch.order is not Order.FULL or batch.segment is not None:
            raise PlumeError("ONNX Runtime computes models that read both ways, without segments: use the runtime torch.")
        rows, time = batch.tokens.shape
        length = torch.full((rows,), time) if batch.length is None else batch.length
        (states,) = self._session.run(None, {"tokens": batch.tokens.numpy(), "length": length.numpy()})
        return [torch.from_numpy(states)]
