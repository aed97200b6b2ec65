"""How a model answers a task: by writing, in whatever way it can, or by a head."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.task import Task
from plume.tuning.writing.finding import ENCODER_DECODERS
from plume.tuning.writing.worded import ByText
from plume.tuning.writing.written import WrittenTask


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
    if isinstance(task, WrittenTask) or by == By.HEAD:
        return task.suited(body, tokenizer, examples)
    worded = task.in_words(examples)
    problem = _problem(worded, body, adaptation) or (worded and worded.trouble(examples, tokenizer))
    if worded is not None and problem is None:
        return worded.suited(body, tokenizer, examples)
    if by == By.TEXT:
        raise PlumeError(f"{task.called} cannot be answered by text here: {problem}. Leave out --answer text.")
    return task.suited(body, tokenizer, examples)


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
