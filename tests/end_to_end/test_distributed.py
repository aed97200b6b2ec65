"""Under torchrun: two processes with the same global batch compute what one computes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

Launch = Callable[..., "subprocess.Popen[str]"]
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "plume")

WIDE = ("network.width=128", "embedding.width=128", "network.feed_forward=129")  # enough for Adafactor to factor
NO_DROPOUT = tuple(  # each process draws its own
    f"{name}=0.0"
    for name in ("embedding.word_dropout", *(f"network.{kind}dropout" for kind in ("", "input_", "output_")), "network.weight_drop")
)
DROPPED = ("network.layer_drop=0.5", "training.epsilon=1e-4")
LARGE_EPSILON = ("training.epsilon=1e-4",)  # Adam makes whole steps of gradients that are rounding alone


def losses(folder: Path) -> list[dict[str, float]]:
    lines = map(json.loads, (folder / "train/metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name.startswith(("loss/", "held_out/"))} for line in lines]


@pytest.mark.parametrize(
    ("family", "flags", "settings"),
    [
        ("bert", (), ()),
        pytest.param("bert", ("--fsdp",), (), marks=pytest.mark.slow),
        pytest.param("bert", ("--accumulate", "2"), (), marks=pytest.mark.slow),
        pytest.param("bert", (), DROPPED, marks=pytest.mark.slow),  # which layers a step leaves out all processes draw alike
        pytest.param("bert", ("--fsdp",), DROPPED, marks=pytest.mark.slow),
        pytest.param("bert", ("--fsdp",), (*WIDE, "training.optimizer=LAMB()"), marks=pytest.mark.slow),  # norms of whole matrices,
        pytest.param(
            "bert", ("--fsdp",), (*WIDE, "training.optimizer=Adafactor()"), marks=pytest.mark.slow
        ),  # and sums over rows and columns
        pytest.param("transformer-xl", (), (), marks=pytest.mark.slow),  # every process remembers its own rows,
        pytest.param("xlnet", ("--accumulate", "2"), (), marks=pytest.mark.slow),  # and every part of them
        pytest.param("ulmfit", ("--accumulate", "2"), NO_DROPOUT, marks=pytest.mark.slow),  # carries its state on
        pytest.param("elmo", ("--accumulate", "2"), LARGE_EPSILON, marks=pytest.mark.slow),  # and each part reads both ways
        pytest.param("realm", (), (*LARGE_EPSILON, "assembly.refresh=4"), marks=pytest.mark.slow),  # each makes its share of the index
    ],
)
def test_two_processes_equal_one(
    family: str,
    flags: tuple[str, ...],
    settings: tuple[str, ...],
    tmp_path: Path,
    start: Callable[..., Any],
    launch: Launch,
    pretraining: Callable[..., list[str]],
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    alone = start(pretraining(one, family, settings=settings))
    assert alone.wait() == 0, alone.communicate()[1]
    both = launch([*pretraining(two, family, settings=settings), *flags], launcher=TORCHRUN)
    _, err = both.communicate()
    assert both.returncode == 0, err
    assert len(losses(one)) == len(losses(two)) > 12
    chooses = family == "realm"  # among documents that are nearly alike to an untrained retriever, rounding chooses
    for ours, theirs in zip(losses(one), losses(two), strict=True):
        assert ours == (pytest.approx(theirs, rel=2e-3, abs=2e-3) if chooses else pytest.approx(theirs, rel=2e-5))
    left, right = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert torch.allclose(value, right[name], atol=5e-3 if chooses else 2e-4, rtol=0), name


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["AdamW()", "Adafactor()"])
def test_a_sharded_run_goes_on_with_the_same_bits(
    optimizer: str, tmp_path: Path, launch: Launch, pretraining: Callable[..., list[str]]
) -> None:
    """The last checkpoint of a run is written after a measurement, which leaves some parameters whole."""
    settings = (*WIDE, f"training.optimizer={optimizer}", "training.schedule=Constant()")
    calls = [
        [*pretraining(tmp_path / "whole", budget="8steps", settings=settings), "--fsdp"],
        [*pretraining(tmp_path / "parts", budget="4steps", settings=settings), "--fsdp"],
        ["pretrain", "--resume", str(tmp_path / "parts"), "--budget", "8steps"],
    ]
    for call in calls:
        process = launch(call, launcher=TORCHRUN)
        _, err = process.communicate()
        assert process.returncode == 0, err
    for name in ("model.safetensors", "train/checkpoint-000000008/optimiser.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes(), name


@pytest.mark.slow
def test_a_batch_that_does_not_divide_is_refused(tmp_path: Path, launch: Launch, pretraining: Callable[..., list[str]]) -> None:
    process = launch(pretraining(tmp_path / "run", settings=("training.batch=9",)), launcher=TORCHRUN)
    _, err = process.communicate()
    assert process.returncode != 0
    assert "does not divide over 2 processes" in err
