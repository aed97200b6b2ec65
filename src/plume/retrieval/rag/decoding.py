"""Writing an answer from several passages at once (arXiv:2005.11401 §2.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.model.networks.model import Model
from plume.model.use.generate import beam_search, greedy
from plume.model.use.searching import Wanted, Written
from plume.model.use.writers import Writer
from plume.retrieval.rag.finding import Floats
from plume.retrieval.rag.likelihood import answer_log_likelihood, shares
from plume.retrieval.rag.network import written_log_probabilities
from plume.tasks.rag import Likelihood, RetrievalAugmented, SequenceDecoding
from plume.text.pieces import bounds
from plume.train.device import to_device
from plume.tuning.rows.rows import TextRows
from plume.tuning.rows.written_rows import source_batch
from plume.tuning.writing.ways import ByDecoder

Tokens = tuple[int, ...]


class MixedWriter(Writer):
    """Each text is written after k sources at once: the next token's probability is the mean over them, weighed by the passages' (RAG-Token).

    An ordinary writer for any search.
    """

    spread = 0.25

    def __init__(self, below: Writer, passages: Tensor) -> None:
        """`below` has k rows for each text; `passages` are their log-probabilities [B, k]."""
        self.below, self.passages = below, passages
        self.model, self.device = below.model, below.device
        self.head = below.head

    @property
    def rows(self) -> int:
        return len(self.passages)

    def first(self) -> Tensor:
        return self._mixed(self.below.first())

    def go_on(self, tokens: Tensor) -> Tensor:
        return self._mixed(self.below.go_on(tokens.repeat_interleave(self.passages.shape[1])))

    def reorder(self, rows: Tensor) -> None:
        k = self.passages.shape[1]
        self.below.reorder((rows[:, None] * k + torch.arange(k, device=rows.device)).flatten())
        self.passages = self.passages[rows]

    def _mixed(self, scores: Tensor) -> Tensor:
        rows, k = self.passages.shape
        return (self.passages[:, :, None] + scores.view(rows, k, -1)).logsumexp(1)


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """An answer, how likely it is, and how much of that each passage is."""

    tokens: Tokens
    log_probability: float
    shares: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """Writes for one question at a time, from the rows of its passages."""

    writer: Model
    way: ByDecoder
    task: RetrievalAugmented
    room: int  # tokens of an answer at most

    @torch.inference_mode()
    def decode(self, rows: TextRows, logits: Floats) -> Decoded:
        """`rows` [k] hold the question with each passage, `logits` [k] are the passages'."""
        passages = torch.from_numpy(logits).to(next(self.writer.parameters()).device).log_softmax(-1)
        if self.task.likelihood is Likelihood.TOKEN:
            (best, *_) = self._search(MixedWriter(self._writer_of(rows), passages[None]))[0]
            return self._scored([best.tokens], rows, passages)[0]
        found = self._search(self._writer_of(rows))
        if self.task.decoding is SequenceDecoding.FAST:
            return self._fast(found, rows, passages)
        every = list(dict.fromkeys(one.tokens for ways in found for one in ways))
        return max(self._scored(every, rows, passages), key=lambda one: one.log_probability)

    def _writer_of(self, rows: TextRows) -> Writer:
        every = np.arange(len(rows))
        source: Batch = to_device(
            source_batch(rows.padded(rows.tokens, every, rows.pad), rows.length), next(self.writer.parameters()).device
        )
        return self.way.writer(self.writer, source)

    def _search(self, writer: Writer) -> list[list[Written]]:
        room = self.room + len(self.way.opening)
        if self.task.beams == 1:
            return [[one] for one in greedy(writer, room=room, stop=self.way.end)]
        return beam_search(writer, lines=[Wanted(room=room)] * writer.rows, stop=self.way.end, beams=self.task.beams)

    def _scored(self, candidates: list[Tokens], rows: TextRows, passages: Tensor) -> list[Decoded]:
        """Each candidate under every passage."""
        count, k = len(candidates), len(rows)
        targets = _rows([(*tokens, self.way.end) for tokens in candidates], rows.pad)
        again = _repeated(rows, count)
        tokens, inside = written_log_probabilities(self.writer, self.way, again, targets, np.repeat(np.arange(count), k), k)
        prior = passages.expand(count, k)
        total = answer_log_likelihood(prior, tokens, inside, self.task.likelihood)
        part = shares(prior, tokens, inside)
        return [
            Decoded(tokens=one, log_probability=float(value), shares=tuple(map(float, share)))
            for one, value, share in zip(candidates, total.tolist(), part.tolist(), strict=True)
        ]

    def _fast(self, found: list[list[Written]], rows: TextRows, passages: Tensor) -> Decoded:
        """A passage whose beams did not find a candidate gives it nothing."""
        parts: dict[Tokens, dict[int, float]] = {}
        for number, ways in enumerate(found):
            for one in ways:
                ended = len(one.tokens) < self.room + len(self.way.opening)  # the stop is one of the tokens whose mean the score is
                parts.setdefault(one.tokens, {})[number] = float(passages[number]) + one.score * (len(one.tokens) + ended)
        total = {tokens: float(np.logaddexp.reduce(list(by.values()))) for tokens, by in parts.items()}
        best = max(total, key=lambda tokens: total[tokens])
        share = tuple(float(np.exp(parts[best][number] - total[best])) if number in parts[best] else 0.0 for number in range(len(rows)))
        return Decoded(tokens=best, log_probability=total[best], shares=share)


def _rows(texts: list[Tokens], pad: int) -> TextRows:
    tokens = np.array([token for text in texts for token in text], np.int64)
    nowhere = np.full(len(tokens), -1)
    return TextRows(tokens=tokens, segment=None, text=nowhere, place=nowhere, bounds=bounds([len(text) for text in texts]), pad=pad)


def _repeated(rows: TextRows, times: int) -> TextRows:
    """All rows, so many times one behind the other."""
    lengths = np.tile(rows.length, times)
    nowhere = np.full(int(lengths.sum()), -1)
    return TextRows(tokens=np.tile(rows.tokens, times), segment=None, text=nowhere, place=nowhere, bounds=bounds(lengths), pad=rows.pad)
