"""System 1 and System 2 over a graph of pages: pointers to what comes next, and what the whole graph says (CogQA, arXiv:1905.05460)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, precise
from plume.nn.dropout import Dropout

OUTSIDE, TEXT, START = range(
    3
)  # what a token is told by `Target.feature`: nothing can be found here, a page's text, the place that says "nothing"
SPANS = 3  # at most so many right ones a page
HOP_FIRST, HOP_LAST, ANSWER_FIRST, ANSWER_LAST = (slice(SPANS * n, SPANS * (n + 1)) for n in range(4))  # columns of `Target.value`
ROLE, KIND, WIDTH = 4 * SPANS, 4 * SPANS + 1, 4 * SPANS + 2
NONE, WRONG, RIGHT = range(3)  # a node's role: no answer, a wrong one, a right one
NO, YES, FIRST, SECOND = range(4)  # a question's answer, where it is about two nodes: said with its first row, -1 elsewhere
POINTERS, NODE, AGREE, PREFER = 4, 4, 5, 6  # columns of the scores: four pointers a token, and what is said of the node and of the question
COLUMNS = 7
_STEPS = 2
_SELF = 2.0  # of a node in its own next state, beside 1 for each that points at it


@dataclass(frozen=True, kw_only=True)
class CognitiveGraph(Head):
    """`reasons` weighs System 2's loss beside System 1's; `comparing` that of questions about two nodes."""

    dropout: float = 0.0
    reasons: float = 0.5
    comparing: float = 0.2

    def build(self, dims: Dims) -> CognitiveGraphModule:
        return CognitiveGraphModule(self, dims)


class CognitiveGraphModule(HeadModule):
    """Rows are nodes. `Target.context` [G, N] says which rows are a question's graph (-1: none), `Target.links` [G, N, N] which node points at
    which."""

    def __init__(self, part: CognitiveGraph, dims: Dims) -> None:
        super().__init__()
        self.part = part
        self.dropout = Dropout(part.dropout)
        self.output = nn.Linear(dims.width, POINTERS)
        self.step = nn.Linear(dims.width, dims.width)
        self.choose = _judge(dims.width)
        self.agree = _judge(dims.width)
        self.prefer = _judge(dims.width)

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.output(self.dropout(hidden))
        return scores

    def scores(self, encoded: Encoded, target: Target) -> Tensor:
        """[B, T, 7]: hop and answer pointers of each token; the node's score, and the question's, at every token of the row."""
        assert target.feature is not None and target.context is not None
        point = precise(self.logits(encoded.last)).masked_fill((target.feature == OUTSIDE)[..., None], -1e4)
        summary = encoded.last[torch.arange(len(point)), (target.feature == START).int().argmax(1)]
        node, pair = self._reason(summary, target)
        said = point.new_zeros((*point.shape[:2], COLUMNS - POINTERS))
        there = target.context >= 0
        rows = target.context[there]
        said[rows, :, 0] = precise(node[there])[:, None]
        said[rows, :, 1:] = precise(pair[:, None].expand(*there.shape, 2)[there])[:, None]
        return torch.cat([point, said], dim=-1)

    def _reason(self, summary: Tensor, target: Target) -> tuple[Tensor, Tensor]:
        """[G, N] what speaks for each node, and [G, 2] that the first two agree, and that the first is meant."""
        assert target.context is not None and target.links is not None
        there = target.context >= 0
        state = self.dropout(summary)[target.context.clamp(min=0)] * there[..., None]
        weight = target.links.to(state.dtype) + _SELF * torch.eye(there.shape[1], device=state.device, dtype=state.dtype)
        weight = weight / weight.sum(1, keepdim=True)  # what flows into a node sums to 1
        for _ in range(_STEPS):
            state = F.gelu(self.step(weight.transpose(1, 2) @ state))
        second = state[:, min(1, state.shape[1] - 1)]
        apart = state[:, 0] - second
        return self.choose(state).squeeze(-1), torch.cat([self.agree(apart), self.prefer(apart)], dim=-1)

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.scores(encoded, target)
        assert target.feature is not None and target.context is not None
        read = (target.feature == TEXT).any(1)
        null = (target.feature == START).int().argmax(1)
        columns = (HOP_FIRST, HOP_LAST, ANSWER_FIRST, ANSWER_LAST)
        found = [_pointing(scores[..., number], target.value[:, part], null) for number, part in enumerate(columns)]
        system1 = (torch.stack(found).mean(0) * read).sum()
        chosen, right = self._chosen(scores, target)
        compared = self._compared(scores, target)
        each_group = len(target.value) / len(target.context)  # rows are counted, and questions weigh as much
        total = system1 + each_group * (self.part.reasons * chosen + self.part.comparing * compared)
        return Loss(total=total, count=len(target.value), correct=right)

    def _chosen(self, scores: Tensor, target: Target) -> tuple[Tensor, Tensor]:
        """A softmax over a question's possible answers; of several right ones any will do."""
        assert target.context is not None
        rows = target.context.clamp(min=0)
        role = target.value[:, ROLE][rows].masked_fill(target.context < 0, NONE)
        node = scores[:, 0, NODE][rows]
        some = (role == RIGHT).any(1) & (role == WRONG).any(1)
        every = node.masked_fill(role == NONE, -1e4).logsumexp(1)
        right = node.masked_fill(role != RIGHT, -1e4).logsumexp(1)
        best = role.gather(1, node.detach().masked_fill(role == NONE, -1e4).argmax(1, keepdim=True)).squeeze(1)
        return ((every - right) * some).sum(), ((best == RIGHT) & some).sum()

    def _compared(self, scores: Tensor, target: Target) -> Tensor:
        assert target.context is not None
        first = target.context[:, 0]
        kind = target.value[first, KIND]
        said = torch.where(kind < FIRST, scores[first, 0, AGREE], scores[first, 0, PREFER])
        wanted = (kind == YES) | (kind == FIRST)
        return (F.binary_cross_entropy_with_logits(said, wanted.to(said.dtype), reduction="none") * (kind >= 0)).sum()


def _judge(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))


def _pointing(scores: Tensor, value: Tensor, null: Tensor) -> Tensor:
    """[B] the loss of pointers [B, T] whose right columns [B, SPANS] share the probability; without any it is that of "nothing"."""
    there = value >= 0
    logs = scores.log_softmax(1)
    shared = (logs.gather(1, value.clamp(min=0)) * there).sum(1) / there.sum(1).clamp(min=1)
    return -torch.where(there.any(1), shared, logs.gather(1, null[:, None]).squeeze(1))
