"""How fast a tuned model answers, on this machine and with the threads that torch has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from plume.core.errors import PlumeError
from plume.core.timing import PredictionSpeed, Timed, measure_side_by_side
from plume.readers.example import Example
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel


def measure_speed(tuned: TunedModel, task: Task, examples: Sequence[Example], *, seconds: float = 2.0) -> PredictionSpeed:
    """Half of the time for passes over the first examples of a file, as `plume predict` answers one; half for one example after another, alone.

    `task` is one of `tuned.tasks`. What is timed goes from text to answer: cutting into tokens, the network, what the answer is made of.
    """
    return measure_side_by_side([answering(tuned, task, examples)], seconds=seconds)[0]


def answering(tuned: TunedModel, task: Task, examples: Sequence[Example]) -> Timed:
    """The model at this task, to be timed beside others."""
    if not examples:
        raise PlumeError(f"{task.called}: there is no example to measure speed with.")
    asked = [replace(example, answer=None) for example in examples]  # nobody who predicts knows the answers
    return Timed(answer=lambda some: tuned.answers(task, some), items=asked)
