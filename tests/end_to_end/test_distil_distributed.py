"""Distillation under torchrun: two processes with the same global batch compute what one computes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from plume.tuning.options import start_from_options

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "plume")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tinybert", "distil"])  # the one leaves out parameters in each stage, the other brings kept answers
def test_two_processes_equal_one(
    method: str,
    tmp_path: Path,
    start: Callable[..., Any],
    launch: Callable[..., subprocess.Popen[str]],
    pretraining: Callable[..., list[str]],
) -> None:
    pretrained = start(pretraining(tmp_path / "base", budget="2steps"))
    assert pretrained.wait() == 0
    source = random.Random(1)
    lines = [(f"{source.choice(['the cat', 'my sister'])} {word} a letter", word) for word in ("sunny", "rainy") * 16]
    (tmp_path / "train.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in lines))
    (tmp_path / "more.txt").write_text("".join(f"{text}\n" for text, _ in lines[:8]))
    table = str(tmp_path / "train.tsv")
    start_from_options(
        tmp_path / "base", task="classification", train=table, dev=table, out=tmp_path / "teacher", epochs=1.0, batch=8, quiet=True
    )
    call = [
        "compress",
        str(tmp_path / "teacher"),
        "--method",
        method,
        "--epochs",
        "2",
        "--batch",
        "8",
        "--text",
        str(tmp_path / "more.txt"),
    ]
    call += ["--set", "adaptation=FullTuning(dropout=0.0)", "--quiet"]  # each process draws its own
    alone = start([*call, "--out", str(tmp_path / "one")])
    assert alone.wait() == 0, alone.communicate()[1]
    both = launch([*call, "--out", str(tmp_path / "two")], launcher=TORCHRUN)
    _, err = both.communicate()
    assert both.returncode == 0, err
    one, two = (
        [json.loads(line) for line in (tmp_path / name / "train" / "metrics.jsonl").read_text().splitlines()] for name in ("one", "two")
    )
    assert len(one) == len(two)
    for ours, theirs in zip(one, two, strict=True):
        assert {k: v for k, v in ours.items() if k.startswith("loss/")} == pytest.approx(
            {k: v for k, v in theirs.items() if k.startswith("loss/")}, rel=2e-5, abs=1e-9
        )
    left, right = load_file(tmp_path / "one" / "model.safetensors"), load_file(tmp_path / "two" / "model.safetensors")
    assert left.keys() == right.keys() and all(torch.allclose(left[name], right[name], atol=2e-4, rtol=0) for name in left)
