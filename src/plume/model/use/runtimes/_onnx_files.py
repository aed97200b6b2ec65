"""Graphs as ONNX files, in full precision or with 8-bit weights. The one place where onnx and ONNX Runtime are imported."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.data.store import cache_home
from plume.model.networks.model import Model
from plume.model.use.runtimes._graph import Build, EncoderGraph, Graph, Signature, require_graph

_HINT = "pip install 'plume-lm[onnx]'"
_AXES = {0: "rows", 1: "time"}


def write_onnx(graph: Graph, path: Path, *, int8: bool) -> None:
    """Export, with any number of rows and tokens, and quantise the matrices if asked."""
    _library("onnx")
    _library("onnxscript")
    whole = path.with_suffix(".whole.onnx") if int8 else path
    with _quiet():
        try:
            torch.onnx.export(
                graph.eval(),
                graph.example(),
                str(whole),
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=dict.fromkeys(graph.inputs, _AXES),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        except torch.onnx.errors.OnnxExporterError as error:
            reason = str(error.__cause__ or error).strip().partition("\n")[0]
            raise PlumeError(f"torch cannot write this model as an ONNX file ({reason}): use torch.") from error
        if int8:
            _quantise(whole, path, keep=graph.precise)
            whole.unlink()


def _quantise(whole: Path, path: Path, *, keep: Sequence[str]) -> None:
    """Per channel, which keeps vectors at a cosine of .99 (per tensor: .97)."""
    quantization: Any = importlib.import_module("onnxruntime.quantization")
    quantization.quantize_dynamic(str(whole), str(path), per_channel=True, weight_type=quantization.QuantType.QInt8)


def open_session(path: Path, *, threads: int = 1) -> Any:
    """ONNX Runtime's, on a CPU. Batches run side by side, each on one thread."""
    runtime: Any = _library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def cached_session(graph: Graph, *, int8: bool) -> Any:
    """Of a file in plume's cache: exporting takes some seconds, so it is done once for the same weights."""
    path = cache_home() / "onnx" / f"{graph.key()}{'-int8' if int8 else ''}.onnx"
    if not path.exists():
        write_atomic(path, lambda target: write_onnx(graph, target, int8=int8))
    return open_session(path)


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


class OnnxRunner:
    """Runs the graphs of a model, each made when a batch first needs it. Several threads may share one."""

    int8 = False

    def __init__(self, model: nn.Module, name: str, build: Build) -> None:
        require_graph(model, name)
        _library("onnxruntime")
        if next(model.parameters()).device.type != "cpu":
            raise PlumeError("ONNX Runtime computes on the CPU here: leave out --device, or use the runtime torch.")
        self._build = build
        self._lock = Lock()
        self._opened: dict[Signature, tuple[Graph, Any]] = {}

    def __call__(self, batch: Batch) -> Tensor:
        """The graph's first output."""
        signature = Signature.of(batch)
        with self._lock:
            if signature not in self._opened:
                graph = self._build(signature)
                self._opened[signature] = graph, cached_session(graph, int8=self.int8)
        graph, session = self._opened[signature]
        return run_graph(graph, session, batch)[0]


def run_graph(graph: Graph, session: Any, batch: Batch) -> list[Tensor]:
    """All outputs."""
    fed = {name: value.numpy() for name, value in zip(graph.inputs, graph.given(batch), strict=True)}
    return [torch.from_numpy(one) for one in session.run(None, fed)]


class OnnxRuntime:
    """The last layer's states of a language model."""

    runner: type[OnnxRunner] = OnnxRunner

    def __init__(self, model: Model) -> None:
        self._run = self.runner(model, model.recipe.name, lambda signature: EncoderGraph(model, signature))

    def layers(self, batch: Batch, *, last_only: bool) -> list[Tensor]:
        """[B, T, D] the last layer."""
        if not last_only:
            raise PlumeError("ONNX Runtime computes the last layer alone: use the runtime torch for others.")
        return [self._run(batch)]
