"""Test rows drawn anew, the same for every model: how the scores move with the rows."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.metrics.resampled.measures import Floats, RowScores

RESAMPLES = 2000
_AT_ONCE = 1 << 22  # weights: bounds the memory
Scores = Mapping[str, Mapping[int, RowScores]]  # by model and seed


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A model's scores on a task, one a seed: on the rows as they are, and on every resample of them."""

    rows: int
    seeds: tuple[int, ...]
    scores: Floats  # [S]
    draws: Floats  # [S, B]

    @property
    def mean(self) -> float:
        """Over seeds."""
        return float(self.scores.mean())


def resample(task: str, scores: Scores, *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Resampled]:
    """Models without a score are left out. Tasks have draws of their own, as their rows have nothing to do with each other."""
    measured = {model: dict(sorted(by_seed.items())) for model, by_seed in scores.items() if by_seed}
    rows = _rows(task, measured)
    drawn: dict[str, list[Floats]] = {model: [] for model in measured}
    size = max(1, _AT_ONCE // max(rows, 1))
    for first in range(0, resamples, size):
        weights = _weights(rows, np.arange(first, min(first + size, resamples)), seed=seed, stream=zlib.crc32(task.encode()))
        for model, by_seed in measured.items():
            drawn[model].append(np.stack([one.resampled(weights) for one in by_seed.values()]))
    return {
        model: Resampled(
            rows=rows,
            seeds=tuple(by_seed),
            scores=np.array([one.score for one in by_seed.values()]),
            draws=np.concatenate(drawn[model], axis=1),
        )
        for model, by_seed in measured.items()
    }


def _rows(task: str, scores: Scores) -> int:
    counts = {one.rows: model for model, by_seed in scores.items() for one in by_seed.values()}
    if len(counts) > 1:
        told = " and ".join(f"{model} on {rows:,}" for rows, model in counts.items())
        raise PlumeError(f"{task}: models are compared on the same test rows, but {told} were scored: score all on one file.")
    return next(iter(counts), 0)


def _weights(rows: int, index: np.ndarray, *, seed: int, stream: int) -> Floats:
    """How often each resample [B] holds each row [B, rows]."""
    chosen = Draws(seed=seed, epoch=stream, index=index).integers(rows, rows)
    flat = chosen + rows * np.arange(len(index))[:, None]
    return np.bincount(flat.ravel(), minlength=len(index) * rows).reshape(len(index), rows).astype(np.float64)
