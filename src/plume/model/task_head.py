"""TaskHead: one of transformers' classes that put a task on a body, and how our head is written as its."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from plume.heads.answer_span import AnswerSpan
from plume.heads.head import Head
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceClassification, SentenceRegression
from plume.heads.token_labelling import TokenLabelling
from plume.model.keymap import KeyMap, Rename
from plume.nn.activation import Activation

_TEXT = (SentenceClassification, MultiLabelClassification, SentenceRegression)


@dataclass(frozen=True, kw_only=True)
class TaskHead:
    """A class of transformers with a head for a task: its name, the heads of ours that it is, and where their layers stand.

    >>> sorted(text_head("GPT2ForSequenceClassification", output="score", bias=False).names)
    ['output.weight']
    """

    architecture: str
    parts: tuple[type[Head], ...]  # the heads of ours that it is
    output: str  # its last layer
    dense: str | None = None  # the layer before it, of a head that has one of its own
    hidden: Activation | None = None  # and what follows that
    bias: bool = True  # of the last layer
    pooler: bool = False  # the class keeps the body's pooler, and the head reads through it
    encoder_alone: bool = False  # the class has no decoder although the family has one
    prefix: str | None = None  # before the body's names, where it is not the family's own
    pads_left: bool = False  # it reads the last column, whatever stands there
    dropout: tuple[str, ...] = ()  # what config.json calls the head's
    config: dict[str, Any] = field(default_factory=dict)  # what else config.json must say

    @property
    def keys(self) -> KeyMap:
        """Our head's names to theirs."""
        dense = () if self.dense is None else (Rename("dense", self.dense),)
        return KeyMap(rules=(Rename("output", self.output), *dense))

    @property
    def names(self) -> set[str]:
        """Of our parameters."""
        last = {"output.weight", "output.bias"} if self.bias else {"output.weight"}
        return last if self.dense is None else last | {"dense.weight", "dense.bias"}

    @property
    def reads_text(self) -> bool:
        """One state a row, not all of them?"""
        return issubclass(self.parts[0], SentenceClassification)


def text_head(
    architecture: str, *, output: str = "classifier", dropout: tuple[str, ...] = ("classifier_dropout",), **more: Any
) -> TaskHead:
    """A label, labels or a number for a text."""
    return TaskHead(architecture=architecture, parts=_TEXT, output=output, dropout=dropout, **more)


def token_head(architecture: str, *, dropout: tuple[str, ...] = ("classifier_dropout",), **more: Any) -> TaskHead:
    """A label for each token."""
    return TaskHead(architecture=architecture, parts=(TokenLabelling,), output="classifier", dropout=dropout, **more)


def span_head(architecture: str, **more: Any) -> TaskHead:
    """Where an answer begins and ends."""
    return TaskHead(architecture=architecture, parts=(AnswerSpan,), output="qa_outputs", **more)


def choice_head(
    architecture: str, *, output: str = "classifier", dropout: tuple[str, ...] = ("classifier_dropout",), **more: Any
) -> TaskHead:
    """Which of several texts is right."""
    return TaskHead(architecture=architecture, parts=(Choice,), output=output, dropout=dropout, **more)


def own_layer(name: str, last: str = "out_proj", *, hidden: Activation = Activation.TANH) -> dict[str, Any]:
    """Of a head that is a module with two layers."""
    return {"dense": f"{name}.dense", "output": f"{name}.{last}", "hidden": hidden}


def summary(token: str, *, hidden: Activation) -> dict[str, Any]:
    """Of a head that reads a text's first or last token through transformers' SequenceSummary."""
    return {
        "dense": "sequence_summary.summary",
        "hidden": hidden,
        "dropout": ("summary_first_dropout", "summary_last_dropout"),
        "config": {"summary_type": token, "summary_use_proj": True, "summary_activation": hidden.value},
    }
