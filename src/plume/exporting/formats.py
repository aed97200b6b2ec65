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
    file: str
    needs: str  # what a script imports
    opened: str  # … and writes, to have `run`
    write: Callable[[Graph, Path, bool], None]
    open: Callable[[Graph, Path], Run]


def _write_torchscript(graph: Graph, path: Path, int8: bool) -> None:
    if int8:
        raise PlumeError("--int8 is for --to onnx.")
    with quiet(), torch.inference_mode(False), torch.no_grad():
        traced: Any = torch.jit.trace(  # type: ignore[no-untyped-call]
            graph, graph.example(), check_inputs=list(graph.trials()), check_tolerance=1e-3
        )
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
        file="model.onnx",
        needs="import onnxruntime",
        opened="""session = onnxruntime.InferenceSession(str(here / "model.onnx"))


def run(feed):
    return session.run(None, {one.name: feed[one.name] for one in session.get_inputs()})""",
        write=lambda graph, path, int8: write_onnx(graph, path, int8=int8),
        open=_open_onnx,
    ),
    "torchscript": FileKind(
        title="TorchScript",
        file="model.pt",
        needs="import torch",
        opened="""model = torch.jit.load(str(here / "model.pt"))


def run(feed):
    with torch.inference_mode():
        return [one.numpy() for one in model(*(torch.from_numpy(feed[name]) for name in config["inputs"]))]""",
        write=_write_torchscript,
        open=_open_torchscript,
    ),
}
