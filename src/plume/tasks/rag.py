"""Retrieval-augmented generation: an answer is written by an encoder–decoder that reads what was found (RAG, arXiv:2005.11401).

The passages that are found for a question are read one by one, and what is written is weighed by how well each of them fits. The side that finds
learns from the answers alone: which passages made them likely. The documents may be others at use than in training.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.tuning.task import RunTask


class Likelihood(enum.StrEnum):
    """Over what the passages are summed (§2.1)."""

    SEQUENCE = "sequence"  # one passage for the whole answer: p(y) = Σ_z p(z) Π p(y_i | z)
    TOKEN = "token"  # another for every token: p(y) = Π Σ_z p(z) p(y_i | z)


class SequenceDecoding(enum.StrEnum):
    """How an answer is looked for where a passage makes all of it (§2.5)."""

    THOROUGH = "thorough"  # every candidate is scored under every passage
    FAST = "fast"  # under those alone whose beams found it


@dataclass(frozen=True, kw_only=True)
class RetrievalAugmented(RunTask):
    """What a RAG is declared with.

    >>> TASK.override("likelihood=token").likelihood.value
    'token'
    """

    reads: ClassVar[str] = "JSONL, TSV and CSV of question and answers; SQuAD's and DPR's JSON"

    likelihood: Likelihood = Likelihood.SEQUENCE
    decoding: SequenceDecoding = SequenceDecoding.THOROUGH
    passages: int = 5  # that are read for a question
    passage: int = 100  # words
    beams: int = 2  # at use; 1: the likeliest token each time
    longest: int | None = None  # tokens of an answer at most; None: a fifth more than nearly all of the training answers have
    learn_to_find: bool = True  # does the side that reads questions learn? Only with --retriever
    scale: float = 20.0  # of cosines, where the retriever compares by them: they are the passages' logits

    def __post_init__(self) -> None:
        if min(self.passages, self.passage, self.beams) < 1 or (self.longest is not None and self.longest < 1) or self.scale <= 0:
            raise PlumeError("passages, passage, beams and longest are 1 or more, scale more than 0.")


TASK = RetrievalAugmented(kind="rag", title="answers written from passages that are found", metric="f1")
