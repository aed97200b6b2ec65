"""Bytes, parameters and memory are what they are."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from plume.comparing.measuring import sizes
from plume.core.errors import PlumeError
from plume.model.checkpoint import save_model


def test_disk_leaves_out_what_only_training_needs(tmp_path: Path) -> None:
    (tmp_path / "train" / "deep").mkdir(parents=True)
    (tmp_path / "generator" / "train").mkdir(parents=True)
    (tmp_path / "model.safetensors").write_bytes(b"x" * 1000)
    os.link(tmp_path / "model.safetensors", tmp_path / "train" / "model.safetensors")
    (tmp_path / "train" / "deep" / "optimizer").write_bytes(b"x" * 5000)
    (tmp_path / "generator" / "train" / "kept").write_bytes(b"x" * 20)
    (tmp_path / "card.md").write_bytes(b"x" * 3)
    assert sizes.disk(tmp_path) == 1023
    with pytest.raises(PlumeError, match="no model directory"):
        sizes.disk(tmp_path / "missing")


@pytest.mark.parametrize("family", ["bert", "albert", "t5", "electra"])
def test_parameters_are_those_of_the_network(family: str, miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    recipe = miniature(family)
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    save_model(tmp_path, model, tokenizer)
    assert sizes.parameters(tmp_path) == sum(parameter.numel() for parameter in model.parameters())


def test_parameters_of_a_model_larger_than_memory(tmp_path: Path) -> None:
    """Only the header is read: the rest of this file is a hole."""
    count = 2**36
    header = json.dumps({"a": {"dtype": "F32", "shape": [2**18, 2**18], "data_offsets": [0, 4 * count]}}).encode()
    with (tmp_path / "model.safetensors").open("wb") as handle:
        handle.write(struct.pack("<Q", len(header)) + header)
        try:
            handle.truncate(8 + len(header) + 4 * count)
        except OSError:
            pytest.skip("this file system has no holes")
    before = sizes.peak_memory()
    assert sizes.parameters(tmp_path) == count and sizes.peak_memory() - before < 2**26


def test_weights_that_are_missing_or_broken(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="is missing"):
        sizes.parameters(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x08" + b"\x00" * 7 + b"{")
    with pytest.raises(PlumeError, match="cannot be read"):
        sizes.parameters(tmp_path)


_CHILD = """
import numpy
from plume.comparing.measuring.sizes import peak_memory
print(peak_memory())
block = numpy.ones(2**25)
print(peak_memory())
del block
print(peak_memory())
"""


def test_peak_memory_is_of_this_process_alone() -> None:
    """The highest so far, in bytes; and Linux would hand down what the process holds that starts another."""
    held = np.ones(2**27)  # 1 GiB
    asked = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, text=True, check=True)
    before, high, after = map(int, asked.stdout.split())
    assert 2**25 < before < held.nbytes * 0.7, before
    assert 0.9 * 2**28 < high - before < 1.1 * 2**28 and after > 0.99 * high  # the kernel counts in lots


@pytest.mark.parametrize(("system", "expected"), [("darwin", 5_000), ("linux", 5_120_000)])
def test_peak_memory_by_the_units_of_the_system(system: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "Path", lambda _: SimpleNamespace(read_text=_missing))
    monkeypatch.setattr(sizes, "sys", SimpleNamespace(platform=system))
    monkeypatch.setattr(sizes.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=5_000))
    assert sizes.peak_memory() == expected


def _missing(**_: Any) -> str:
    raise FileNotFoundError


def test_machine_and_versions() -> None:
    found = sizes.machine()
    assert found["threads"] == str(torch.get_num_threads()) and 1 <= int(found["cores"]) <= (os.cpu_count() or 1)
    assert found["processor"] and float(found["memory"].split()[0]) > 0 and all(isinstance(value, str) for value in found.values())
    assert sizes.versions()["torch"] == torch.__version__ and sizes.versions()["numpy"] == np.__version__
