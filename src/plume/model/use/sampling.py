"""How the next token is chosen from its scores: temperature, top-k, top-p, and what makes tokens less likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.errors import PlumeError

_COLDEST = 1e-4  # below, scores would leave a float32


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen. `top_k` 0 and `top_p` 1 leave the distribution whole, a `repetition_penalty` of 1 all tokens alike.

    `presence_penalty`, `frequency_penalty` and `logit_bias` are OpenAI's; a bias is (token, what is added to its score).
    """

    temperature: float = 1.0
    repetition_penalty: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    greedy: bool = False
    beams: int = 1
    seed: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise PlumeError(f"A temperature of {self.temperature} cannot be sampled at; use --greedy for the likeliest token.")
        if not 0 < self.top_p <= 1 or self.top_k < 0 or self.beams < 1:
            raise PlumeError("top_p lies above 0 and up to 1, top_k is 0 or more, beams 1 or more.")
        if self.repetition_penalty <= 0:
            raise PlumeError(f"A repetition penalty of {self.repetition_penalty} is none: give 1 for no penalty, 1.2 as CTRL's paper does.")

    def penalised(self, scores: Tensor, seen: Sequence[Sequence[int]]) -> Tensor:
        """[B, V] scores, lower for tokens that each row has seen (CTRL, arXiv:1909.05858 §4.1).

        The paper divides them by θ, whatever their sign; a negative one would gain by that, so it is multiplied, as transformers does.

        >>> Sampling(repetition_penalty=2.0).penalised(torch.tensor([[4.0, -4.0, 1.0]]), [[0, 1, 0]]).tolist()
        [[2.0, -8.0, 1.0]]
        """
        if self.repetition_penalty == 1:
            return scores
        lower = torch.where(scores < 0, scores * self.repetition_penalty, scores / self.repetition_penalty)
        found = torch.zeros_like(scores, dtype=torch.bool)
        for row, tokens in enumerate(seen):
            found[row, list(tokens)] = True
        return torch.where(found, lower, scores)

    @property
    def shifts(self) -> bool:
        """Is anything added to scores, or taken from them?"""
        return bool(self.presence_penalty or self.frequency_penalty or self.logit_bias)

    def shifted(self, scores: Tensor, written: Sequence[Sequence[int]]) -> Tensor:
        """[B, V] scores less count × frequency + (count > 0) × presence, by the tokens that each row has written; and with the biases.

        >>> Sampling(presence_penalty=0.5, frequency_penalty=1.0, logit_bias=((2, 3.0),)).shifted(torch.zeros(1, 3), [[0, 0]]).tolist()
        [[-2.5, 0.0, 3.0]]
        """
        scores = scores.clone()
        for token, bias in self.logit_bias:
            scores[:, token] += bias
        for row, tokens in enumerate(written):
            if tokens and (self.presence_penalty or self.frequency_penalty):
                found = Counter(tokens)
                lower = [count * self.frequency_penalty + self.presence_penalty for count in found.values()]
                scores[row, list(found)] -= scores.new_tensor(lower)
        return scores

    def narrow(self, scores: Tensor) -> Tensor:
        """[..., V] scores with the tokens outside top-k and the top-p nucleus (arXiv:1904.09751) at -inf."""
        scores = scores / max(self.temperature, _COLDEST)
        if 0 < self.top_k < scores.shape[-1]:
            scores = scores.masked_fill(scores < scores.topk(self.top_k).values[..., -1:], float("-inf"))
        if self.top_p < 1:
            ordered, index = scores.sort(descending=True)
            share = ordered.softmax(-1)
            outside = share.cumsum(-1) - share >= self.top_p  # by the mass before each token
            outside[..., 0] = False  # the first always stays, also where top_p is too small for a float32
            scores = scores.masked_fill(torch.empty_like(outside).scatter(-1, index, outside), float("-inf"))
        return scores
