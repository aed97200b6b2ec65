"""Distil: the one compression that every way to learn from a teacher is a variant of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from plume.compressing.distilling.augmenting.augmentation import Augmentation
from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits
from plume.compressing.distilling.feeding import Labelling, read_plain
from plume.compressing.distilling.inner import inner_of
from plume.compressing.distilling.lesson import DistilSettings
from plume.compressing.distilling.on_corpus import distil_on_corpus, go_on
from plume.compressing.distilling.stages import stages_of
from plume.compressing.distilling.students import recipe_of_student, student_directory, student_for
from plume.compressing.job import CompressionJob
from plume.compressing.method import Compression
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.recipe import Recipe
from plume.model.schedule import LinearStages
from plume.static.recipe import StaticRecipe
from plume.train.budget import Budget
from plume.train.device import choose_device
from plume.train.distributed import Processes
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.bodies import read_model
from plume.tuning.declared import is_tuned, read_declaration
from plume.tuning.kinds.regression import Regression
from plume.tuning.kinds.tagging import Tagging
from plume.tuning.planning import PlannedTuning, plan
from plume.tuning.settings import TaskData, epochs_for
from plume.tuning.task import Task
from plume.tuning.tune import Tuned, begin_planned
from plume.tuning.tune import resume as resume_tuning
from plume.tuning.writing.worded import ByText
from plume.tuning.writing.written import WrittenTask

_NEVER = 1_000_000  # measurements without a better one before a run ends: what is compared with a control has as many steps as it


@dataclass(frozen=True, kw_only=True)
class Distillation(Compression):
    """A teacher, a student, pairs of what they compute, and what the student is fed. `variant` is what users call it."""

    several: ClassVar[bool] = True

    variant: str = "distil"
    student: str | None = None  # a recipe, which takes the teacher's tokenizer, or a model directory; None: the teacher with fewer layers
    depth: int | None = None  # of such a one; None: half of the layers
    start: str | None = None  # random, vectors (the teacher's, cut), layers, layers=0,2,4; None: by the student
    comparisons: tuple[DistilLoss, ...] = (Gold(weight=0.5), Logits(weight=0.5, temperature=2.0))
    temperature: float | None = None  # of the teacher's answers; None: as the comparisons have it
    augmentation: tuple[Augmentation, ...] = ()
    labelling: Labelling = Labelling.PEOPLE
    crf: bool | None = None  # are a sentence's labels chosen together? None: where that suits the student
    adaptation: Adaptation | None = None  # how the student is put to the task; None: as its family is
    untaught: bool = False  # no teacher: rows that only a teacher answers count for the number of steps, and are not read

    @property
    def name(self) -> str:
        return self.variant

    @property
    def is_direct(self) -> bool:
        return self.untaught

    def reads_text(self, *, tuned: bool) -> bool:
        return True

    def makes(self, recipe: Recipe | StaticRecipe) -> Recipe | StaticRecipe:
        return recipe if self.student is None else recipe_of_student(self.student, recipe)

    def likeness(self, source: Path, folder: Path) -> Path:
        return student_directory(source, folder, student=self.student, depth=self.depth, start=self.start, seed=0)

    def as_control(self) -> Self:
        return replace(self, variant="direct", comparisons=(Gold(),), labelling=Labelling.PEOPLE, temperature=None, untaught=True)

    @property
    def compared(self) -> tuple[DistilLoss, ...]:
        """The comparisons, at the temperature that was asked for."""
        if self.temperature is None:
            return self.comparisons
        return tuple(replace(one, temperature=self.temperature) if isinstance(one, Logits) else one for one in self.comparisons)

    def variants(self, depth: int) -> Sequence[Mapping[str, Any]]:
        if self.variant != "distil":  # others differ in what is compared: one that is named is explored as it is
            return []
        half = [{"depth": depth // 2}] if depth > 1 else []
        return [*half, {"student": "bert/mini"}, {"student": "bert/tiny"}]

    def direct(self) -> str | None:
        return None if self.untaught else "direct"

    def run(self, job: CompressionJob) -> str | None:
        if len(job.sources) == 1 and not is_tuned(job.source):
            if self.labelling is not Labelling.PEOPLE:
                raise PlumeError(f"{job.source} is not tuned for a task, so it has no answers to be learned: tune it first (plume tune).")
            trained = self.student is None or Path(self.student).is_dir()
            return distil_on_corpus(job, self.student_of(job), self.compared, trained=trained)
        self.refuse_misfits(job)
        Processes(choose_device()).wait()  # none of them writes before all have seen that the folder is free
        return self.learn(job, self.student_of(job))

    def resume(self, job: CompressionJob) -> str | None:
        if not is_tuned(job.source):
            return go_on(job)
        return ended(resume_tuning(job.folder, quiet=job.quiet))

    def student_of(self, job: CompressionJob) -> Path:
        """The student's directory, before it learns."""
        return student_for(job, student=self.student, depth=self.depth, start=self.start)

    def learn(self, job: CompressionJob, model: Path) -> str | None:
        """The run itself."""
        planned = self._planned(job, model)
        job.save()
        return ended(begin_planned(planned, job.folder, quiet=job.quiet))

    def _planned(self, job: CompressionJob, model: Path) -> PlannedTuning[DistilSettings]:
        made = job.settings
        planned = plan(
            model, self._data(job), DistilSettings, wishes=replace(job.wishes, length=self._length(job, model)), overrides=made.overrides,
            budget=made.budget, known=True, seed=made.seed, split=made.split, adapt=lambda usual: self.adaptation or usual, patience=_NEVER,
            teachers=self.teachers(job), comparisons=self.compared, text=made.text, augmentation=self.augmentation, labelling=self.labelling,
        )  # fmt: skip
        settings = planned.settings
        if len(bounds := stages_of(self.compared)) > 2 and not any(one.startswith("schedule") for one in made.overrides):
            schedule = LinearStages(warmup=settings.training.schedule.warmup, bounds=bounds)
            settings = replace(settings, training=replace(settings.training, schedule=schedule))
        if made.budget is None:
            settings = replace(settings, budget=self._budget(job, planned))
        return planned._replace(settings=settings)

    def teachers(self, job: CompressionJob) -> tuple[tuple[str, ...], ...]:
        """Of each task."""
        sources = job.settings.sources
        return tuple((one,) for one in sources) if self.by_task else (sources,) * len(job.need_data())

    def _data(self, job: CompressionJob) -> tuple[TaskData, ...]:
        return tuple(replace(one, task=self._anew(one.task)) for one in job.need_data())

    def _anew(self, task: Task) -> Task:
        """The teacher's task, with what the teacher's network settled open again for the student's."""
        if isinstance(task, ByText):
            return self._anew(replace(task.task, name=task.name))
        if isinstance(task, WrittenTask):
            return replace(task, way=None)
        if isinstance(task, Tagging):
            return replace(task, crf=self.crf)
        return replace(task, centred=False) if isinstance(task, Regression) else task.anew()

    def _length(self, job: CompressionJob, model: Path) -> int:
        """As long as the teachers' rows, as far as the student can place them."""
        if job.wishes.length is not None:
            return job.wishes.length
        wanted = max(read_declaration(source).length for source in job.sources)
        longest = read_model(model)[0].longest
        return wanted if longest is None else min(wanted, longest)

    def _budget(self, job: CompressionJob, planned: PlannedTuning[DistilSettings]) -> Budget:
        """So many passes over all that the student is fed, unlabelled rows included."""
        rows = sum(len(questions) for questions, _ in planned.ready.asked)
        more = sum(len(read_plain(one.task, path)) for one in planned.prepared for path in job.settings.text)
        total = (rows + more) * (1 + sum(part.copies for part in self.augmentation))
        epochs = epochs_for(total) if job.wishes.epochs is None else job.wishes.epochs
        return Budget(unit="steps", amount=max(1, round(epochs * -(-total // planned.settings.training.batch))))

    def refuse_misfits(self, job: CompressionJob) -> None:
        """Before anything is written."""
        for source in job.sources:
            if not is_tuned(source):
                raise PlumeError(f"{source} is not tuned for a task, so it has no answers to teach: tune it first (plume tune).")
        if len(job.sources) > 1 and inner_of(self.comparisons) and not self.by_task:
            raise PlumeError(f"{self.name} compares what one teacher computes inside: give one model, or --method ensemble for several.")
        if not self.comparisons:
            raise PlumeError(f"{self.name} compares nothing, so there is nothing to learn from: name a comparison.")
        silent = self.labelling is Labelling.PEOPLE and all(isinstance(one, Gold) for one in self.comparisons)
        if silent and not self.untaught and (job.settings.text or self.augmentation):
            raise PlumeError(
                "Unlabelled and altered rows teach by a teacher's answers, and nothing compares them: leave out --text and --augment, add "
                "Logits() to the comparisons, or let the teacher label them (--set labelling=unlabelled)."
            )
        job.need_data()


def ended(made: Tuned) -> str | None:
    """The signal that stopped a run, if one did."""
    return made.outcome.stopped_by
