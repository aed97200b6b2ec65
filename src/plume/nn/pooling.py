"""One vector for a text: which layers, and how their tokens become one.

What is fitted to many vectors (whitening, a flow) comes after pooling, and is no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.scalar_mix import ScalarMix


class Pooler(nn.Module):
    """BERT's: a dense layer and tanh on the first token, trained by the sentence objective."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., D] states of the first token to the same shape."""
        return torch.tanh(self.dense(hidden))


@dataclass(frozen=True, kw_only=True)
class TokenPooling(Part):
    """How the states of a text's tokens become one."""

    def __call__(self, states: Tensor, length: Tensor | None = None) -> Tensor:
        """[B, T, D] states, of which the first [B] `length` of each row are the text (None: all), to [B, D]."""
        rows, time = states.shape[:2]
        return self.pool(states, torch.full((rows,), time, device=states.device) if length is None else length)

    def pool(self, states: Tensor, length: Tensor) -> Tensor:
        """The same, where the lengths are known."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class FirstToken(TokenPooling):
    """The state of the first token: [CLS], where the family has one."""

    def pool(self, states: Tensor, length: Tensor) -> Tensor:
        return states[:, 0]


@dataclass(frozen=True, kw_only=True)
class LastToken(TokenPooling):
    """The state of the last token, which has read all where a text is read from left to right."""

    def pool(self, states: Tensor, length: Tensor) -> Tensor:
        return states[torch.arange(len(states), device=states.device), length - 1]


@dataclass(frozen=True, kw_only=True)
class MeanOfTokens(TokenPooling):
    """The mean of all tokens' states."""

    def pool(self, states: Tensor, length: Tensor) -> Tensor:
        return (states * _inside(states, length)).sum(1) / length[:, None].to(states.dtype)


@dataclass(frozen=True, kw_only=True)
class MaxOfTokens(TokenPooling):
    """Of each dimension the largest value in the text."""

    def pool(self, states: Tensor, length: Tensor) -> Tensor:
        return states.masked_fill(~_inside(states, length), float("-inf")).amax(1)


@dataclass(frozen=True, kw_only=True)
class WeightedMean(TokenPooling):
    """The mean with weights that grow with the place, 1 to T, for models that read from left to right (SGPT, arXiv:2202.08904 §3.1)."""

    def pool(self, states: Tensor, length: Tensor) -> Tensor:
        weight = torch.arange(1, states.shape[1] + 1, device=states.device)[None, :, None] * _inside(states, length)
        return (states * weight).sum(1) / weight.sum(1).to(states.dtype)


MEAN, FIRST, LAST, MAX, WEIGHTED = MeanOfTokens(), FirstToken(), LastToken(), MaxOfTokens(), WeightedMean()
WORDS: dict[str, TokenPooling] = {"mean": MEAN, "first": FIRST, "last": LAST, "max": MAX, "weighted": WEIGHTED}


@dataclass(frozen=True, kw_only=True)
class Pooling(Part):
    """Layers × tokens: the layers are averaged, joined, or mixed with weights that a task learns; then their tokens become one vector.

    >>> Pooling(layers=(0, -1)).build([32, 32, 32]).width  # the first and the last layer
    32
    >>> Pooling(tokens=(LAST, MAX, MEAN)).build([32]).width
    96
    """

    tokens: tuple[TokenPooling, ...] = (MEAN,)  # several: their vectors side by side
    layers: tuple[int, ...] | None = (-1,)  # 0 is the embedding, -1 the last; None: all
    joined: bool = False  # layers side by side, else their mean
    mixed: bool = False  # layers have weights that a task learns (ELMo, arXiv:1802.05365 §3.2), else their mean is taken

    def __post_init__(self) -> None:
        if not self.tokens or self.layers == ():
            raise PlumeError("Pooling needs at least one layer, and one way to make one vector of its tokens.")
        if self.joined and self.mixed:
            raise PlumeError("Layers are pooled joined or mixed, not both.")

    @property
    def last_only(self) -> bool:
        """Is the last layer all that it reads?"""
        return self.layers == (-1,)

    def build(self, widths: Sequence[int]) -> PoolingModule:
        """For layers of these widths."""
        return PoolingModule(self, widths)


LAST_MAX_MEAN = Pooling(tokens=(LAST, MAX, MEAN))  # ULMFiT's "concat pooling" (arXiv:1801.06146 §3.3)


class PoolingModule(nn.Module):
    """Pooling of layers that are known, with the mixture's weights if there is one."""

    def __init__(self, part: Pooling, widths: Sequence[int]) -> None:
        super().__init__()
        self.part = part
        self.layers = range(len(widths)) if part.layers is None else part.layers
        for layer in self.layers:
            if not -len(widths) <= layer < len(widths):
                raise PlumeError(f"There is no layer {layer}: this model has layers 0 (embeddings) to {len(widths) - 1}.")
        chosen = [widths[layer] for layer in self.layers]
        if len(set(chosen)) > 1 and not part.joined:
            raise PlumeError(f"Layers {', '.join(map(str, self.layers))} cannot be pooled together: they are {set(chosen)} wide.")
        self.width = (sum(chosen) if part.joined else chosen[0]) * len(part.tokens)
        self.mix = ScalarMix(len(self.layers)) if part.mixed else None

    def forward(self, layers: Sequence[Tensor], length: Tensor | None = None) -> Tensor:
        """[B, T, D] each, with [B] lengths, to [B, width]."""
        states = self._one([layers[layer] for layer in self.layers], length)
        return torch.cat([pool(states, length) for pool in self.part.tokens], dim=-1)

    def _one(self, layers: list[Tensor], length: Tensor | None) -> Tensor:
        if self.mix is not None:
            mixed: Tensor = self.mix(layers, length=length)
            return mixed
        if self.part.joined:
            return torch.cat(layers, dim=-1)
        return layers[0] if len(layers) == 1 else torch.stack(layers).mean(0)


def pooling_of(word: Pooling | str, *, layer: int = -1, layers: Sequence[int] | None = None, joined: bool = False) -> Pooling:
    """What a user calls by words: how tokens become one, of one layer or of several; or what is declared already.

    >>> pooling_of("max").tokens == (MAX,), pooling_of("mean", layers=[1, -1]).layers
    (True, (1, -1))
    """
    if isinstance(word, Pooling):
        return word
    if word not in WORDS:
        raise PlumeError(f"There is no pooling '{word}': choose {', '.join(WORDS)}.")
    return Pooling(tokens=(WORDS[word],), layers=(layer,) if layers is None else tuple(layers), joined=joined)


def _inside(states: Tensor, length: Tensor) -> Tensor:
    """[B, T, 1] which places are of the text."""
    return (torch.arange(states.shape[1], device=states.device) < length[:, None])[..., None]
