"""What all models of a study are scored on, read once for each who asks: the worker, the rehearsal, the collector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plume.comparing.study import StudyTask
from plume.core.errors import PlumeError
from plume.readers.example import Reading
from plume.tuning.options import named
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.settings import TaskData
from plume.tuning.task import Columns


def scored_examples(task: StudyTask) -> tuple[PreparedTask, list[Any], Reading]:
    """The task as its training file teaches it, and what all models are scored on."""
    columns = Columns(texts=task.text, answer=task.label)
    data = TaskData(task=named(task.kind), train=(task.train,), dev=(task.dev or task.scored,))
    ready = prepare(data, columns)
    if task.dev is None:
        return ready, ready.dev, ready.readings[-1]
    reading = Reading(file=Path(task.scored))
    examples = list(ready.task.read([Path(task.scored)], reading, labelled=True))
    if not examples:
        raise PlumeError(f"{task.scored} has no usable example. {' '.join(reading.lines()[1:])}")
    ready.task.check(examples, Path(task.scored))
    return ready, examples, reading
