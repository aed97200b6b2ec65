"""metrics.jsonl: one line a report, appended as the run goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plume.core.files import clear_disk_errors, write_text

METRICS = Path("train") / "metrics.jsonl"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """All lines; a last one that a kill cut short is left out."""
    path = folder / METRICS
    if not path.exists():
        return []
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in whole]


class MetricsLog:
    """Appends; on resuming, what was written after the checkpoint is dropped first, so that no step appears twice."""

    def __init__(self, folder: Path, *, resumed_at: int, tensorboard: bool = False) -> None:
        kept = [line for line in read_metrics(folder) if line["step"] <= resumed_at]
        write_text(folder / METRICS, "".join(json.dumps(line) + "\n" for line in kept))
        self._path = folder / METRICS
        self._file = self._path.open("a", encoding="utf-8", buffering=1)
        self._board = _board(folder) if tensorboard else None

    def write(self, **values: float | str) -> None:
        """One line."""
        with clear_disk_errors(self._path):
            self._file.write(json.dumps(values) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float) and name != "step":
                    self._board.add_scalar(name, value, int(values["step"]))

    def close(self) -> None:
        """After the last line."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def _board(folder: Path) -> Any:
    from plume.core.errors import PlumeError

    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise PlumeError("TensorBoard is not installed: pip install 'plume-lm[tensorboard]', or leave --tensorboard out.") from None
    return SummaryWriter(folder / "train" / "tensorboard")
