"""Copying: each token is written from the vocabulary or copied from the source (See et al., arXiv:1704.04368; PALM, arXiv:2004.07159 §2.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, at, precise
from plume.nn.factorised import narrowed, vector_width

_NEVER = 1e-30  # stands for a probability of 0, whose logarithm has no gradient


@dataclass(frozen=True, kw_only=True)
class Copying(Head):
    """p(y) = λ · vocabulary(y) + (1 − λ) · the attention on those source tokens that are y.

    From the decoder's last state s and the encoder's last states m, as the paper has it:
        vocabulary = softmax(E (W_v s + b_v)), E the token embeddings
        attention α_l = softmax over l of w · tanh(W_m m_l + W_s s + b)
        λ = sigmoid(u · Σ_l α_l m_l + v · s + c)
    The equations rest on the paper alone: its pre-training code was never published.
    """

    def build(self, dims: Dims) -> CopyingModule:
        return CopyingModule(dims)


class CopyingModule(HeadModule):
    """A softmax over the vocabulary, one over the source, and a gate between them."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.token = dims.token
        self.dense = nn.Linear(dims.width, vector_width(dims.token))
        self.memory = nn.Linear(dims.width, dims.width, bias=False)
        self.state = nn.Linear(dims.width, dims.width)
        self.score = nn.Linear(dims.width, 1, bias=False)
        self.gate = nn.Linear(2 * dims.width, 1)

    def logits(self, hidden: Tensor) -> Tensor:
        """Of the vocabulary alone."""
        return F.linear(narrowed(self.token, self.dense(hidden)), self.token.weight)

    def attention(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        """[B, T, S] where each state would copy from, and [B, T] the logit of writing a token of the vocabulary instead."""
        source, states = encoded.source, encoded.read
        assert source is not None and states is not None, "only a decoder's batch has a source"
        mixed = torch.tanh(self.memory(states)[:, None] + self.state(encoded.last)[:, :, None])
        scores = self.score(mixed).squeeze(-1)
        if source.length is not None:
            padding = torch.arange(states.shape[1], device=states.device) >= source.length[:, None]
            scores = scores.masked_fill(padding[:, None], float("-inf"))
        looks = precise(scores).softmax(-1)
        context = torch.matmul(looks.to(states.dtype), states)
        return looks, self.gate(torch.cat([context, encoded.last], dim=-1)).squeeze(-1)

    def log_probabilities(self, encoded: Encoded) -> Tensor:
        """[B, T, V]"""
        looks, gate = self.attention(encoded)
        assert encoded.source is not None, "only a decoder's batch has a source"
        written = precise(self.logits(encoded.last)).log_softmax(-1)
        place = encoded.source.tokens[:, None].expand(looks.shape)
        copied = torch.zeros_like(written).scatter_add(2, place, precise(looks))
        return _mixed(written, copied, precise(gate)[:, :, None])

    def taught(self, encoded: Encoded, target: Target) -> Tensor:
        return at(replace(encoded, last=self.log_probabilities(encoded)), target)

    def next_scores(self, encoded: Encoded) -> Tensor:
        return self.log_probabilities(replace(encoded, last=encoded.last[:, -1:]))[:, 0]

    def raw_scores(self, encoded: Encoded) -> Tensor:
        """A mixture of two distributions has no scores before a softmax."""
        return self.next_scores(encoded)

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        assert encoded.source is not None, "only a decoder's batch has a source"
        asked = target.index if target.slot is None else target.slot
        rows = encoded.last.shape[1]
        looks, gate = self.attention(encoded)
        looks, gate, hidden = (value.flatten(0, 1)[asked] for value in (looks, gate, encoded.last))
        scores, gate = precise(self.logits(hidden)), precise(gate)
        written = scores.log_softmax(-1).gather(1, target.value[:, None]).squeeze(1)
        place = encoded.source.tokens[asked // rows]  # [N, S]
        copied = (looks * (place == target.value[:, None])).sum(1)
        total = -_mixed(written, copied, gate).sum()
        if torch.is_grad_enabled():
            return Loss(total=total, count=len(target.value))
        everything = _mixed(scores.log_softmax(-1), torch.zeros_like(scores).scatter_add(1, place, looks), gate[:, None])
        return Loss(total=total, count=len(target.value), correct=(everything.argmax(-1) == target.value).sum())

    def flops(self, predictions: int) -> int:
        own = [self.dense.weight.numel(), *(value.numel() for value in self.token.parameters())]
        return 2 * predictions * sum(own)

    def source_flops(self, *, rows: int, queries: int, source: int) -> int:
        width = self.memory.in_features
        projected = (source + queries) * width * width
        return 2 * rows * (projected + 2 * queries * source * width + queries * 2 * width)


def _mixed(written: Tensor, copied: Tensor, gate: Tensor) -> Tensor:
    """log(λ · exp(written) + (1 − λ) · copied), with λ the sigmoid of the gate."""
    return torch.logaddexp(F.logsigmoid(gate) + written, F.logsigmoid(-gate) + copied.clamp(min=_NEVER).log())
