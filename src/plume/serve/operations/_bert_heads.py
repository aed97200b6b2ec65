"""What bert-as-service answers by what stands on a network: BERT's pooler, or the head of a task that it was tuned for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plume.core.errors import PlumeError
from plume.nn.pooling import FIRST, Pooling
from plume.serve.bert_settings import BertStrategy
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened
from plume.serve.operations._bert_rows import Given, as_text, pair_of
from plume.serve.operations.predict import OPERATION as PREDICT
from plume.serve.operations.predict import PredictAsked, PredictReady
from plume.tuning.kinds.labelling import TextTask
from plume.tuning.kinds.regression import Regression
from plume.tuning.task import Task
from plume.tuning.writing.worded import ByText

FIRST_OF_LAST = Pooling(tokens=(FIRST,))
_WANTED = {BertStrategy.CLASSIFICATION: "labels texts", BertStrategy.REGRESSION: "gives a number to a text"}


def pooler_of(opened: Opened) -> nn.Module:
    """The layer on the first token that was trained with the network."""
    pooler = opened.language_model.model.pooler if opened.has(lambda one: one.language_model) else None
    if pooler is None:
        raise BadRequest(
            f"'{opened.name}' has no pooler, which CLS_POOLED reads (BERT and ALBERT have one): take --pooling-strategy CLS_TOKEN."
        )
    return pooler


@torch.inference_mode()
def pooled_first(pooler: nn.Module, first: NDArray[np.float32]) -> NDArray[np.float32]:
    """[N, D] states of the first token, through the pooler."""
    weight = next(pooler.parameters())
    found: NDArray[np.float32] = pooler(torch.from_numpy(first).to(weight.device, weight.dtype)).float().cpu().numpy()
    return found


def task_of(opened: Opened, strategy: BertStrategy) -> Task:
    """The one task of a tuned model that answers so."""
    able = [task for task in opened.tuned.tasks if _answers(task) is strategy] if opened.has(lambda one: one.tuned) else []
    if len(able) != 1:
        has = "has no task" if not able else f"has {len(able)} tasks"
        raise BadRequest(f"'{opened.name}' {has} that {_WANTED[strategy]}: {strategy.value} needs a model that was tuned for one.")
    return able[0]


def asked_of(opened: Opened, strategy: BertStrategy, given: Sequence[Given]) -> PredictReady:
    """The same texts and pairs, for the task."""
    items = [as_text(one) if (pair := pair_of(one)) is None else [as_text(text) for text in pair] for one in given]
    try:
        return PREDICT.prepare(opened, PredictAsked(items=items, task=task_of(opened, strategy).called))
    except PlumeError as error:
        raise BadRequest(str(error), param="texts") from None


def answered(opened: Opened, asked: Sequence[PredictReady]) -> list[NDArray[np.float32]]:
    """Of each text: the probabilities of the labels in their order, or the number."""
    found = [one for several in PREDICT.run(opened, asked) for one in several]
    return [np.array(list(one["scores"].values()) if "scores" in one else [one["score"]], np.float32) for one in found]


def _answers(task: Task) -> BertStrategy | None:
    inner = task.task if isinstance(task, ByText) else task
    if isinstance(inner, Regression):
        return BertStrategy.REGRESSION
    return BertStrategy.CLASSIFICATION if isinstance(inner, TextTask) else None
