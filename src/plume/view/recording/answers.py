"""The outputs of a task's head that stand for its answers, as numbers that can be differentiated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.heads.sentence_classification import MultiLabelModule, SentenceRegressionModule
from plume.readers.example import Example
from plume.tuning.kinds.answering import ContextQuestions
from plume.tuning.kinds.tagging import OUTSIDE
from plume.tuning.rows.questions import ChoiceQuestions, Questions, TokenQuestions
from plume.tuning.rows.word_rows import WordQuestions
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel
from plume.view.recording.integrating import Output


@dataclass(frozen=True, kw_only=True)
class WantedOutput:
    """An output of one group of rows to be explained."""

    group: int
    answer: str
    about: str = ""  # the word that is tagged
    chosen: bool = True  # is it what the model answers?
    output: Output


def wanted(model: TunedModel, task: Task, questions: Questions, example: Example) -> list[WantedOutput]:
    """What the model answers first, then what it might have answered."""
    table = model.table(questions)
    head = model.model.head(task.called)
    if isinstance(questions, ContextQuestions):
        return [_span(task, questions, example, table)]
    if isinstance(questions, WordQuestions):
        return _words(task, questions, example, table)
    if isinstance(questions, ChoiceQuestions):
        order = np.argsort(-table[:, 0]).tolist()
        return [
            WantedOutput(group=0, answer=example.texts[1 + place], chosen=place == order[0], output=partial(log_odds, place=place))
            for place in order
        ]
    if not isinstance(questions, TokenQuestions):
        raise PlumeError(f"{task.called}: there are no gradients for what this task asks.")
    if isinstance(head, SentenceRegressionModule):
        (answer,) = task.answers(table, questions, [example])
        return [WantedOutput(group=0, answer=f"{answer['score']:.3f}", output=partial(_column, place=0))]
    order = np.argsort(-table[0]).tolist()
    several = isinstance(head, MultiLabelModule)
    return [
        WantedOutput(
            group=0,
            answer=task.labels[place],
            chosen=bool(table[0, place] > 0) if several else place == order[0],
            output=partial(_column if several else log_odds, place=place),
        )
        for place in order
    ]


def log_odds(scores: Tensor, place: int) -> Tensor:
    """[n] log p/(1 − p) of one of [n, classes] scores, whose softmax is p.

    >>> round(float(log_odds(torch.tensor([[2.0, 0.5]]), 0)), 3)
    1.5
    """
    others = torch.cat([scores[:, :place], scores[:, place + 1 :]], dim=1)
    return scores[:, place] - others.logsumexp(1)


def _column(scores: Tensor, place: int) -> Tensor:
    return scores[:, place]


def _words(task: Task, questions: WordQuestions, example: Example, table: np.ndarray) -> list[WantedOutput]:
    """Tagged words; those that are something before those that are nothing."""
    first = questions.asked[questions.groups]  # the first line of each group
    found = []
    for word, line in enumerate(questions.line.tolist()):
        if line < 0:
            continue
        group = int(np.searchsorted(first, line, side="right")) - 1
        lines, label = int(first[group + 1] - first[group]), int(table[line].argmax())
        own = line - int(first[group])

        def output(said: Tensor, lines: int = lines, own: int = own, label: int = label) -> Tensor:
            return log_odds(said.view(-1, lines, said.shape[-1])[:, own], label)

        text = example.texts[0][questions.word_start[word] : questions.word_end[word]]
        found.append(WantedOutput(group=group, answer=task.labels[label], about=text, output=output))
    return sorted(found, key=lambda one: one.answer == OUTSIDE)


def _span(task: Task, questions: ContextQuestions, example: Example, table: np.ndarray) -> WantedOutput:
    """The log-odds of where the answer begins and of where it ends, added."""
    (answer,) = task.answers(table, questions, [example])
    rows, context = questions.rows, questions.context
    best: tuple[float, int, int, int] | None = None
    for row in range(len(rows)):
        part = slice(int(rows.bounds[row]), int(rows.bounds[row + 1]))
        place = np.where(rows.text[part] == 1, rows.place[part], -1)
        if answer["answer"]:
            inside = (place >= 0) & (context.end[place] > answer["start"]) & (context.start[place] < answer["end"])
            columns = np.flatnonzero(inside)
        else:
            columns = questions.null[row : row + 1]
        if not len(columns):
            continue
        begin, end = int(columns[0]), int(columns[-1])
        score = float(table[part][begin, 0] + table[part][end, 1])
        best = max(best, (score, row, begin, end)) if best else (score, row, begin, end)
    assert best is not None, "an answer stands in some window"
    _, group, begin, end = best

    def output(said: Tensor) -> Tensor:
        return log_odds(said[:, :, 0], begin) + log_odds(said[:, :, 1], end)

    return WantedOutput(group=group, answer=answer["answer"] or "∅", output=output)
