"""What the commands that train share: options of the run and the machine, and how a run that was stopped ends."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

OutFolder = Annotated[Path | None, typer.Option(help="Output model directory.")]
Budgeted = Annotated[str | None, typer.Option(help="Training: 10m, 500steps … instead of --epochs.")]
Precision = Annotated[str | None, typer.Option(help="Machine: auto, fp32, bf16 or fp16.  [default: auto]")]
TrainingDevice = Annotated[str | None, typer.Option(help="Machine: auto, cpu, cuda or mps.  [default: auto]")]
SaveEvery = Annotated[str | None, typer.Option(help="Run: checkpoint interval, as a budget.  [default: 5m]")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Run: also write TensorBoard logs.")]
QuietRun = Annotated[bool, typer.Option("--quiet", "-q", help="Run: print nothing.")]
Resumed = Annotated[Path | None, typer.Option(help="Run: resume this run from its last checkpoint.")]


def given(**options: Any) -> dict[str, Any]:
    """What was given: what was not is not passed on, and is decided where the model and the data are known."""
    return {name: value for name, value in options.items() if value is not None}


def end_if_stopped(stopped_by: str | None, command: str, folder: Path, *, quiet: bool) -> None:
    """A run ended by a signal says how to go on, and exits with the signal's usual code."""
    if stopped_by is None:
        return
    if not quiet:
        print(f"stopped by {stopped_by}; progress is saved. To resume: plume {command} --resume {folder}", file=sys.stderr)
    raise SystemExit(128 + getattr(signal, stopped_by, signal.SIGTERM))
