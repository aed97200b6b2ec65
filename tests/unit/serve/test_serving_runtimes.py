"""Which runtime a server embeds with: all agree, and "auto" takes the fastest of those that do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.serve.models import runtimes
from plume.serve.settings import ServeSettings

TEXTS = ["The cat finds a wooden box.", "小猫喜欢苹果。"]


@pytest.mark.slow
def test_a_runtime_gives_the_same_vectors(server: Callable[..., Any], single: Path) -> None:
    with server(single, runtime="onnx") as running:
        assert running.client.get("/v1/models").json()["data"][0]["runtime"] == "onnx"
        answer = running.client.post("/v1/embeddings", json={"model": "single", "input": TEXTS}).json()
    found = np.array([one["embedding"] for one in answer["data"]])
    np.testing.assert_allclose(found, plume.load(single).embed(TEXTS), atol=1e-4)


@pytest.fixture(scope="module")
def single(directory: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bert in single precision, as ONNX Runtime has it."""
    folder = tmp_path_factory.mktemp("single") / "single"
    model = plume.load(directory("bert"))
    model.model.float()
    model.save(folder)
    return folder


@pytest.mark.slow
def test_auto_takes_the_fastest_that_agrees(single: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = plume.load(single)
    seconds = {"TorchRuntime": 3.0, "OnnxRuntime": 2.0, "OnnxInt8Runtime": 1.0}
    monkeypatch.setattr(runtimes, "_seconds", lambda one: seconds[type(one.runtime).__name__])
    monkeypatch.setattr(runtimes, "_agreement", lambda ours, theirs: 0.995)
    assert runtimes.with_runtime(model, "auto")[1] == "onnx-int8"
    monkeypatch.setattr(runtimes, "_agreement", lambda ours, theirs: 1.0 if np.allclose(ours, theirs, atol=1e-4) else 0.98)
    assert runtimes.with_runtime(model, "auto")[1] == "onnx"
    seconds["TorchRuntime"] = 0.5
    assert runtimes.with_runtime(model, "auto")[1] == "torch"


def test_what_onnx_cannot_run_torch_does(directory: Callable[[str], Path]) -> None:
    model = plume.load(directory("elmo"))
    assert runtimes.with_runtime(model, "onnx") == (model, "torch")
    assert runtimes.with_runtime(model, "auto") == (model, "torch")


def test_agreement_is_the_smallest_cosine() -> None:
    assert runtimes._agreement(np.eye(2), np.array([[1.0, 0], [1, 1]])) == pytest.approx(0.5**0.5)


def test_unknown_runtimes_are_refused() -> None:
    with pytest.raises(PlumeError, match="did you mean onnx"):
        ServeSettings(runtime="onx")
