"""Probes: what each layer of a trained model knows, by a linear classifier on its states. The model itself learns nothing on the way.

Words are read at their first token, texts as the mean of their row, pairs as the means u and v of their texts with |u − v| and u · v
(arXiv:1705.02364 §2.2): the same for every family and layer, so that they can be compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.comparing.results import Probe
from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.nn.pooling import MEAN
from plume.readers.example import Example
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.adapting.body import Body
from plume.tuning.bodies import read_model
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.kinds.tagging import OUTSIDE, Tagging, TagKind
from plume.tuning.rows.questions import Floats, TokenQuestions, inference_batches
from plume.tuning.rows.rows import Array, Coder, runs
from plume.tuning.settings import length_for
from plume.tuning.task import Task
from plume.tuning.tuned import coder_for, finished, reading_order
from plume.tuning.writing.worded import ByText

_WORDS = 5000  # of a side
_LONGEST = 128  # tokens of a row: what a text is about shows in its beginning, and families without a limit would take long
# Of the logistic regression: a compromise between words and texts, few and many labels. Between 0.01 and 0.1 a layer's score moved by up to
# four points, mostly one; thirty steps need not have converged. Ridge regression is quicker, and was five to six points lower on parts of speech.
_INVERSE_PENALTY, _STEPS = 0.03, 30


@dataclass(frozen=True, kw_only=True)
class _Side:
    """What is asked, and how: the lines of `questions` that count."""

    questions: TokenQuestions
    lines: Array  # [N]
    texts: int  # that a line is about; 0: a word

    @property
    def value(self) -> Array:
        assert self.questions.value is not None, "sides have answers"
        return self.questions.value[self.lines]


def probe(model: Path, task: Task, train: Sequence[Example], test: Sequence[Example], *, name: str, most: int = 1000) -> Probe | None:
    """A classifier for each layer of the model in that directory, trained and scored on `most` examples of either side, spread over its file.

    Of named entities, where nearly every word is none, the words that belong to one count and as many others: always naming the most frequent answer
    is then right half of the time. None for tasks that do not give one label to a text or a word, and where there is but one label to give.
    """
    return probe_body(*read_model(model), task, train, test, name=name, most=most, where=model)


def probe_body(
    body: Body, tokenizer: Tokenizer, task: Task, train: Sequence[Example], test: Sequence[Example], *, name: str, most: int, where: Path
) -> Probe | None:
    """The same of a model that is open; `where` it comes from, for errors."""
    train, test = (_spread(examples, most) for examples in (train, test))
    asked = _with_labels(task.task if isinstance(task, ByText) else task, [*train, *test])
    if asked is None or not train or not test:
        return None
    coder = coder_for(body, tokenizer, length=min(length_for(body, None), _LONGEST))
    coder.usual = coder.usual_language(train)
    taught, scored = (_side(asked, examples, coder.fresh()) for examples in (train, test))
    if len(np.unique(taught.value)) < 2 or not len(scored.lines):
        return None
    layers = zip(_states(taught, body, tokenizer), _states(scored, body, tokenizer), strict=True)
    usual = int(np.bincount(taught.value).argmax())
    return Probe(
        model=name,
        task=task.called,
        score=tuple(_accuracy(seen, taught.value, unseen, scored.value, where=where) for seen, unseen in layers),
        majority=float((scored.value == usual).mean()),
        examples=len(scored.lines),
    )


def _spread(examples: Sequence[Example], most: int) -> list[Example]:
    """Files may be sorted by their answers."""
    return [examples[place * len(examples) // min(most, len(examples))] for place in range(min(most, len(examples)))]


def _with_labels(task: Task, examples: Sequence[Example]) -> LabelTask | Tagging | None:
    """With all labels that occur: one of the test side alone has a number that nothing can learn, and is never right."""
    if not isinstance(task, LabelTask | Tagging) or not examples or any(example.answer is None for example in examples):
        return None
    try:
        return replace(task, labels=task.learned(examples).labels)
    except PlumeError:  # one label only, or no entity
        return None


def _side(task: LabelTask | Tagging, examples: Sequence[Example], coder: Coder) -> _Side:
    questions, _ = task.questions(examples, coder)
    assert isinstance(questions, TokenQuestions) and questions.value is not None
    if isinstance(task, LabelTask):
        return _Side(questions=questions, lines=np.arange(questions.lines), texts=len(examples[0].texts))
    if task.tags is TagKind.PLAIN:
        return _Side(questions=questions, lines=np.arange(min(questions.lines, _WORDS)), texts=0)
    return _Side(questions=questions, lines=_evened(questions.value == task.labels.index(OUTSIDE), _WORDS), texts=0)


def _evened(outside: NDArray[np.bool_], most: int) -> Array:
    """The first words that belong to something, and as many others from the same stretch, as far as there are.

    >>> _evened(np.array([True, True, False, True, False, True, True, False]), 4).tolist()
    [0, 2, 3, 4]
    """
    inside = np.flatnonzero(~outside)
    stretch = len(outside) if len(inside) <= most // 2 else int(inside[most // 2 - 1]) + 1
    inside, others = inside[inside < stretch], np.flatnonzero(outside[:stretch])
    spread = np.linspace(0, len(others) - 1, min(len(inside), len(others))).astype(np.int64)
    return np.sort(np.concatenate([inside, others[spread]]))


@torch.inference_mode()
def _states(side: _Side, body: Body, tokenizer: Tokenizer) -> list[Floats]:
    """[N, D] of each layer, all from one pass over the rows that hold a line."""
    questions, order = side.questions, reading_order(body, tokenizer)
    place = np.full(questions.lines, -1)
    place[side.lines] = np.arange(len(side.lines))
    found: list[Floats] = []
    for index in inference_batches(questions):
        picked = questions.rows_of(index)
        there = place[runs(questions.asked[picked], np.diff(questions.asked)[picked])]
        if (there < 0).all():
            continue
        batch = to_device(finished(questions.batch(index), questions, body, order), next(body.parameters()).device)
        layers = body.encode(replace(batch, read=None, labels={}), keep_layers=True).layers
        text = torch.from_numpy(questions.rows.padded(questions.rows.text, picked, -1)).to(layers[0].device)
        read = [_read(layer, batch, text, texts=side.texts).float().cpu().numpy() for layer in layers]
        found = found or [np.empty((len(side.lines), states.shape[-1]), np.float32) for states in read]
        for kept, states in zip(found, read, strict=True):
            kept[there[there >= 0]] = states[there >= 0]
    return found


def _read(layer: Tensor, batch: Batch, text: Tensor, *, texts: int) -> Tensor:
    """[N, D] from [B, T, D]: of each token that is asked about, of a row, or four of them of a pair. text [B, T] says whose a token is."""
    if not texts:
        (target,) = batch.labels.values()
        return layer.flatten(0, 1)[target.index]
    if texts == 2:
        first, second = (_mean(layer, text == number) for number in (0, 1))
        return torch.cat([first, second, (first - second).abs(), first * second], 1)
    return MEAN(layer, batch.length)


def _mean(layer: Tensor, where: Tensor) -> Tensor:
    return (layer * where[..., None]).sum(1) / where.sum(1, keepdim=True).clamp(min=1)


def _accuracy(seen: Floats, taught: Array, unseen: Floats, right: Array, *, where: Path) -> float:
    """Of a logistic regression on standardised states: the same each time."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    if not (np.isfinite(seen).all() and np.isfinite(unseen).all()):
        raise PlumeError(f"{where}: its layers hold numbers that are not finite, so it cannot be probed. Did pre-training diverge?")
    scale = StandardScaler().fit(seen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the steps are limited on purpose
        classifier = LogisticRegression(C=_INVERSE_PENALTY, max_iter=_STEPS).fit(scale.transform(seen), taught)
    return float((classifier.predict(scale.transform(unseen)) == right).mean())
