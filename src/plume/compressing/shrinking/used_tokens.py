"""Which tokens a model needs: those of a corpus, and of what it was tuned on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

import numpy as np

from plume.compressing.job import CompressionJob
from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.text.fewer_tokens import Ids
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.tuning.loaded import Loaded
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.written import TextQuestions

_AT_ONCE = 1024  # texts


def needed_texts(job: CompressionJob, model: Loaded) -> Iterator[str]:
    """The unlabelled files, and the rows that were trained on; those that are measured on must tell nothing."""
    made = job.settings
    if not made.text and not made.data:
        raise PlumeError(
            f"{made.method.name} keeps what a text uses, and {job.source} does not say what it was tuned on: give --text FILE."
        )
    if model.sentence is not None:
        yield model.sentence.prompt  # is read before every text
    if made.text:
        yield from chain.from_iterable(document.paragraphs for document in Corpus(made.text).documents())
    for one in _trained_on(job):
        yield from chain.from_iterable(example.texts for example in one.train)


def count_needed(job: CompressionJob, model: Loaded) -> Ids:
    """[V] how often each token is read, or written."""
    counts = count_tokens(model.tokenizer, needed_texts(job, model))
    if isinstance(model, TunedModel):
        for one in _trained_on(job):
            counts += _asked(model, one)
    return counts


def count_tokens(tokenizer: Tokenizer, texts: Iterable[str]) -> Ids:
    """[V] how often the texts have each token."""
    counts, remaining = np.zeros(tokenizer.size, np.int64), iter(texts)
    while some := list(islice(remaining, _AT_ONCE)):
        counts += np.bincount(tokenizer.encode_joined(some, words=Words.SPACES).ids, minlength=len(counts))
    return counts


def _trained_on(job: CompressionJob) -> list[PreparedTask]:
    return [prepare(one, known=True, seed=job.settings.split) for one in job.settings.data]


def _asked(model: TunedModel, read: PreparedTask) -> Ids:
    """What is read and written beside the texts: prefixes, labels in words, answers, turns of a dialogue."""
    counts = np.zeros(model.tokenizer.size, np.int64)
    task, coder, remaining = model.task(read.task.called), model.coder(), iter(read.train)
    while some := list(islice(remaining, _AT_ONCE)):
        questions, _ = task.questions(some, coder)
        rows = [questions.rows, questions.targets] if isinstance(questions, TextQuestions) else [questions.rows]
        for ids in (*(one.tokens for one in rows), questions.beside):
            counts += np.bincount(ids[ids < len(counts)], minlength=len(counts))  # words that are spelled stand behind
    return counts
