"""Words for the labels, found among those that the model expects in the blank (PETAL, arXiv:2010.13641)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.prompting.job import PromptJob
from plume.prompting.untrained import prompted_in, untrained
from plume.text.languages import has_han
from plume.text.tokenizer import Tokenizer
from plume.text.words import space_chinese_words
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.prompts.blank import PromptBlank
from plume.tuning.prompts.label_words import LabelWords, worded
from plume.tuning.prompts.prompt import Prompt
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.prompts.template import Fixed, pieces_of
from plume.tuning.tuned import TunedModel

_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = {False: 3, True: 2}  # characters of a word; of a Chinese one
_AT_ONCE = 16  # examples: each is asked about all words

Table = NDArray[np.float64]


def find_words(job: PromptJob, *, each: int, pool: int, candidates: int, longest: int | None) -> tuple[LabelWords, ...]:
    """So many words for each label, the most telling first. `pool` are those that are looked at, of `longest` tokens at most; of these the
    `candidates` that the model expects most."""
    task = job.prepared.task
    if not isinstance(task, LabelTask):
        raise PlumeError("petal finds words for labels, and choices are words already: take pattern or zero-shot.")
    if each < 1 or candidates < each:
        raise PlumeError(f"Each label gets a word or more, of no fewer candidates: not {each} of {candidates}.")
    tuned = untrained(job, Prompted.of(replace(task, labels=("one", "other")), prompt=Prompt(template=job.template)))
    longest = longest or (2 if _blank(tuned).at_once else 1)
    words = _pool(job, tuned, pool, longest)
    if len(words) < each * len(task.labels):
        raise PlumeError(
            f"{len(words)} words of the texts have {longest} tokens or fewer in the blank, and {each * len(task.labels)} are looked for: give "
            "texts with --text, or --set words=3."
        )
    table = _log_probabilities(job, tuned, words)
    expected = np.argsort(-table.sum(0), kind="stable")[:candidates]
    telling = telling_words(table[:, expected], [str(one.answer) for one in job.prepared.train], task.labels)
    return tuple(
        LabelWords(label=label, words=tuple(words[place] for place in some)) for label, some in _dealt(telling, task, expected, each)
    )


def telling_words(table: Table, answers: Sequence[str], labels: Sequence[str]) -> Table:
    """[L, C] by how much likelier a word is where the label is right, every example of either side counting for its side's mean: the likelihood ratio
    of the label against the rest, its classes balanced (§3.2, eq. 5)."""
    odds = table - np.log(-np.expm1(np.minimum(table, -1e-12)))  # log p − log (1 − p)
    found = []
    for label in labels:
        own = np.array([answer == label for answer in answers])
        found.append(odds[own].mean(0) - odds[~own].mean(0))
    return np.stack(found)


def _dealt(telling: Table, task: LabelTask, expected: NDArray[np.int64], each: int) -> Iterator[tuple[str, list[int]]]:
    """A word is the label's for which it is most telling."""
    owner = telling.argmax(0)
    for number, label in enumerate(task.labels):
        order = np.argsort(-np.where(owner == number, telling[number], -np.inf), kind="stable")[:each]
        own = [int(expected[place]) for place in order if owner[place] == number]
        if not own:
            raise PlumeError(f"No word speaks for the label '{label}' more than for others: give words with --labels, or more --text.")
        yield label, own


def _log_probabilities(job: PromptJob, tuned: TunedModel, words: Sequence[str]) -> Table:
    """[N, C] of each word in the blank of each training example, the mean over its tokens."""
    task = prompted_in(tuned)
    assert isinstance(task.task, LabelTask)
    asked = replace(task, task=replace(task.task, labels=tuple(words)), labels=tuple(words))
    examples = job.prepared.train
    found = [
        tuned.table(asked.questions(examples[first : first + _AT_ONCE], tuned.coder())[0]) for first in range(0, len(examples), _AT_ONCE)
    ]
    return np.concatenate(found).astype(np.float64)


def _pool(job: PromptJob, tuned: TunedModel, most: int, longest: int) -> list[str]:
    """The most frequent words of the texts, then words that the tokenizer has whole; one of those that are cut alike."""
    task = prompted_in(tuned)
    assert isinstance(task.task, LabelTask)
    slot = next(piece for piece in pieces_of(job.template, texts=task.task.texts) if isinstance(piece, Fixed) and piece.slot)
    found: dict[tuple[int, ...], str] = {}
    for word in _words(job, tuned.tokenizer):
        if len(found) == most:
            break
        try:
            tokens = worded(slot, word, tuned.tokenizer).word
        except PlumeError:  # signs that the vocabulary lacks
            continue
        if len(tokens) <= longest:
            found.setdefault(tokens, word)
    return list(found.values())


def _blank(tuned: TunedModel) -> PromptBlank:
    found = prompted_in(tuned).blank
    assert found is not None, "the model is there"
    return found


def _words(job: PromptJob, tokenizer: Tokenizer) -> Iterator[str]:
    texts = [text for one in (*job.prepared.train, *job.unlabelled) for text in one.texts]
    counts = Counter(word for text in texts for word in _WORD.findall(space_chinese_words(text)[0]))
    spelled = (tokenizer.decode([number]).strip() for number in range(tokenizer.size))
    chinese = any(has_han(text) for text in texts)
    for word in (*(word for word, _ in counts.most_common()), *spelled):
        if _WORD.fullmatch(word) and len(word) >= _SHORTEST[has_han(word)] and has_han(word) is chinese:
            yield word
