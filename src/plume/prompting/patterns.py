"""Members of an ensemble: a template and a run each, trained alone, and what they say of texts without a label."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_atomic, write_json
from plume.prompting.job import PromptJob
from plume.prompting.untrained import untrained
from plume.readers.example import Example
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.loaded import load_tuned
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.rows.questions import Floats
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class PatternMember:
    """One model of several."""

    template: str
    number: int  # of its template
    run: int

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"pattern-{self.number}-{self.run}"


def members_of(job: PromptJob, runs: int) -> list[PatternMember]:
    """Every template so many times."""
    if not isinstance(job.prepared.task, LabelTask):
        raise PlumeError(f"--method {job.settings.method.name} gives texts soft labels, and choices have none: take pattern or zero-shot.")
    if runs < 1:
        raise PlumeError(f"Each template is trained once or more often, not {runs} times: --set runs=3")
    return [
        PatternMember(template=template, number=number, run=run) for number, template in enumerate(job.templates) for run in range(runs)
    ]


def weights_of(job: PromptJob) -> dict[str, float]:
    """Of each template the share of the training examples that it gets right before training (arXiv:2001.07676 §3.2)."""
    file = job.parts / "weights.json"
    if not file.exists():
        found = {template: _right_untrained(job, template) for template in job.templates}
        make_folder(job.parts)
        write_json(file, found)
    return {template: float(weight) for template, weight in read_json(file, "the weights of the templates").items()}


def _right_untrained(job: PromptJob, template: str) -> float:
    tuned = untrained(job, job.prompted(template))
    task, examples = tuned.tasks[0], job.prepared.train
    return float(np.mean(task.grades(examples, tuned.answers(task, examples)[0])))


def mixed(tables: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """[N, L] the weighted mean of scores; where no weight says anything the plain one (arXiv:2001.07676 eq. 4)."""
    given = np.array(weights, np.float64)
    given = given if given.sum() > 0 else np.ones(len(tables))
    return np.average(np.stack(tables).astype(np.float64), axis=0, weights=given).astype(np.float32)


def scores_of(job: PromptJob, member: PatternMember, place: Path, *, train: tuple[str, ...] = ()) -> Floats | str:
    """What this member says of the texts without a label once it is trained; or the signal that stopped it. `train`: on other files than the
    job's. The model itself is not kept."""
    kept = place.with_suffix(".npy")
    if not kept.exists():
        own = job.changed(folder=place, seed=job.settings.seed + member.run)
        own = own if not train else own.changed(train=train, dev=(), columns=(), answer=None)
        stopped_by = own.tune_once(own.prompted(member.template), place)
        if stopped_by is not None:
            return stopped_by
        table = table_of(load_tuned(place), job.unlabelled)
        write_atomic(kept, lambda target: _save(target, table))
        shutil.rmtree(place)
    found: Floats = np.load(kept)
    return found


def table_of(tuned: TunedModel, examples: Sequence[Example]) -> Floats:
    """[N, L] the labels' scores."""
    task = tuned.tasks[0]
    assert isinstance(task, Prompted), "members answer through a blank"
    return tuned.table(task.questions(examples, tuned.coder())[0])


def _save(target: Path, table: Floats) -> None:
    with target.open("wb") as file:  # np.save would add an ending to the name
        np.save(file, table)
