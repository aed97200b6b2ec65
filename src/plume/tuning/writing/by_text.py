"""How a model answers a task: by writing, in whatever way it can, or by a head."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities
from plume.objectives._objective import Answers
from plume.readers.example import Example
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body, network
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.kinds.regression import Regression
from plume.tuning.task import Task
from plume.tuning.writing.ways import AfterText, AtMasks, ByDecoder, InBlank, Way
from plume.tuning.writing.worded import ByText, LabelByText, NumberByText, step_of
from plume.tuning.writing.worded_answers import AnswerByText
from plume.tuning.writing.written import WrittenTask, usual_length

ENCODER_DECODERS = "t5, bart, pegasus, mass, palm, transformer"
LEFT_TO_RIGHT = "gpt, gpt2, ctrl, transformer-xl, ulmfit"


class By(enum.StrEnum):
    """What gives the answer."""

    TEXT = "text"
    HEAD = "head"


def approach(
    task: Task,
    body: Body,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    *,
    adaptation: Adaptation = FullTuning(),
    by: By | str | None = None,
) -> Task:
    """The task as this model answers it; `examples` are those of training, from which `task` has learned its labels.

    An encoder–decoder writes labels, numbers and answers unless it is frozen or `by` says otherwise; tags are for a head.
    """
    if isinstance(task, WrittenTask):
        return task if task.way is not None else _fitted(task, body, tokenizer, examples)
    if by == By.HEAD:
        return _by_head(task, body)
    worded = _worded(task, examples)
    problem = _problem(worded, body, adaptation) or (worded and worded.trouble(examples, tokenizer))
    if worded is not None and problem is None:
        return _fitted(worded, body, tokenizer, examples)
    if by == By.TEXT:
        raise PlumeError(f"{task.called} cannot be answered by text here: {problem}. Leave out --answer text.")
    return _by_head(task, body)


def _by_head(task: Task, body: Body) -> Task:
    """A family whose classifier has no bias learns numbers from their mean."""
    bare = isinstance(task, Regression) and not body.classifier.bias
    return replace(task, centred=True) if bare else task


def _worded(task: Task, examples: Sequence[Example]) -> ByText | None:
    """The same task answered in words; None: its answers are no text."""
    same: dict[str, Any] = {"kind": task.kind, "title": task.title, "metric": task.metric, "name": task.name, "labels": task.labels}
    if isinstance(task, Regression):
        return NumberByText(task=task, step=step_of([example.answer for example in examples]), **same)
    if isinstance(task, LabelTask):
        return LabelByText(task=task, **same)
    return AnswerByText(task=task, **same) if isinstance(task, QuestionAnswering) else None


def _problem(worded: ByText | None, body: Body, adaptation: Adaptation) -> str | None:
    if worded is None:
        return "its answers are no text"
    if not body.through_decoder:
        return f"that is for encoder–decoders ({ENCODER_DECODERS}), and this is {body.recipe.name}"
    if adaptation.frozen:
        return f"a model that writes learns by its own weights, and --mode {adaptation.mode} freezes them"
    if adaptation.pooling is not None:
        return "a head reads what is pooled"
    return None


def _fitted(task: WrittenTask, body: Body, tokenizer: Tokenizer, examples: Sequence[Example]) -> WrittenTask:
    """With the model's way to write, and how much the training answers lead one to expect."""
    model = network(body, f"Word vectors cannot write a text: {task.called} needs a model that can, such as t5, bart or gpt2.")
    longest = usual_length([task.target(example) for example in examples], tokenizer) if task.longest is None else task.longest
    return replace(task, way=require_way(Abilities(model, tokenizer), task.called), longest=longest)


def way_of(can: Abilities) -> Way | None:
    """How this model writes, by what it was trained to do; None: it does not."""
    if kind := can.decoder():
        return ByDecoder(objective=_objective(kind), start=can.start, end=can.end, opening=tuple(can.opening(kind)))
    if can.model.recipe.assembly.directions == 1 and (kind := can.causal()):
        return AfterText(objective=_objective(kind), end=can.end)
    if kind := can.masks_after_text():
        first, second = kind.noise.segments or (0, 1)
        return AtMasks(objective=_objective(kind), end=can.end, mask=can.mask, segments=(first, second))
    if kind := can.spans():
        return InBlank(objective=_objective(kind), start=can.start, end=can.end, mask=can.mask)
    return None


def require_way(can: Abilities, task: str) -> Way:
    if can.model.languages is not None:
        raise PlumeError(f"{can.name} has a vector for each language, and is not tuned to write here: {task} needs another family.")
    way = way_of(can)
    if way is None:
        raise PlumeError(
            f"{can.name} cannot write a text: {task} needs a model that can, an encoder–decoder ({ENCODER_DECODERS}), one that writes from "
            f"left to right ({LEFT_TO_RIGHT}), unilm or glm. {can.words()}"
        )
    return way


def _objective(kind: BatchKind) -> str:
    return next(one.name for one in kind.objectives if one.answers is Answers.NOISE and one.asks is None)
