"""A student's lesson: what it is fed, and what of it is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.compressing.distilling.augmenting.augmentation import Augmentation
from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits, stretch_of
from plume.compressing.distilling.feeding import FedRows, Feed, Labelling, TaughtReader
from plume.compressing.distilling.inner import inner_of
from plume.compressing.distilling.network import DistilledModel, Tutor
from plume.compressing.distilling.soft_labels import task_of
from plume.compressing.distilling.students import parameters_in
from plume.core.errors import PlumeError
from plume.data.loader import Mixture
from plume.model.checkpoint import WEIGHTS
from plume.train.loop import TrainingPlan
from plume.tuning.lesson import Lesson, Pupil
from plume.tuning.preparing import PreparedTask
from plume.tuning.rows.questions import QuestionReader, Questions
from plume.tuning.settings import TuneSettings
from plume.tuning.tune import POWER, rows_of_a_batch
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.written import TextQuestions


@dataclass(frozen=True, kw_only=True)
class DistilSettings(TuneSettings):
    """A run that learns from teachers, as run.json keeps it."""

    teachers: tuple[tuple[str, ...], ...]  # of each task
    comparisons: tuple[DistilLoss, ...]
    text: tuple[str, ...] = ()  # unlabelled
    augmentation: tuple[Augmentation, ...] = ()
    labelling: Labelling = Labelling.PEOPLE

    @property
    def files(self) -> tuple[str, ...]:
        weights = dict.fromkeys(str(Path(folder) / WEIGHTS) for folders in self.teachers for folder in folders)
        return (*super().files, *self.text, *weights)

    @property
    def taught(self) -> bool:
        """Does anything but the labels of people teach?"""
        return self.labelling is not Labelling.PEOPLE or any(not isinstance(one, Gold) for one in self.comparisons)

    def lesson(self, pupil: Pupil) -> Lesson:
        return teach(self, pupil)


def teach(settings: DistilSettings, pupil: Pupil) -> Lesson:
    """All kinds of rows take turns: labelled ones and those without an answer, of each task."""
    tuned, several = pupil.tuned, len(pupil.prepared) > 1
    readers: list[TaughtReader] = []
    sizes: list[float] = []
    during: list[tuple[float, float]] = []
    notes = _larger(settings, tuned)
    stretches = {
        True: stretch_of(settings.comparisons),
        False: stretch_of([one for one in settings.comparisons if not isinstance(one, Gold)]),
    }
    if stretches[True] != (0.0, 1.0):
        raise PlumeError(
            "From the beginning of the run to its end there must be something to learn from: let the comparisons' stretches meet."
        )
    for one, asked, folders in zip(pupil.prepared, pupil.asked, settings.teachers, strict=True):
        for number, rows in enumerate(_fed(settings, one, asked, folders, tuned)):
            part = stretches[rows.labelled]
            assert part is not None, "rows without an answer are fed where a teacher gives one"
            readers.append(_reader(rows, settings, tuned))
            sizes.append(len(rows.questions) ** POWER if several else len(rows.questions))
            during.append(part)
            if number:
                notes.append(f"{one.task.called}: {len(rows.questions):,} more rows, from text or altered, answered by the teacher")
            _remember(tuned, rows.questions)
    model = DistilledModel(tuned.model, _tutors(settings, pupil), settings.comparisons, seed=settings.seed)
    plan = TrainingPlan(training=settings.training, weights=[{}] * len(readers), during=during)
    mixture = Mixture[QuestionReader](readers=tuple(readers), shares=tuple(sizes), seed=settings.seed)
    return Lesson(model=model, mixture=mixture, plan=plan, notes=notes, some_unused=True)


def _fed(settings: DistilSettings, one: PreparedTask, asked: Questions, folders: Sequence[str], tuned: TunedModel) -> list[FedRows]:
    if not settings.taught:  # the control: what is not labelled says nothing to it
        return [FedRows(questions=asked, said=None, labelled=True)]
    feed = Feed(
        teachers=tuple(map(Path, folders)), text=settings.text, augmentation=settings.augmentation, labelling=settings.labelling,
        scores=any(isinstance(one, Logits) for one in settings.comparisons), seed=settings.seed, device=str(tuned.device),
    )  # fmt: skip
    return feed.rows(one, asked, tuned)


def _reader(rows: FedRows, settings: DistilSettings, tuned: TunedModel) -> TaughtReader:
    return TaughtReader(
        questions=rows.questions, rows=rows_of_a_batch(rows.questions, settings), seed=settings.seed, finish=tuned.finish, said=rows.said,
        labelled=rows.labelled,
    )  # fmt: skip


def _remember(tuned: TunedModel, questions: Questions) -> None:
    """What a frozen student makes of rows is computed before they come in an order of their own, as that of the labelled ones was."""
    if tuned.model.remembered is None:
        return
    learning = tuned.model.training
    tuned.model.eval()
    tuned.table(questions)
    tuned.model.train(learning)


def _tutors(settings: DistilSettings, pupil: Pupil) -> dict[str, Tutor]:
    """Teachers that have to read each batch with the student: then both must cut and read texts alike."""
    inner = bool(inner_of(settings.comparisons))
    scores = any(isinstance(one, Logits) for one in settings.comparisons)
    found: dict[str, Tutor] = {}
    loaded: dict[str, TunedModel] = {}
    for one, asked, folders in zip(pupil.prepared, pupil.asked, settings.teachers, strict=True):
        if not inner and not (scores and isinstance(asked, TextQuestions)):
            continue
        if len(folders) > 1:
            raise PlumeError(
                "What several teachers compute, or write, cannot be compared with one student: distil their answers (--method ensemble)."
            )
        teacher = loaded.setdefault(folders[0], TunedModel.load(folders[0], device=str(pupil.tuned.device)))
        task = task_of(teacher, one.task, Path(folders[0]))
        written = isinstance(asked, TextQuestions)
        instead = "learn from what the teacher writes (--method sequence)" if written else "compare answers only (--method distil)"
        _require_alike(teacher, pupil.tuned, task.called, one.task.called, instead=instead)
        teacher.model.to(next(pupil.tuned.model.parameters()).dtype)
        found[one.task.called] = Tutor(model=teacher.model, task=task.called)
    return found


def _require_alike(teacher: TunedModel, student: TunedModel, theirs: str, own: str, *, instead: str) -> None:
    if teacher.tokenizer.fingerprint != student.tokenizer.fingerprint or teacher.tokenizer.format != student.tokenizer.format:
        raise PlumeError(
            "Hidden states, attention and written tokens are compared token by token, and teacher and student have different vocabularies: name the "
            f"student by its recipe (--student {teacher.model.body.recipe.name}/tiny), which takes the teacher's, or {instead}."
        )
    one, other = teacher.model, student.model
    alike = teacher.declared.order is student.declared.order and one.body.through_decoder == other.body.through_decoder
    if not alike or (theirs in one.writing) != (own in other.writing) or one.body.spells != other.body.spells:
        raise PlumeError(
            f"{one.body.recipe.name} and {other.body.recipe.name} do not read a text in the same way, so that what they compute of a token "
            f"says different things: choose a student of the teacher's kind, or {instead}."
        )
    if one.body.longest is not None and student.declared.length > one.body.longest:
        raise PlumeError(f"The teacher places at most {one.body.longest} tokens: give a --length up to that.")


def _larger(settings: DistilSettings, tuned: TunedModel) -> list[str]:
    """A sentence about a student that is larger than the teachers in whose place it stands."""
    own = sum(parameter.numel() for _, parameter in tuned.model.kept())
    folders = {folder for folders in settings.teachers for folder in folders}
    theirs = sum(parameters_in(Path(folder)) for folder in folders)
    whom = "its teacher" if len(folders) == 1 else "its teachers together,"
    return [f"The student has {own:,} parameters, more than {whom} with {theirs:,}: nothing gets smaller."] if own > theirs else []
