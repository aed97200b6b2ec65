"""How fast a tuned model answers, on this machine and with the threads that torch has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plume.comparing.results import PredictionSpeed
from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel

_TOGETHER = 256  # examples of a pass
_ALONE = 100  # single predictions at least, where time allows: of fewer, one in a hundred says little
_WARM = 8  # examples before anything is timed: the first calls also allocate


def measure_speed(tuned: TunedModel, task: Task, examples: Sequence[Example], *, seconds: float = 2.0) -> PredictionSpeed:
    """Half of the time for passes over the first examples of a file, as `plume predict` answers one; half for one example after another, alone.

    `task` is one of `tuned.tasks`. What is timed goes from text to answer: cutting into tokens, the network, what the answer is made of. Models that
    write and are slow get fewer examples, the first of the same, and at most twice their share of time for the single ones.
    """
    if not examples:
        raise PlumeError(f"{task.called}: there is no example to measure speed with.")
    asked = [replace(example, answer=None) for example in examples[:_TOGETHER]]  # nobody who predicts knows the answers
    tuned.answers(task, asked[:_WARM])
    return _speed(
        together=_rates(tuned, task, _affordable(tuned, task, asked, seconds / 2), seconds / 2),
        alone=_latencies(tuned, task, asked, seconds / 2),
    )


def _speed(*, together: Sequence[float], alone: Sequence[float]) -> PredictionSpeed:
    p50, p99 = np.percentile(alone, [50, 99]).tolist()
    return PredictionSpeed(per_second=float(np.median(together)), p50=1000 * p50, p99=1000 * p99)


def _affordable(tuned: TunedModel, task: Task, examples: list[Example], seconds: float) -> list[Example]:
    """The first so many that a pass over them fits the time, judged by the first few; never fewer than those."""
    first = examples[:_WARM]
    each = _timed(tuned, task, first) / len(first)
    return examples[: max(len(first), int(seconds / each))]


def _rates(tuned: TunedModel, task: Task, examples: list[Example], seconds: float) -> list[float]:
    """Examples a second, pass by pass."""
    found: list[float] = []
    end = time.perf_counter() + seconds
    while not found or time.perf_counter() < end:
        found.append(len(examples) / _timed(tuned, task, examples))
    return found


def _latencies(tuned: TunedModel, task: Task, examples: list[Example], seconds: float) -> list[float]:
    """Seconds of single predictions, in the file's order and from its beginning again."""
    found: list[float] = []
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds or (len(found) < _ALONE and spent < 2 * seconds) or not found:
        found.append(_timed(tuned, task, [examples[len(found) % len(examples)]]))
    return found


def _timed(tuned: TunedModel, task: Task, examples: list[Example]) -> float:
    began = time.perf_counter()
    tuned.answers(task, examples)
    return time.perf_counter() - began
