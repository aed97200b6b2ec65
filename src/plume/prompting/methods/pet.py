"""PET (arXiv:2001.07676): an ensemble of templates gives texts soft labels, from which an ordinary classifier learns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.patterns import PatternMember, members_of, mixed, scores_of, weights_of
from plume.prompting.soft_labels import SoftLabelSettings, write_soft_labels
from plume.tuning.rows.questions import Floats
from plume.tuning.settings import epochs_for
from plume.tuning.writing.by_text import By

_ROWS = 16  # of a batch of the classifier, where nothing is said


@dataclass(frozen=True, kw_only=True)
class PatternEnsemble(PromptMethod):
    """Differs from the paper: a member's loss has no masked LM beside it."""

    several: ClassVar[bool] = True
    usual: ClassVar[int] = 3
    unlabelled: ClassVar[bool] = True

    runs: int = 3  # of each template
    weighted: bool = True  # by what each template gets right before training
    temperature: float = 2.0
    soft_epochs: float | None = None  # of the classifier over the texts; None: by how many there are

    def __post_init__(self) -> None:
        if self.temperature <= 0 or (self.soft_epochs is not None and self.soft_epochs <= 0):
            raise PlumeError(f"temperature and soft_epochs are above 0, not {self.temperature} and {self.soft_epochs}.")

    def run(self, job: PromptJob) -> str | None:
        job.require_text()
        members = self.members(job)
        weights = weights_of(job)
        job.say(*(f'"{template}" gets {weight:.3f} of the training examples right before training' for template, weight in weights.items()))
        tables = self.tables(job, members, weights)
        if isinstance(tables, str):
            return tables
        soft = job.folder / "train" / "soft_labels.jsonl"
        if not soft.exists():
            write_soft_labels(soft, job.unlabelled, mixed(tables, [self.weight(weights, one) for one in members]))
        stopped_by = job.tune(
            job.prepared.task, job.folder, kind=SoftLabelSettings, soft=str(soft.absolute()), temperature=self.temperature,
            budget=self._budget(job), wishes=replace(job.wishes, batch=self._batch(job)),
            answer=By.HEAD,  # whose scores are compared; also of those that could write it
        ).outcome.stopped_by  # fmt: skip
        if stopped_by is None:
            job.clear_parts()
        return stopped_by

    def members(self, job: PromptJob) -> list[PatternMember]:
        """Those that are trained."""
        return members_of(job, self.runs)

    def weight(self, weights: dict[str, float], member: PatternMember) -> float:
        """Of its scores."""
        return weights[member.template] if self.weighted else 1.0

    def tables(self, job: PromptJob, members: list[PatternMember], weights: dict[str, float]) -> list[Floats] | str:
        """What each member says of the texts; or the signal that stopped it."""
        found = []
        for number, member in enumerate(members, 1):
            job.say(f'model {number} of {len(members)}: "{member.template}", run {member.run + 1}')
            table = scores_of(job, member, job.parts / member.name)
            if isinstance(table, str):
                return table
            found.append(table)
        return found

    def _budget(self, job: PromptJob) -> str:
        """The user's, or some epochs over all texts."""
        if job.settings.budget is not None:
            return job.settings.budget
        texts = len(job.unlabelled)
        epochs = epochs_for(texts) if self.soft_epochs is None else self.soft_epochs
        return f"{max(1, round(epochs * -(-texts // self._batch(job))))}steps"

    def _batch(self, job: PromptJob) -> int:
        """By the texts, not by the few examples beside them."""
        return job.settings.batch or _ROWS


METHOD = PatternEnsemble()
