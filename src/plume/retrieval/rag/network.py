"""RagModel: the trainable: finds passages, reads each, and learns from how likely they make the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.core.part import Part
from plume.heads.head import Loss
from plume.model.networks.model import Model
from plume.model.trainable import Trainable
from plume.retrieval.bi_encoder import narrowed
from plume.retrieval.rag.finding import Floats, Numbers, VectorFinder
from plume.retrieval.rag.likelihood import answer_log_likelihood
from plume.retrieval.rag.pages import RAG, Pages, decoder_batch
from plume.sentences.losses import InBatch
from plume.sentences.network import ContrastModel
from plume.tasks.rag import RetrievalAugmented
from plume.train.device import to_device
from plume.tuning.rows.rows import TextRows
from plume.tuning.writing.ways import ByDecoder

DISTINCT = "distinct"  # the share of different passages among those of a batch: where it falls, the same few are found for all


@dataclass(frozen=True, kw_only=True)
class RagRows:
    """What the batches' questions are about: rows of both sides, and passages that were found for good, where nothing learns to find."""

    pages: Pages
    targets: TextRows
    fixed: tuple[Numbers, Floats] | None  # [N, k] numbers and logits


class RagModel(Trainable):
    """`writer` reads a question with a passage and writes; `asking` reads questions, whose vectors choose among those of `finder`. None: what was
    found stays."""

    def __init__(
        self, writer: Model, task: RetrievalAugmented, way: ByDecoder, rows: RagRows, *,
        asking: Model | None = None, pooling: Part | None = None, finder: VectorFinder | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.memories = {}
        self.writer, self.task, self.way, self.rows = writer, task, way, rows
        self.finder = finder
        # Its vectors are made as `embed` makes them; the loss of it is never asked for.
        self.reader = None if asking is None else _VectorsOf(asking, pooling)

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        return self.named_parameters()

    def settle(self, batch: Batch) -> None:
        """What the answers do not depend on does not learn. Found by asking for one gradient."""
        with torch.random.fork_rng(devices=[]):
            torch.autograd.backward(self.losses(batch)[RAG].total)
        for parameter in self.parameters():
            parameter.requires_grad_(parameter.grad is not None)
            parameter.grad = None

    def found(self, batch: Batch, numbers: Numbers) -> tuple[Numbers, Tensor]:
        """[B, k] passages of these questions, and their logits: chosen by what the vectors are now, and with a gradient to them."""
        if self.reader is None or self.finder is None:
            assert self.rows.fixed is not None, "without vectors passages are found beforehand"
            every, logits = self.rows.fixed
            return every[numbers], torch.from_numpy(logits[numbers]).to(batch.tokens.device)
        asked = self.reader.vectors(narrowed(replace(batch, labels={})))
        queries = self.finder.comparable(asked.detach().float()).cpu().numpy()
        found = self.finder.nearest.search(queries, self.task.passages).index
        return found, self.finder.logits(asked, found)

    def counts(self, batch: Batch) -> dict[str, int]:
        sizes = batch.labels[RAG].value
        return {RAG: int(sizes.sum()), DISTINCT: len(sizes) * self.task.passages}

    def flops(self, batch: Batch) -> int:
        """The passages' length is not known before they are found: as long as the mean."""
        rows = len(batch.tokens) * self.task.passages
        told = self.rows.pages.told
        size = min(self.rows.pages.coder.length, int((told.end - told.begin).mean()) + batch.tokens.shape[1])
        tokens = np.zeros((rows, max(size, 1)), np.int64)
        answer = np.zeros((rows, int(batch.labels[RAG].value.max())), np.int64)
        read = self.writer.body_flops(Batch(tokens=answer, source=Batch(tokens=tokens)))
        head = 3 * self.writer.head(self.way.objective).flops(answer.size)
        asked = 0 if self.reader is None else self.reader.body.body_flops(replace(batch, labels={}))
        return read + head + asked

    def losses(self, batch: Batch) -> dict[str, Loss]:
        target = batch.labels[RAG]
        numbers = target.index.cpu().numpy()
        found, logits = self.found(batch, numbers)
        tokens, inside = self.token_log_probabilities(
            lambda rows, passages: self.rows.pages.rows(numbers[rows], passages),
            self.rows.targets,
            np.repeat(numbers, found.shape[1]),
            found,
        )
        likelihood = answer_log_likelihood(logits.log_softmax(-1), tokens, inside, self.task.likelihood)
        different = torch.tensor(float(len(np.unique(found))))
        return {
            RAG: Loss(total=-likelihood.sum(), count=int(target.value.sum())),
            DISTINCT: Loss(total=different, count=found.size),
        }

    def token_log_probabilities(
        self, lay_out: Callable[[Numbers, Numbers], TextRows], targets: TextRows, written: Numbers, found: Numbers
    ) -> tuple[Tensor, Tensor]:
        """[B, k, T] of the tokens of each question's answer after each of its passages, and [B, T] which there are."""
        count, k = found.shape
        rows = lay_out(np.repeat(np.arange(count), k), found.ravel())
        return written_log_probabilities(self.writer, self.way, rows, targets, written, k)


class _VectorsOf(ContrastModel):
    """What reads questions, for its vectors alone."""

    def __init__(self, body: Model, pooling: Part | None) -> None:
        super().__init__(body, InBatch(), pooling=pooling)  # type: ignore[arg-type]


def written_log_probabilities(
    writer: Model, way: ByDecoder, rows: TextRows, targets: TextRows, written: Numbers, k: int
) -> tuple[Tensor, Tensor]:
    """[B, k, T] of each target's tokens after each row, k rows a target; and [B, T] which tokens there are."""
    device = next(writer.parameters()).device
    batch, pairs = decoder_batch(rows, targets, written, way)
    states = writer.token_states(to_device(batch, device))
    scores = writer.head(way.objective).log_probabilities(states)
    value = torch.from_numpy(pairs.written).to(device)
    found = scores.gather(2, value[:, :, None]).squeeze(2)
    inside = torch.from_numpy(pairs.inside).to(device).view(-1, k, found.shape[1])
    return found.view(-1, k, found.shape[1]).masked_fill(~inside, 0.0), inside[:, 0]
