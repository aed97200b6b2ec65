"""Retrieval: questions and passages get vectors, and the passage that answers a question the nearest (DPR, arXiv:2004.04906).

Trained on questions with their passages: the passages of the other questions of a batch are negatives, and passages that BM25 finds and that hold
no answer (§3.2). The result makes indexes: `plume index`, `plume search`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.tuning.task import RunTask
from plume.vectors.sentence import Similarity


@dataclass(frozen=True, kw_only=True)
class Retrieval(RunTask):
    """What the training of a bi-encoder is declared with.

    >>> TASK.override("negatives=0").negatives
    0
    """

    reads: ClassVar[str] = "SQuAD's and DPR's JSON; JSONL and TSV of question, passage, negatives"

    two: bool = False  # an encoder for questions and another for passages (DPR §3.1)? Else one reads both
    negatives: int = 1  # hard ones of each question, of which the others of the batch are told too
    random: bool = False  # are they drawn from all passages, instead of found by BM25?
    in_batch: bool = True  # are the passages of other questions negatives?
    similarity: Similarity = Similarity.COSINE  # or DOT, as in the paper
    scale: float = 20.0  # by which it is multiplied in the loss; with DOT 1 is the paper's
    passage: int = 100  # words (§4.1)

    def __post_init__(self) -> None:
        if self.negatives < 0 or self.passage < 1 or self.scale <= 0:
            raise PlumeError("negatives is 0 or more, passage 1 word or more, scale more than 0.")
        if not self.in_batch and not self.negatives:
            raise PlumeError("Without negatives of the batch a question needs some of its own: negatives=1 or more.")
        if self.similarity not in (Similarity.COSINE, Similarity.DOT):
            raise PlumeError("similarity is COSINE or DOT, by which an index finds.")


TASK = Retrieval(kind="retrieval", title="passages that answer a question", metric="mrr")
