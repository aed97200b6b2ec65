"""PromptJob: a model, few examples, templates and words. Kept as train/prompt.json, so that --resume needs only the directory."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from plume.compressing.distilling.feeding import read_plain
from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json
from plume.core.part import Part, part_from_json, replace
from plume.model.use.abilities import Abilities
from plume.prompting.method import PromptMethod
from plume.prompting.usual import usual_templates, usual_words
from plume.readers.example import Example
from plume.train.settings import RUN
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import network
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.bodies import read_model
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.planning import plan
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.prompts.finding import blank_of
from plume.tuning.prompts.label_words import LabelWords
from plume.tuning.prompts.prompt import Prompt
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.settings import TaskData, TuneSettings, Wishes
from plume.tuning.task import Columns, Task
from plume.tuning.tune import Tuned, begin_planned, resume

JOB = Path("train") / "prompt.json"
_ENDED = Path("train") / "ended.json"  # is there when a model on the way has learned what it should


@dataclass(frozen=True, kw_only=True)
class PromptSettings(Part):
    """What a user asked for."""

    model: str
    method: PromptMethod
    task: Task
    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    text: tuple[str, ...] = ()  # unlabelled, a row a line
    templates: tuple[str, ...] = ()
    words: tuple[LabelWords, ...] = ()
    left_to_right: bool = False
    columns: tuple[str, ...] = ()
    answer: str | None = None  # the column of the label
    epochs: float | None = None
    batch: int | None = None
    rate: float | None = None
    length: int | None = None
    budget: str | None = None
    seed: int = 0
    overrides: tuple[str, ...] = ()  # of the training
    by_folds: bool = False  # is it also measured by folds of the training examples?


@dataclass(frozen=True, kw_only=True)
class PromptJob:
    """Settings, and where the model goes."""

    settings: PromptSettings
    folder: Path
    quiet: bool = field(default=False)

    @property
    def model(self) -> Path:
        """That is prompted."""
        return Path(self.settings.model)

    @property
    def parts(self) -> Path:
        """Where models stand that are made on the way."""
        return self.folder / "train" / "parts"

    @cached_property
    def prepared(self) -> PreparedTask:
        """The examples, read."""
        made = self.settings
        data = TaskData(task=made.task, train=made.train, dev=made.dev)
        return prepare(data, Columns(texts=made.columns, answer=made.answer), seed=made.seed)

    @property
    def wishes(self) -> Wishes:
        """What the user says of training."""
        made = self.settings
        return Wishes(epochs=made.epochs, batch=made.batch, rate=made.rate, length=made.length)

    @cached_property
    def templates(self) -> tuple[str, ...]:
        """Those that were given, or the usual ones of the task and the language of its texts."""
        if self.settings.templates:
            return self.settings.templates
        task, examples = self.prepared.task, self.prepared.train
        between = not isinstance(task, LabelTask) or task.texts != 2 or self._reads_both_ways()
        return usual_templates(task, examples, between=between)[: self.settings.method.usual]

    def _reads_both_ways(self) -> bool:
        """What fills no blanks at all does: controls may be asked of it."""
        body, tokenizer = read_model(self.model)
        try:
            return blank_of(Abilities(network(body, "Word vectors fill no blanks."), tokenizer)).reads_both_ways
        except PlumeError:
            return True

    @property
    def template(self) -> str:
        """The one."""
        if len(self.templates) > 1:
            raise PlumeError(
                f"--method {self.settings.method.name} takes one template, and there are {len(self.templates)}: pet and ipet use several, auto "
                "finds out which is best."
            )
        return self.templates[0]

    def prompted(self, template: str | None = None, *, words: tuple[LabelWords, ...] | None = None, soft: bool = False) -> Prompted:
        """The task through a blank; `soft`: does the method learn tokens of the template?"""
        task = self.prepared.task
        if self.settings.words and not isinstance(task, LabelTask):
            raise PlumeError("The choices of an example are words already: leave out --labels.")
        said = self.settings.words or usual_words(task) if words is None else words
        prompt = Prompt(template=template or self.template, words=said, left_to_right=self.settings.left_to_right)
        if prompt.soft and not soft:
            raise PlumeError(
                f"The template '{prompt.template}' has tokens that are learned, {{soft}}, and --method {self.settings.method.name} learns none: take "
                "p-tuning or soft."
            )
        return Prompted.of(task, prompt=prompt)

    def tune(self, task: Task, folder: Path, *, adaptation: Adaptation | None = None, **options: Any) -> Tuned:
        """Train for a task; go on with a run that was begun. `options` are those of `plan`, or other fields of the run's settings."""
        if (folder / RUN).exists():
            return resume(folder, quiet=self.quiet)
        make_folder(folder)
        made = self.settings
        data = TaskData(task=task, train=made.train, dev=made.dev)
        own: dict[str, Any] = {
            "kind": TuneSettings,
            "wishes": self.wishes,
            "columns": Columns(texts=made.columns, answer=made.answer),
            "overrides": made.overrides,
            "budget": made.budget,
            "seed": made.seed,
            "split": made.seed,
        }
        planned = plan(self.model, [data], **(own | {"adapt": lambda usual: adaptation or _suited(usual, task)} | options))
        return begin_planned(planned, folder, quiet=self.quiet)

    def tune_once(self, task: Task, folder: Path, **options: Any) -> str | None:
        """A model on the way to the one that is wanted; one that has ended is not trained again. What stopped it, if something did."""
        if (folder / _ENDED).exists():
            return None
        stopped_by = self.tune(task, folder, **options).outcome.stopped_by
        if stopped_by is None:
            write_json(folder / _ENDED, True)
        return stopped_by

    def changed(self, *, folder: Path | None = None, **settings: object) -> PromptJob:
        """Another with some of its settings changed; one that stands elsewhere is only a step of this one, and says nothing."""
        return PromptJob(settings=replace(self.settings, **settings), folder=folder or self.folder, quiet=self.quiet or folder is not None)

    def say(self, *lines: str) -> None:
        """To who watches."""
        if not self.quiet:
            print(*lines, sep="\n", flush=True)

    @cached_property
    def unlabelled(self) -> list[Example]:
        """Rows without a label."""
        return [example for path in self.settings.text for example in read_plain(self.prepared.task, path)]

    def require_text(self) -> None:
        """An error that says how to give rows without a label, where there are none."""
        if not self.unlabelled:
            raise PlumeError(
                f"--method {self.settings.method.name} learns from texts without a label too: give some, a line each, --text FILE."
            )

    def clear_parts(self) -> None:
        """What was made on the way is not needed any more."""
        shutil.rmtree(self.parts, ignore_errors=True)

    def save(self) -> None:
        """As train/prompt.json."""
        make_folder(self.folder / JOB.parent)
        write_json(self.folder / JOB, self.settings.to_json())


def _suited(usual: Adaptation, task: Task) -> Adaptation:
    """Through its own head a model learns by its own weights, also one whose usual way is that heads learn on its features (ELMo)."""
    return FullTuning() if usual.frozen and isinstance(task, Prompted) else usual


def read_job(folder: Path, *, quiet: bool = False) -> PromptJob:
    """Of a run that is to go on."""
    if not (folder / JOB).exists():
        raise PlumeError(f"{folder} holds nothing to resume: there is no {JOB} in it.")
    settings = part_from_json(read_json(folder / JOB, "it should hold the settings of a prompt"))
    assert isinstance(settings, PromptSettings)
    return PromptJob(settings=settings, folder=folder, quiet=quiet)
