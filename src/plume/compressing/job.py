"""CompressionJob: what is made small, how, and with what data. Kept as train/compress.json, so that --resume needs only the directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plume.compressing.method import Compression
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import Part, part_from_json, replace
from plume.train.settings import RUN
from plume.tuning.declared import is_tuned, read_declaration
from plume.tuning.settings import TaskData, TuneSettings, Wishes
from plume.tuning.task import Task

JOB = Path("train") / "compress.json"


@dataclass(frozen=True, kw_only=True)
class JobSettings(Part):
    """What a user asked for, completed: `data` are the labelled files, of the user or of the teacher's own tuning."""

    sources: tuple[str, ...]
    method: Compression
    data: tuple[TaskData, ...] = ()
    split: int = 0  # seed by which rows of `data` are held out, where there is no dev file: that of the teacher's own tuning
    text: tuple[str, ...] = ()  # unlabelled
    pairs: tuple[str, ...] = ()  # dev files of sentence vectors: two texts and a score a row
    epochs: float | None = None
    batch: int | None = None
    rate: float | None = None
    length: int | None = None
    budget: str | None = None
    seed: int = 0
    overrides: tuple[str, ...] = ()  # of the training
    timed: bool = True  # is the model timed, before and after?

    def refuse_training(self, why: str, instead: str = "") -> None:
        """Wishes for training are an error where nothing is trained; `instead` is what else a user can do than leave them out."""
        named = [name for name in ("epochs", "batch", "rate", "budget", "overrides") if getattr(self, name)]
        if named:
            raise PlumeError(f"Nothing is trained here, since {why}: leave out --{named[0].replace('overrides', 'training')}{instead}.")


@dataclass(frozen=True, kw_only=True)
class CompressionJob:
    """Settings, and where the small model goes."""

    settings: JobSettings
    folder: Path
    quiet: bool = field(default=False)

    @property
    def source(self) -> Path:
        """The one model that is made small."""
        return Path(self.settings.sources[0])

    @property
    def sources(self) -> list[Path]:
        """All of them."""
        return [Path(path) for path in self.settings.sources]

    @property
    def wishes(self) -> Wishes:
        """What the user says of training."""
        made = self.settings
        return Wishes(epochs=made.epochs, batch=made.batch, rate=made.rate, length=made.length)

    def need_data(self) -> tuple[TaskData, ...]:
        """The labelled files, or an error that says how to give some."""
        if not self.settings.data and not is_tuned(self.source):
            raise PlumeError(
                f"{self.settings.method.name} needs labelled rows, and {self.source} is not tuned for a task: tune it first (plume tune)."
            )
        if not self.settings.data:
            raise PlumeError(
                f"{self.settings.method.name} needs labelled rows, and {self.source} does not say what it was tuned on: give --train FILE (and "
                "--dev FILE)."
            )
        return self.settings.data

    def save(self) -> None:
        """As train/compress.json."""
        write_json(self.folder / JOB, self.settings.to_json())


def read_job(folder: Path, *, quiet: bool = False) -> CompressionJob:
    """Of a run that is to go on."""
    if not (folder / JOB).exists():
        raise PlumeError(f"{folder} holds no compression to resume: there is no {JOB} in it.")
    settings = part_from_json(read_json(folder / JOB, "it should hold the settings of a compression"))
    assert isinstance(settings, JobSettings)
    return CompressionJob(settings=settings, folder=folder, quiet=quiet)


def data_of(source: Path, train: tuple[str, ...], dev: tuple[str, ...]) -> tuple[TaskData, ...]:
    """The files that the user gives for a tuned model's one task; else those that it was tuned on, where they still are."""
    if not is_tuned(source):
        if train or dev:
            raise PlumeError(f"{source} is not tuned for a task: labelled files say nothing about it. Give plain text with --text.")
        return ()
    tasks = read_declaration(source).tasks
    if train or dev:
        if len(tasks) > 1:
            raise PlumeError(f"{source} is tuned for {len(tasks)} tasks: --train and --dev are for models of one.")
        return (TaskData(task=tasks[0], train=train or _known(source, tasks)[0].train, dev=dev),)
    return _known(source, tasks)


def data_by_task(sources: Sequence[Path]) -> tuple[TaskData, ...]:
    """The files of several models, each tuned for one task; tasks that are called alike are told apart by their models' names."""
    found: list[TaskData] = []
    for source in sources:
        data = data_of(source, (), ())
        if len(data) != 1:
            raise PlumeError(f"{source} should be tuned for one task, with a run that says on which files: it has {len(data)} such.")
        found += data
    called = [one.task.called for one in found]
    splits = {split_of(source) for source, one in zip(sources, found, strict=True) if not one.dev}
    if len(splits) > 1:
        raise PlumeError(
            "The models have held out rows by different seeds, so no rows are new to all: tune them with --dev files or with one --seed."
        )
    return tuple(
        replace(one, task=replace(one.task, name=f"{source.name}-{number}")) if called.count(one.task.called) > 1 else one
        for number, (source, one) in enumerate(zip(sources, found, strict=True), 1)
    )


def _known(source: Path, tasks: tuple[Task, ...]) -> tuple[TaskData, ...]:
    """What run.json says, or the compression that the model came from, if it is there and its files are."""
    settings = _tuning(source)
    if settings is None:
        return ()
    gone = [path for one in settings.data for path in (*one.train, *one.dev) if not Path(path).exists()]
    if gone:
        raise PlumeError(f"{source} was tuned on {gone[0]}, which is not there any more: give --train FILE (and --dev FILE).")
    return tuple(TaskData(task=task, train=one.train, dev=one.dev) for task, one in zip(tasks, settings.data, strict=False))


def split_of(source: Path) -> int:
    """By which seed the model's own tuning held rows out: they must not be trained on now either."""
    settings = _tuning(source)
    if settings is None:
        return 0
    return settings.split if isinstance(settings, JobSettings) else settings.split_seed


def _tuning(source: Path) -> TuneSettings | JobSettings | None:
    """The model's own tuning; of one that was compressed without training, what the compression knew."""
    file = next((source / name for name in (RUN, JOB) if (source / name).exists()), None)
    if file is None:
        return None
    settings = part_from_json(read_json(file, "it should hold the run's settings"))
    return settings if isinstance(settings, TuneSettings | JobSettings) else None
