"""The two kinds of file, and how each is run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.model.use.runtimes._graph import Graph
from plume.model.use.runtimes._onnx_files import open_session, run_given, write_onnx
from plume.model.use.runtimes._onnx_library import quiet

Run = Callable[[tuple[Tensor, ...]], list[Tensor]]


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A file of a graph: what it is called, how it is written and opened, and what a script needs to run it."""

    title: str
    suffix: str
    needs: str  # what a script imports
    opened: str  # … and writes, to have `opened(part)`, which runs that file
    write: Callable[[Graph, Path, bool], None]
    open: Callable[[Graph, Path], Run]


def _write_torchscript(graph: Graph, path: Path, int8: bool) -> None:
    if int8:
        raise PlumeError("--int8 is for --to onnx.")
    with quiet(), torch.inference_mode(False), torch.no_grad():
        traced: Any = torch.jit.trace(graph, graph.example(), check_trace=False)  # type: ignore[no-untyped-call]
        try:
            graph.require_alike(lambda given: traced(*given))
        except AssertionError as error:
            raise PlumeError("torch cannot write this model as TorchScript: at other shapes a trace computes something else.") from error
        torch.jit.save(traced, str(path))


def _open_torchscript(graph: Graph, path: Path) -> Run:
    loaded: Any = torch.jit.load(str(path))  # type: ignore[no-untyped-call]

    def run(given: tuple[Tensor, ...]) -> list[Tensor]:
        with torch.inference_mode():
            found = loaded(*given)
        return [found] if isinstance(found, Tensor) else list(found)

    return run


def _open_onnx(graph: Graph, path: Path) -> Run:
    session = open_session(path)
    return lambda given: run_given(graph, session, given)


KINDS = {
    "onnx": FileKind(
        title="ONNX",
        suffix=".onnx",
        needs="import onnxruntime",
        opened='''def opened(part):
    """What runs a file: arrays by name in, a list of arrays out."""
    session = onnxruntime.InferenceSession(str(here / f"{part}.onnx"))
    return lambda feed: session.run(None, {one.name: feed[one.name] for one in session.get_inputs()})''',
        write=lambda graph, path, int8: write_onnx(graph, path, int8=int8),
        open=_open_onnx,
    ),
    "torchscript": FileKind(
        title="TorchScript",
        suffix=".pt",
        needs="import torch",
        opened='''def opened(part):
    """What runs a file: arrays by name in, a list of arrays out."""
    model, inputs = torch.jit.load(str(here / f"{part}.pt")), config["parts"][part]["inputs"]

    def run(feed):
        with torch.inference_mode():
            return [one.numpy() for one in model(*(torch.from_numpy(feed[name]) for name in inputs))]

    return run''',
        write=_write_torchscript,
        open=_open_torchscript,
    ),
}
