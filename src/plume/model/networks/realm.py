"""REALM: a retriever that finds blocks of documents, and a reader that fills masks from the text and each of them (arXiv:2002.08909)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded, Target
from plume.core.part import replace as replace_part
from plume.data.blocks import Numbers
from plume.data.layouts.carried import OWN_DOCUMENT
from plume.heads.head import Loss, precise
from plume.heads.token_prediction import TokenPredictionModule
from plume.model.networks.evidence import Evidence
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.retriever_reader import RetrieverReader
from plume.nn.block import Block

_INDEX = "index"  # in a checkpoint
_ROWS = 128  # blocks that are given their vectors at once


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """What a batch found: the blocks of each row, and how relevant each is, the empty one first."""

    which: Numbers  # [B, k]; -1: there were too few
    prior: Tensor  # [B, 1 + k] log-probabilities


class Realm(Model):
    """`embedding` and `stack` are the reader, the model that is kept for other uses; `retriever` shares the embedding.

    Without documents it reads the empty block alone, which is a masked language model. `evidence` belongs to a run or a use, not to the model.
    """

    evidence: Evidence | None = None

    def __init__(self, recipe: Recipe, *, vocabulary: int, part: RetrieverReader) -> None:
        self.part = part
        super().__init__(recipe, vocabulary=vocabulary)
        width = recipe.network.output_width
        own = replace_part(recipe.transformer, pruned=(), inner=())
        self.retriever = own.build(embedding_width=recipe.embedding.width, sharing=recipe.sharing)
        self.projection = nn.Linear(width, part.width)
        self.projection_norm = nn.LayerNorm(part.width)

    def initialise(self, seed: int) -> None:
        super().initialise(seed)
        # A local start (nn/local_start.py) lets attention begin at the neighbours. The reader's has to find what it needs in the block behind the
        # text, far from the mask, so its queries and keys begin at random.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 1)
            for block in self.stack.blocks:
                assert isinstance(block, Block)
                for linear in (block.attention.query, block.attention.key):
                    nn.init.normal_(linear.weight, std=self.recipe.transformer.initial_range)

    # The retriever

    _progress: float = 1.0  # of the run; a model that is loaded is done

    def before_step(self, progress: float) -> None:
        super().before_step(progress)
        self._progress = progress

    def relevance_vectors(self, batch: Batch) -> Tensor:
        """[B, p] of texts or blocks: the state of the first token, projected and normalised."""
        first = torch.zeros((len(batch.tokens), 1), dtype=torch.long, device=batch.tokens.device)
        encoded = self._run(self.retriever, replace(batch, read=first, segment=None))
        made: Tensor = self.projection_norm(self.projection(encoded.last[:, 0]))
        return made

    def consult(self, evidence: Evidence) -> None:
        """From now on look things up there; in training the index is made when it is first needed."""
        self.evidence = evidence

    @torch.no_grad()
    def renew_index(self) -> None:
        """Give every block its vector by the weights as they are; of several processes each does its share."""
        assert self.evidence is not None
        count, device = len(self.evidence), self.projection.weight.device
        size, rank = (dist.get_world_size(), dist.get_rank()) if dist.is_initialized() else (1, 0)
        share = -(-count // size)
        order = np.argsort(self.evidence.blocks.bodies.end - self.evidence.blocks.bodies.start, kind="stable")  # little padding
        mine = order[rank * share : (rank + 1) * share]
        made = torch.zeros((share, self.part.width), device=device, dtype=self.projection.weight.dtype)
        with self._at_rest():
            for first in range(0, len(mine), _ROWS):
                some = mine[first : first + _ROWS]
                made[first : first + len(some)] = self.relevance_vectors(self.evidence.alone(some, device))
        parts = [made]
        if size > 1:
            parts = [torch.empty_like(made) for _ in range(size)]
            dist.all_gather(parts, made)
        vectors = torch.empty((count, self.part.width), device=device, dtype=made.dtype)
        vectors[torch.from_numpy(order).to(device)] = torch.cat(parts)[:count]
        self.evidence.vectors = vectors

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """Without dropout, whatever is going on."""
        was = self.training
        self.eval()
        try:
            yield
        finally:
            self.train(was)

    def candidates(self, batch: Batch) -> Candidates | None:
        """Look up what may help with each row. The index only chooses; the relevance of what it chose is computed anew, with its gradient."""
        evidence = self.evidence
        if evidence is None or (evidence.vectors is None and not self.training):  # measured before there is an index
            return None
        if evidence.vectors is None:
            self.renew_index()
        with torch.set_grad_enabled(torch.is_grad_enabled() and self._progress >= self.part.learns_from):
            return self._relevant(batch, evidence)

    def _relevant(self, batch: Batch, evidence: Evidence) -> Candidates:
        device = batch.tokens.device
        asked = self.relevance_vectors(batch)
        own = batch.named.get(OWN_DOCUMENT)
        which = evidence.search(asked, self.part.candidates - 1, None if own is None else own.amax(1).cpu().numpy())
        rows, count = which.shape
        found = self.relevance_vectors(evidence.alone(which.ravel(), device)).view(rows, count, -1)
        empty = self.relevance_vectors(evidence.alone(np.array([-1]), device))
        products = torch.cat([asked @ empty.T, (found * asked[:, None]).sum(-1)], dim=1) * self.part.scale
        missing = torch.from_numpy(np.pad(which < 0, ((0, 0), (1, 0)))).to(device)
        return Candidates(which=which, prior=precise(products).masked_fill(missing, -torch.inf).log_softmax(-1))

    # The reader

    def _states(self, batch: Batch, found: Candidates, row: Tensor, place: Tensor) -> Tensor:
        """[N, 1 + k, D] at places of rows (in `read`, where there is one): the empty block's, and with each block behind the text."""
        assert self.evidence is not None
        count = found.which.shape[1]
        read = None if batch.read is None else batch.read.repeat_interleave(count, dim=0)
        with_blocks = replace(self.evidence.behind(batch, found.which, batch.tokens.device), read=read)
        states = self.encode(with_blocks).last
        states = states.view(-1, count, *states.shape[1:])  # [B, k, M, D]
        return torch.cat([self.encode(batch).last[row, place][:, None], states[row, :, place]], dim=1)

    def losses(self, batch: Batch) -> dict[str, Loss]:
        if batch.source is not None:
            return {name: self.head(name).loss(self._pairs(batch, batch.source), target) for name, target in batch.labels.items()}
        found = self.candidates(batch)
        if found is None:
            return super().losses(batch)
        return {name: self._marginal(batch, found, name, target) for name, target in batch.labels.items()}

    def _pairs(self, batch: Batch, blocks: Batch) -> Encoded:
        """Vectors of sentences and of blocks, for inverse cloze."""
        scale = self.part.scale
        return Encoded(last=self.relevance_vectors(batch)[:, None] * scale, read=self.relevance_vectors(blocks)[:, None])

    def _marginal(self, batch: Batch, found: Candidates, name: str, target: Target) -> Loss:
        """For each masked token the logarithm of the sum over candidates of p(candidate | text) · p(token | text, candidate)."""
        head = self.head(name)
        assert isinstance(head, TokenPredictionModule)
        row, place = self._places(batch, target)
        scores = precise(head.logits(self._states(batch, found, row, place))).log_softmax(-1)  # [N, 1 + k, V]
        each = scores.gather(2, target.value[:, None, None].expand(-1, scores.shape[1], 1)).squeeze(2)
        token = marginal(each, found.prior[row])
        further = {"utility": (token - each[:, 0]).detach().sum()}
        correct = None
        if not torch.is_grad_enabled():
            correct = (marginal(scores, found.prior[row][:, :, None]).argmax(-1) == target.value).sum()
            further |= {"found": self._holding(found, row, target.value)}
        return Loss(total=-token.sum(), count=len(target.value), correct=correct, further=further)

    @staticmethod
    def _places(batch: Batch, target: Target) -> tuple[Tensor, Tensor]:
        """The row of each answer, and its place there or in what is read of it."""
        time = batch.tokens.shape[1]
        return target.index // time, target.index % time if batch.read is None or target.slot is None else target.slot % batch.read.shape[1]

    def _holding(self, found: Candidates, row: Tensor, value: Tensor) -> Tensor:
        """How many of the tokens belong to a span that one of its row's blocks holds."""
        assert self.evidence is not None
        spans: list[list[int]] = [[] for _ in found.which]
        for number, token in zip(row.tolist(), value.tolist(), strict=True):
            spans[number].append(token)
        held = torch.from_numpy(self.evidence.holds(found.which, spans)).to(row.device)
        return held[row].sum()

    def token_probabilities(self, batch: Batch, name: str) -> Tensor:
        """[B, M, V] at the places read, over all candidates."""
        found = self.candidates(batch)
        if found is None or batch.read is None:
            return super().token_probabilities(batch, name)
        rows, most = batch.read.shape
        row = torch.arange(rows, device=batch.tokens.device).repeat_interleave(most)
        place = torch.arange(most, device=batch.tokens.device).repeat(rows)
        scores = precise(self.head(name).logits(self._states(batch, found, row, place))).log_softmax(-1)
        return marginal(scores, found.prior[row][:, :, None]).exp().view(rows, most, -1)

    # A run

    def after_step(self, steps: int) -> None:
        super().after_step(steps)
        if self.evidence is not None and self.evidence.vectors is not None and steps % self.part.refresh == 0:
            self.renew_index()

    def carried(self) -> dict[str, Tensor]:
        index = None if self.evidence is None else self.evidence.vectors
        return super().carried() | ({} if index is None else {_INDEX: index})

    def carry_on(self, carried: dict[str, Tensor]) -> None:
        if self.evidence is not None and _INDEX in carried:
            self.evidence.vectors = carried[_INDEX]
        super().carry_on({name: value for name, value in carried.items() if name != _INDEX})

    def flops(self, batch: Batch) -> int:
        rows, p = len(batch.tokens), self.part.width
        if batch.source is not None:
            return sum(map(self._retriever_flops, (rows, rows), self._times(batch))) + 3 * 2 * rows * rows * p
        return super().flops(batch) + (0 if self.evidence is None else self._evidence_flops(batch, self.evidence))

    @staticmethod
    def _times(batch: Batch) -> tuple[int, int]:
        assert batch.source is not None
        return batch.tokens.shape[1], batch.source.tokens.shape[1]

    def _retriever_flops(self, rows: int, time: int) -> int:
        inner = self.retriever.step_flops(rows=rows, time=time, read=1, positions=self.embedding.position)
        return inner + 3 * (self.embedding.product_flops(rows * time) + 2 * rows * self.projection.weight.numel())

    def _evidence_flops(self, batch: Batch, evidence: Evidence) -> int:
        """Of looking up and reading, with blocks of their mean length, and this step's part of making the index: which blocks come is not known
        before."""
        rows, time = batch.tokens.shape
        count, bodies = self.part.candidates - 1, evidence.blocks.bodies
        mean = 2 + int((bodies.end - bodies.start).mean())
        read = None if batch.read is None else batch.read.shape[1]
        reading = self.stack.step_flops(rows=rows * count, time=time + mean, read=read, positions=self.embedding.position)
        asked = sum(self.head(name).flops(count * len(target.value)) for name, target in batch.labels.items())
        renewing = self._retriever_flops(len(evidence), mean) // 3 // self.part.refresh
        return reading + 3 * asked + self._retriever_flops(rows, time) + self._retriever_flops(rows * count, mean) + renewing


def marginal(each: Tensor, prior: Tensor) -> Tensor:
    """log Σ p(candidate) · p(token | candidate), over the second axis of logarithms.

    >>> round(float(marginal(torch.log(torch.tensor([[0.5, 0.1]])), torch.log(torch.tensor([[0.25, 0.75]]))).exp()), 3)
    0.2
    """
    return (each + prior).logsumexp(1)
