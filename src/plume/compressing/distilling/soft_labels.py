"""A teacher's answers as data: its scores for every row, computed once, kept in the cache under the content's name.

Scores, not probabilities: a probability's last digits are what a temperature above 1 looks at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from plume.compressing.distilling.aligning import aligned
from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.core.identity import folder_hash
from plume.data.store import cache_home
from plume.readers.example import Example
from plume.train.device import to_device
from plume.tuning.kinds.regression import Regression
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.rows.questions import Floats, Questions, inference_batches
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.label_scores import label_table
from plume.tuning.writing.worded import ByText, LabelByText
from plume.tuning.writing.written import TextQuestions


def soft_labels(teachers: Sequence[Path], task: Task, examples: Sequence[Example], asked: Questions, *, device: str = "cpu") -> Floats:
    """The mean of the teachers' scores, a line for each thing that is `asked` of the student; NaN where none of them says anything."""
    found = [_scores_of(folder, task, examples, asked, device) for folder in teachers]
    if len(found) == 1:
        return found[0]
    there = ~np.isnan(found)
    total = np.where(there, found, 0.0).sum(0, dtype=np.float64)
    return np.where(there.any(0), total / np.maximum(there.sum(0), 1), np.nan).astype(np.float32)


def _scores_of(folder: Path, task: Task, examples: Sequence[Example], asked: Questions, device: str) -> Floats:
    teacher = TunedModel.load(folder, device=device)
    own = task_of(teacher, task, folder)
    if isinstance(own, ByText) and not isinstance(own, LabelByText):
        raise PlumeError(
            f"{folder} writes its answers to {own.called}, and a text has no scores to learn: tune the teacher with --answer head, or learn from "
            "what it writes (--method sequence)."
        )
    questions, _ = own.questions(examples, teacher.coder())
    table = computed_once(f"soft-labels/{key_of(folder, own, examples)}.npy", lambda: _said(teacher, own, questions, examples))
    if isinstance(own, Regression) and isinstance(task, Regression):
        table = table + np.float32(own.origin - task.origin)
    return aligned(table, questions, asked)


def _said(teacher: TunedModel, task: Task, questions: Questions, examples: Sequence[Example]) -> Floats:
    return task.taught(teacher, examples) if isinstance(task, Prompted) else soft_table(teacher, task, questions)


def computed_once(name: str, work: Callable[[], Floats]) -> Floats:
    """What `work` gives, kept in the cache under this name."""
    cached = cache_home() / name
    by_first(lambda: write_atomic(cached, lambda target: _save(target, work())), unless=cached.exists)
    table: Floats = np.load(cached)
    return table


def by_first(work: Callable[[], object], *, unless: Callable[[], bool]) -> None:
    """Of several processes, which all call this, the first one works, and the others do so only if they cannot see what it wrote."""
    others = dist.is_initialized() and dist.get_world_size() > 1
    if others and dist.get_rank() > 0:
        dist.barrier()
    if not unless():
        work()
    if others and dist.get_rank() == 0:
        dist.barrier()


def task_of(teacher: TunedModel, task: Task, folder: Path) -> Task:
    """The teacher's own, which must have the same labels: the one of that name, or the first."""
    plain = _plain(task)
    own = [one for one in teacher.tasks if type(_plain(one)) is type(plain) and one.labels == task.labels]
    if not own:
        known = ", ".join(f"{one.called} ({', '.join(one.labels[:6])}{' …' if len(one.labels) > 6 else ''})" for one in teacher.tasks)
        raise PlumeError(f"{folder} cannot teach {task.called} ({', '.join(task.labels[:6])} …): it is tuned for {known}.")
    return next((one for one in own if one.called == task.called), own[0])


def _plain(task: Task) -> Task:
    return task.task if isinstance(task, ByText) else task


def key_of(folder: Path, task: Task, examples: Sequence[Example]) -> str:
    """Of the teacher, and of what it is asked."""
    found = hashlib.blake2b(digest_size=16)
    found.update(folder_hash(folder).encode())
    found.update(json.dumps(task.to_json(), sort_keys=True, default=str).encode())
    for one in examples:
        found.update(json.dumps([one.texts, one.words, one.languages, sorted(one.named.items(), key=str)], default=str).encode())
    return found.hexdigest()


def _save(target: Path, table: Floats) -> None:
    with target.open("wb") as file:  # np.save would add an ending to the name
        np.save(file, table)


@torch.inference_mode()
def soft_table(teacher: TunedModel, task: Task, questions: Questions) -> Floats:
    """What the teacher says as a student is taught by it, a line for each thing asked."""
    if isinstance(questions, TextQuestions):
        return label_table(teacher.body.model, teacher.coder(), questions, task.labels)
    head, table = teacher.model.head(questions.name), None
    for index in inference_batches(questions):
        batch = to_device(teacher.finish(questions.batch(index), questions), teacher.device)
        scores = head.taught(teacher.model.states(batch), batch.labels[questions.name]).float().cpu().numpy()
        if table is None:
            table = np.zeros((questions.lines, scores.shape[-1] if scores.ndim > 1 else 1), np.float32)
        questions.keep(table, scores, index)
    assert table is not None, "there is at least one question"
    return table
