"""What a task is asked in the check where the user gives no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from plume.model.use.runtimes._samples import TEXTS
from plume.readers.example import Example, Reading
from plume.tasks.multiple_choice import MultipleChoice
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.labelling import TextTask
from plume.tuning.task import Task
from plume.tuning.writing.worded import ByText


def examples_for(task: Task, file: Path | None) -> Sequence[Example]:
    """Of a file in one of the task's formats, or made of texts that plume brings along."""
    if file is None:
        return [task.example(item) for item in _items(task)]
    return list(task.read([file], Reading(file=file), labelled=False))


def _items(task: Task) -> Iterator[Any]:
    task = task.task if isinstance(task, ByText) else task
    for place, text in enumerate(TEXTS):
        other = TEXTS[(place + 5) % len(TEXTS)]
        if isinstance(task, QuestionAnswering):
            yield {"question": other, "context": text}
        elif isinstance(task, MultipleChoice):
            yield {"context": text, "choices": [other, TEXTS[place - 1], TEXTS[place - 2]]}
        else:
            yield (text, other) if isinstance(task, TextTask) and task.texts == 2 else text
