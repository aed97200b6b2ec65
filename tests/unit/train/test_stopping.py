"""A run that is told to stop, from Python: it is saved, and nobody takes it for one that has ended."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import plume
from plume.train.metrics import METRICS

TEXT = "The cat sees a red box near the river. My sister paints the old house.\n\n" * 40


def stop_when_training(folder: Path) -> None:
    """Sent once there are lines of the run, so that it arrives in the middle of the steps."""
    while not (folder / METRICS).exists() or not (folder / METRICS).stat().st_size:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_stopped_run_raises_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    run = tmp_path / "run"
    watcher = threading.Thread(target=stop_when_training, args=(run,), daemon=True)
    watcher.start()
    with pytest.raises(KeyboardInterrupt, match=r"stopped by SIGTERM, and saved: .*run can be resumed"):
        plume.pretrain(
            "gpt2/tiny", corpus=tmp_path / "text.txt", out=run, budget="1000000steps", quiet=True, log_every=1,
            overrides=["warm_start=none", "training.length=16", "training.batch=2"],
        )  # fmt: skip
    watcher.join()
    done = sum(1 for _ in (run / METRICS).open(encoding="utf-8"))
    plume.resume(run, budget="1steps", quiet=True)
    assert sum(1 for _ in (run / METRICS).open(encoding="utf-8")) >= done
