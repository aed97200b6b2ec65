"""Training sentence vectors as a user runs it: under torchrun, from the command line."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import plume
from plume.model.checkpoint import save_model

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
SCRIPT = """
import json, sys
import plume
plume.sentences.train(**json.loads(sys.argv[1]))
"""
TEXTS = [
    f"{who} {does} {what}"
    for who in ("the cat", "my sister", "我们")
    for does in ("finds", "paints", "喜欢")
    for what in ("a letter", "苹果")
]


@pytest.fixture
def base(tmp_path: Path, miniature: Any, tokenizer_for: Any) -> Path:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "base", model, tokenizer)
    rows = [f"{a}\t{b}\t{i % 2}\n" for i, (a, b) in enumerate(itertools.pairwise(TEXTS))]
    (tmp_path / "pairs.tsv").write_text("".join(rows), encoding="utf-8")
    return tmp_path / "base"


def losses(folder: Path) -> list[dict[str, float]]:
    lines = map(json.loads, (folder / "train/metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name.startswith("loss/")} for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "parts"), [("ranking", 1), ("ranking", 2), ("cosent", 1), ("simbert", 1), ("matryoshka", 1)])
def test_two_processes_equal_one(method: str, parts: int, base: Path, tmp_path: Path) -> None:
    """The negatives are those of all processes. Without dropout, which each process draws for itself."""
    given: dict[str, Any] = {
        "model": str(base), "method": method, "text": str(tmp_path / "pairs.tsv"), "batch": 8, "dropout": 0.0,
        "budget": "6steps", "log_every": 1, "quiet": True, "rate": 1e-3, "overrides": ["epsilon=1e-4"],
    }  # fmt: skip
    plume.sentences.train(**given, out=tmp_path / "one", accumulate=parts)
    (tmp_path / "run.py").write_text(SCRIPT)
    call = [*TORCHRUN, str(tmp_path / "run.py"), json.dumps(given | {"out": str(tmp_path / "two"), "accumulate": parts})]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(losses(tmp_path / "one")) == len(losses(tmp_path / "two")) == 12
    for ours, theirs in zip(losses(tmp_path / "one"), losses(tmp_path / "two"), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-4, abs=1e-6)
    left, right = load_file(tmp_path / "one/model.safetensors"), load_file(tmp_path / "two/model.safetensors")
    for name, value in left.items():
        assert torch.allclose(value, right[name], atol=2e-4, rtol=0), name
