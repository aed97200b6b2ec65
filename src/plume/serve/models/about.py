"""What a client may want to know of a model before it asks: its family, width, languages, tasks; of an index its fields."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from plume.core.errors import PlumeError
from plume.search.index import Index
from plume.serve.models.opened import Opened
from plume.static.model import WordModel
from plume.tasks.multiple_choice import MultipleChoice
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.labelling import TextTask
from plume.tuning.kinds.regression import Regression
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.dialogue import Dialogue
from plume.tuning.writing.worded import ByText
from plume.view.recording.subject import subject_of


@dataclass(frozen=True, kw_only=True)
class TaskAbout:
    """One task of a model: what it reads says how it is asked, and its labels what it may answer."""

    name: str
    kind: str
    title: str
    reads: str  # text, pair, question, choices or turns
    labels: list[str]
    mean: float | None = None  # of the numbers that it was trained with


@dataclass(frozen=True, kw_only=True)
class IndexAbout:
    """What can be searched and filtered."""

    documents: int
    passages: int
    fields: dict[str, str]  # the type of each
    modes: list[str]  # for a text; none: by vectors only
    metric: str
    analysis: str | None  # how Chinese words are cut


@dataclass(frozen=True, kw_only=True)
class ModelAbout:
    """Found when it is loaded, and kept when it is unloaded."""

    family: str | None = None
    width: int | None = None
    languages: list[str] = field(default_factory=list)  # that it tells apart
    tasks: list[TaskAbout] = field(default_factory=list)
    views: list[str] = field(default_factory=list)
    index: IndexAbout | None = None

    def as_json(self) -> dict[str, Any]:
        """For an answer."""
        return asdict(self)


def about(opened: Opened) -> ModelAbout:
    """Whatever is known of it."""
    content = opened.content
    if isinstance(content, Index):
        return ModelAbout(family="index", width=content.settings.dimension, index=_index(content))
    tasks = [_task(task) for task in content.tasks] if isinstance(content, TunedModel) else []
    if isinstance(content, WordModel) or not opened.has(lambda one: one.language_model):
        family = content.recipe.name if isinstance(content, WordModel) else None
        width = content.width if isinstance(content, WordModel) else None
        return ModelAbout(family=family, width=width, tasks=tasks, views=["gradients"] if tasks else [])
    model = opened.language_model
    known = model.model.languages
    return ModelAbout(
        family=model.recipe.name,
        width=model.width,
        languages=[] if known is None else list(known.names),
        tasks=tasks,
        views=_views(opened, bool(tasks)),
    )


def _views(opened: Opened, tuned: bool) -> list[str]:
    try:
        subject_of(opened.content)
        found = ["head", "model", "neuron", "switch"]
    except PlumeError:  # no attention
        found = []
    if opened.can("fill") or opened.can("generate"):
        found.append("predictions")
    return [*found, "gradients"] if tuned else found


def _task(task: Task) -> TaskAbout:
    asked = task.task if isinstance(task, ByText) else task
    mean = asked.mean if isinstance(asked, Regression) else None
    return TaskAbout(name=task.called, kind=task.kind, title=task.title, reads=_reads(asked), labels=list(task.labels), mean=mean)


def _reads(task: Task) -> str:
    if isinstance(task, QuestionAnswering):
        return "question"
    if isinstance(task, MultipleChoice):
        return "choices"
    if isinstance(task, Dialogue):
        return "turns"
    return "pair" if isinstance(task, TextTask) and task.texts == 2 else "text"


def _index(index: Index) -> IndexAbout:
    documents, passages = index.backend.count()
    words = index.settings.words
    return IndexAbout(
        documents=documents, passages=passages, fields={name: kind.value for name, kind in index.backend.columns.items()},
        modes=list(index.text_ways), metric=index.settings.metric.value, analysis=None if words is None else words.value,
    )  # fmt: skip
