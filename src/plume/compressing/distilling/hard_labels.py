"""What a teacher decides, as answers to learn from: for text that has none, and for texts that are written (Kim & Rush, arXiv:1606.07947 §3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plume.compressing.distilling.soft_labels import by_first, key_of, soft_labels, task_of
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.data.store import cache_home
from plume.readers.example import Example
from plume.readers.schemes import Span
from plume.readers.squad_answers import GoldAnswer
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.tagging import Tagging
from plume.tuning.rows.rows import Coder
from plume.tuning.task import Prediction, Task
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.worded import ByText
from plume.tuning.writing.written import WrittenTask


def hard_labels(teachers: Sequence[Path], task: Task, examples: Sequence[Example], coder: Coder, *, device: str = "cpu") -> list[Example]:
    """The same rows with the teachers' answers; `coder` is the student's, by which their scores are averaged."""
    bare = [replace(example, answer=None) for example in examples]
    if isinstance(task, WrittenTask):
        predictions = _written(teachers, task, bare, device)
    else:
        asked, _ = task.questions(bare, coder.fresh())
        predictions = task.answers(np.nan_to_num(soft_labels(teachers, task, bare, asked, device=device)), asked, bare)
    return [replace(example, answer=_answer(task, example, said)) for example, said in zip(bare, predictions, strict=True)]


def _written(teachers: Sequence[Path], task: Task, examples: list[Example], device: str) -> list[Prediction]:
    """Computed once, and kept as soft labels are."""
    if len(teachers) > 1:
        raise PlumeError(f"{task.called}: several teachers write several texts, of which there is no mean: give one.")
    (folder,) = teachers
    teacher = TunedModel.load(folder, device=device)
    own = task_of(teacher, task, folder)
    cached = cache_home() / "hard-labels" / f"{key_of(folder, own, examples)}.json"
    by_first(lambda: write_json(cached, teacher.answers(own, examples)[0]), unless=cached.exists)
    found: list[Prediction] = read_json(cached, "what a teacher wrote; delete it to have it written anew")
    return found


def _answer(task: Task, example: Example, said: Prediction) -> Any:
    """A prediction as a reader would have given it."""
    if isinstance(task, ByText):
        return _answer(task.task, example, said)
    if isinstance(task, Tagging):
        if example.words is not None:
            return tuple(said["tags"])
        return [Span(start=one["start"], end=one["end"], label=one["label"]) for one in said["entities"]]
    if isinstance(task, QuestionAnswering):
        return [GoldAnswer(said["answer"], said["start"])] if said["answer"] else []
    found = [said[name] for name in ("label", "labels", "text", "answer", "score") if name in said]
    if not found:
        raise PlumeError(f"{task.called}: what a teacher says is no answer that could be learned as people's are.")
    return found[0]
