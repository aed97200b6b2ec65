"""A tuned model as a graph: tokens to the logits of one task's head. What decides by them stays outside."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded, Target
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule, precise
from plume.heads.sentence_classification import SentenceClassificationModule
from plume.model.networks.model import Model
from plume.model.resources import linker_of
from plume.model.use.runtimes._graph import Graph, Signature
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.body import network
from plume.tuning.adapting.decoder_rows import through_decoder
from plume.tuning.adapting.network import TaskModel


def require_no_links(model: TaskModel) -> None:
    """A graph is given tokens and nothing else."""
    body = model.body
    if isinstance(body, Model) and linker_of(body) is not None:
        raise PlumeError(
            f"{body.recipe.name} is told which entities a text mentions, which a graph of tokens cannot be: it answers tasks by torch alone. "
            "Use torch."
        )


class TaskGraph(Graph):
    """Logits [B, classes] of a head that reads one state of a text, else [B, T, classes] of every token.

    `last`: it is the last token's state. `start`: the token that a decoder begins with, where the head reads one.
    """

    outputs = ("logits",)
    model: TaskModel

    def __init__(
        self, model: TaskModel, tokenizer: Tokenizer, signature: Signature, *, task: str, told: str, last: bool, start: int | None
    ) -> None:
        super().__init__(model, tokenizer, signature)
        self.task, self.told, self.last, self.start = task, told, last, start
        self.precise = (*self.precise, f"model.heads.{task}.")

    @property
    def body(self) -> Model:
        return network(self.model.body, "Word vectors are read from a table, not computed: use the runtime torch.")

    @property
    def of_text(self) -> bool:
        """One line of logits a text?"""
        return isinstance(self.head, SentenceClassificationModule)

    @property
    def head(self) -> HeadModule:
        """The task's."""
        return self.model.head(self.task)

    def compute(self, batch: Batch) -> tuple[Tensor, ...]:
        assert batch.length is not None, "the mask says it"
        column = batch.length[:, None] - 1 if self.last else torch.zeros_like(batch.length)[:, None]
        asked = replace(batch, read=column if self.of_text else None, labels={self.task: Target(index=column, value=column)})
        if self.start is not None:
            asked = through_decoder(asked, self.start)
        logits = precise(self.head.logits(self.model.states(asked).last))
        return (logits[:, 0] if self.of_text else logits,)

    def described(self) -> str:
        return f"{self.model.body.recipe.to_json()} {self.told} {self.task} {self.last} {self.start}"


def head_scores(head: HeadModule, logits: Tensor, target: Target) -> Tensor:
    """What a task decides by, of logits that its graph has computed."""
    of_text = isinstance(head, SentenceClassificationModule)
    encoded = Encoded(last=logits[:, None] if of_text else logits)
    return head.weighed(head.asked(encoded, target if of_text else replace(target, slot=None)), target)


def require_head(model: TaskModel, task: str) -> None:
    """A task whose answers the model writes has no head, and no graph that answers it."""
    if task in model.writing:
        raise PlumeError(
            f"{task} is answered in words, token by token: ONNX Runtime runs tasks with a head (labels, numbers, tags, answer spans, choices). "
            "Use torch."
        )
