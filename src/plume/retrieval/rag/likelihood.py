"""The two likelihoods of RAG (arXiv:2005.11401 §2.1). The passages' own log-probabilities are over the k that were found, and enter once."""

from __future__ import annotations

import torch
from torch import Tensor

from plume.tasks.rag import Likelihood


def answer_log_likelihood(passages: Tensor, tokens: Tensor, inside: Tensor, likelihood: Likelihood) -> Tensor:
    """[B] from the passages' log-probabilities [B, k], those of each answer's tokens under each passage [B, k, T], and which tokens there are [B, T].

    >>> passages, tokens = torch.log(torch.tensor([[0.5, 0.5]])), torch.log(torch.tensor([[[0.2, 0.1], [0.4, 0.3]]]))
    >>> inside = torch.tensor([[True, True]])
    >>> [round(answer_log_likelihood(passages, tokens, inside, kind).exp().item(), 4) for kind in Likelihood]
    [0.07, 0.06]
    """
    if likelihood is Likelihood.SEQUENCE:
        return (passages + (tokens * inside[:, None]).sum(-1)).logsumexp(1)
    return ((passages[:, :, None] + tokens).logsumexp(1) * inside).sum(-1)


def shares(passages: Tensor, tokens: Tensor, inside: Tensor) -> Tensor:
    """[B, k] how much of an answer's likelihood each passage is: p(z | x, y)."""
    return torch.softmax(passages + (tokens * inside[:, None]).sum(-1), dim=1)
