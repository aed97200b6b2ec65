"""A run that is killed and resumed ends with the same bits as one that was not."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BUDGET = "150steps"
SETTINGS = ("network.dropout=0.1", "network.attention_dropout=0.1", "embedding.dropout=0.1")


def last_step(folder: Path) -> int:
    path = folder / "train" / "metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    return int(json.loads(whole[-1])["step"]) if whole else 0


# A run that waits at this step for its end: however late the signal comes, the run is not over.
HELD = """
from plume.train.metrics import MetricsLog
write = MetricsLog.write
def held(self, **values):
    write(self, **values)
    while values["step"] >= 140:
        signal.pause()
MetricsLog.write = held
"""


# One network, two, none that looks ahead, some that look back at a memory, and one at an index, which must come back too.
FAMILIES = [
    "bert",
    *(pytest.param(family, marks=pytest.mark.slow) for family in ("electra", "gpt2", "transformer-xl", "xlnet", "elmo", "ulmfit", "realm")),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_killed_at_a_random_step(family: str, tmp_path: Path, start: Callable[..., Any], pretraining: Callable[..., list[str]]) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    settings = SETTINGS if family in ("elmo", "ulmfit") else (*SETTINGS, "network.layer_drop=0.2")
    if family == "realm":
        settings = (*settings, "assembly.refresh=30")
    undisturbed = start([*pretraining(whole, family, BUDGET, settings), "--save-every", "20steps"])
    victim = start([*pretraining(broken, family, BUDGET, settings), "--save-every", "20steps"], first=HELD)
    moment = random.randrange(25, 140)
    victim.wait_until(lambda: last_step(broken) >= moment)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL, "the run must be killed before it ends by itself"
    stopped_at = last_step(broken)
    assert undisturbed.wait() == 0, undisturbed.communicate()[1]

    resumed = start(["pretrain", "--resume", str(broken)])
    assert resumed.wait() == 0, resumed.communicate()[1]
    last = Path("train/checkpoint-000000150")
    kept = {path.name for path in (whole / last).glob("*.safetensors")}
    assert ("memory.safetensors" in kept) is (family in ("transformer-xl", "xlnet", "elmo", "ulmfit", "realm"))
    for name in ("model.safetensors", *(str(last / name) for name in kept)):
        assert (whole / name).read_bytes() == (broken / name).read_bytes(), f"{name} differs after a kill at step {stopped_at}"
    states = [json.loads((folder / last / "state.json").read_text()) for folder in (whole, broken)]
    assert states[0]["cursors"] == states[1]["cursors"]
    steps = [line["step"] for line in map(json.loads, (broken / "train/metrics.jsonl").read_text().splitlines()) if "rate" in line]
    assert steps == list(range(1, 151)), "every step is reported once"


def test_sigterm_saves_and_leaves(tmp_path: Path, start: Callable[..., Any], pretraining: Callable[..., list[str]]) -> None:
    out = tmp_path / "run"
    process = start([*pretraining(out, "bert", "100000steps"), "--save-every", "90000steps"])
    process.wait_until(lambda: last_step(out) >= 10)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "--resume" in err and "Traceback" not in err
    (checkpoint,) = (out / "train").glob("checkpoint-*")
    saved = int(checkpoint.name.split("-")[1])
    assert saved >= 10
    assert (out / "card.md").exists()

    more = start(["pretrain", "--resume", str(out), "--budget", f"{saved + 5}steps"])
    assert more.wait() == 0
    assert last_step(out) == saved + 5
