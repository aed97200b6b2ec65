"""Graphs as ONNX files, in full precision or with 8-bit weights, and ONNX Runtime that runs them."""

from __future__ import annotations

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
from plume.model.use.runtimes._onnx_library import library, quiet
from plume.model.use.runtimes._quantising import quantise
from plume.text.tokenizer import Tokenizer

_OPSET = 17  # the first with layer norms


def write_onnx(graph: Graph, path: Path, *, int8: bool) -> None:
    """Export, with any number of rows and tokens, and quantise the matrices if asked.

    A trace takes a tenth of the time of torch's newer exporter, and gives a graph that is as fast; but it may take for constant what is not. So
    it is held against torch at other shapes.
    """
    library("onnx")
    whole = path.with_suffix(".whole.onnx") if int8 else path
    try:
        with quiet():
            problem = _attempt(graph, whole)
            if problem is not None:
                reason = str(problem).strip().partition("\n")[0]
                raise PlumeError(f"torch cannot write this model as an ONNX file ({reason}): use torch.") from problem
            if int8:
                keep = {name for name, _ in graph.named_parameters() if any(part in name for part in graph.precise)}
                quantise(whole, path, samples=[_fed(graph, one) for one in graph.samples()], keep=keep)
    finally:
        if int8:
            whole.unlink(missing_ok=True)


def _attempt(graph: Graph, path: Path) -> Exception | None:
    """Write the file, and hold what it computes against torch; what went wrong, if something did."""
    try:
        with torch.inference_mode(False), torch.no_grad():
            _trace(graph, path)
            session = open_session(path)
            graph.require_alike(lambda given: run_given(graph, session, given))
    except PlumeError:
        raise
    except Exception as error:  # the exporter and ONNX Runtime have no error in common
        return error
    return None


def _rms_norm(context: Any, value: Any, shape: Any, weight: Any, epsilon: Any) -> Any:
    two = context.op("Constant", value_t=torch.tensor(2.0))
    mean = context.op("ReduceMean", context.op("Pow", value, two), axes_i=[-1])
    return context.op("Mul", context.op("Div", value, context.op("Sqrt", context.op("Add", mean, epsilon))), weight)


def _log_add_exp(context: Any, one: Any, other: Any) -> Any:
    apart = context.op("Neg", context.op("Abs", context.op("Sub", one, other)))
    single = context.op("Constant", value_t=torch.tensor(1.0))
    return context.op("Add", context.op("Max", one, other), context.op("Log", context.op("Add", single, context.op("Exp", apart))))


_IN_OTHER_WORDS = {"rms_norm": _rms_norm, "logaddexp": _log_add_exp}  # what has no operator of its own in the opset


def _trace(graph: Graph, path: Path) -> None:
    exporter: Any = torch.onnx
    for name, symbolic in _IN_OTHER_WORDS.items():
        exporter.register_custom_op_symbolic(f"aten::{name}", symbolic, _OPSET)
    names: dict[str, Any] = {"input_names": list(graph.inputs), "output_names": list(graph.outputs)}
    axes = {name: graph.axes(name) for name in (*graph.inputs, *graph.outputs)}
    torch.onnx.export(graph, graph.example(), str(path), **names, dynamic_axes=axes, dynamo=False, opset_version=_OPSET)


def open_session(path: Path, *, threads: int = 1) -> Any:
    """ONNX Runtime's, on a CPU. Batches run side by side, each on one thread."""
    runtime: Any = library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _fed(graph: Graph, given: tuple[Tensor, ...]) -> dict[str, Any]:
    return {name: value.numpy() for name, value in zip(graph.inputs, given, strict=True)}


def run_given(graph: Graph, session: Any, given: tuple[Tensor, ...]) -> list[Tensor]:
    """All outputs. What the graph has no use for (the mask, where text is read from left to right) it does not have as an input either."""
    used = {one.name for one in session.get_inputs()}
    fed = {name: value for name, value in _fed(graph, given).items() if name in used}
    return [torch.from_numpy(one) for one in session.run(None, fed)]


class OnnxRunner:
    """Runs the graphs of a model, each made when a batch first needs it. Several threads may share one."""

    int8 = False

    def __init__(self, model: nn.Module, name: str, build: Build) -> None:
        require_graph(model, name)
        library("onnxruntime")
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
                self._opened[signature] = self._open(self._build(signature))
        graph, session = self._opened[signature]
        return run_given(graph, session, graph.given(batch))[0]

    def _open(self, graph: Graph) -> tuple[Graph, Any]:
        """From a file in plume's cache: exporting takes some seconds, so it is done once for the same weights."""
        path = cache_home() / "onnx" / f"{graph.key()}{'-int8' if self.int8 else ''}.onnx"
        if not path.exists():
            write_atomic(path, lambda target: write_onnx(graph, target, int8=self.int8))
        return graph, open_session(path)


class OnnxRuntime:
    """The last layer's states of a language model."""

    runner: type[OnnxRunner] = OnnxRunner

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        self._run = self.runner(model, model.recipe.name, lambda signature: EncoderGraph(model, tokenizer, signature))

    def layers(self, batch: Batch, *, last_only: bool) -> list[Tensor]:
        """[B, T, D] the last layer."""
        if not last_only:
            raise PlumeError("ONNX Runtime computes the last layer alone: use the runtime torch for others.")
        return [self._run(batch)]
