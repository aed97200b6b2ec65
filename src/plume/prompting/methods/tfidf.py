"""TF-IDF: a control without a model; logistic regression on the words of the examples."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import ClassVar

from plume.core.files import make_folder, write_json
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.tuning.best import BEST_SCORE
from plume.tuning.linear.learning import start_linear
from plume.tuning.settings import TaskData
from plume.tuning.task import Columns


@dataclass(frozen=True, kw_only=True)
class TermControl(PromptMethod):
    """What `plume tune tfidf` does."""

    prompted: ClassVar[bool] = False

    def run(self, job: PromptJob) -> str | None:
        made, place = job.settings, job.parts / "tfidf"
        data = TaskData(task=made.task, train=made.train, dev=made.dev)
        shutil.rmtree(place, ignore_errors=True)  # it takes a moment: one that was stopped begins anew
        made_of = start_linear([data], place, columns=Columns(texts=made.columns, answer=made.answer), seed=made.seed)
        shutil.copytree(place, job.folder, dirs_exist_ok=True)
        shutil.rmtree(place)
        make_folder(job.folder / BEST_SCORE.parent)
        write_json(job.folder / BEST_SCORE, {"step": 0, "main": made_of.scores[made.task.metric], "scores": made_of.scores})
        return None


METHOD = TermControl()
