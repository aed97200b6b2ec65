"""Softmax cross-entropy over a large vocabulary, with the gradient made in the forward pass.

The scores [N, V] are the largest tensor of a small model. They are computed a slice of rows at a time, in one reused buffer, and turned
into the gradient in place, so that they are touched once and never kept.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

_SLICE = 4_000_000  # scores at a time: small enough to stay in cache, large enough for the products to run at full speed


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(context, hidden, weight, bias, value, smoothing):  # type: ignore[no-untyped-def]
        rows = max(1, min(len(hidden), _SLICE // len(weight)))
        total = hidden.new_zeros(())
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight) if len(hidden) > rows or len(hidden) == 0 else None
        bias_gradient = torch.zeros_like(bias) if bias is not None else None
        for first in range(0, len(hidden), rows):
            part, answer = hidden[first : first + rows], value[first : first + rows, None]
            scores = F.log_softmax(F.linear(part, weight, bias), dim=1)
            total -= (1 - smoothing) * scores.gather(1, answer).sum()
            if smoothing:
                total -= smoothing * scores.mean(1).sum()
            gradient = scores.exp_()
            if smoothing:
                gradient -= smoothing / len(weight)
            gradient.scatter_add_(1, answer, gradient.new_full(answer.shape, smoothing - 1.0))
            torch.mm(gradient, weight, out=hidden_gradient[first : first + rows])
            if weight_gradient is None:
                weight_gradient = gradient.t() @ part
            else:
                weight_gradient.addmm_(gradient.t(), part)
            if bias_gradient is not None:
                bias_gradient += gradient.sum(0)
        context.save_for_backward(hidden_gradient, weight_gradient, bias_gradient)
        return total

    @staticmethod
    def backward(context, outer):  # type: ignore[no-untyped-def]
        hidden_gradient, weight_gradient, bias_gradient = context.saved_tensors
        scaled = None if bias_gradient is None else bias_gradient * outer
        return hidden_gradient * outer, weight_gradient.mul_(outer), scaled, None, None


def linear_cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor | None, value: Tensor, *, smoothing: float = 0.0) -> Tensor:
    """The summed loss of softmax(hidden · weightᵀ + bias) against `value`: hidden [N, D], weight [V, D].

    `smoothing` gives that share of the target to all tokens alike (arXiv:1512.00567 §7).
    """
    if torch.is_autocast_enabled(hidden.device.type):
        hidden, weight, bias = hidden.float(), weight.float(), None if bias is None else bias.float()
    if torch.is_grad_enabled() and hidden.requires_grad:
        with torch.autocast(hidden.device.type, enabled=False):
            total: Tensor = _LinearCrossEntropy.apply(hidden, weight, bias, value, smoothing)  # type: ignore[no-untyped-call]
            return total
    return F.cross_entropy(F.linear(hidden, weight, bias), value, reduction="sum", label_smoothing=smoothing)
