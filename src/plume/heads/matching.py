"""Which of several texts goes with a question, where something is also counted of each: what the network says, and what its counts weigh.

Wide and deep (Cheng et al., 2016): the network finds what is alike in meaning; weights of single features find what is alike in letters, and
which words go with which choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.batch import Target
from plume.heads.head import Dims
from plume.heads.sentence_classification import Choice, ChoiceModule

_QUICK = 10.0  # the weights of counts learn at the rate of a network's, and have further to go
_QUICKER = 50.0  # those of crossings are met seldom


@dataclass(frozen=True, kw_only=True)
class Matching(Choice):
    """A choice with `Target.feature` [rows, counts and crossings]: numbers that `start` weighs at first, then numbers of crossings; 0 for none.

    A crossing is a word of the question together with a choice, hashed into so many `buckets`; with one there are none.
    Before anything has learned, counts decide alone.
    """

    start: tuple[float, ...] = ()
    buckets: int = 1
    reading: bool = True  # has the network a say? If not, only the weights learn
    counting: bool = True  # have counts and crossings?

    def build(self, dims: Dims) -> MatchingModule:
        return MatchingModule(self, dims)


class MatchingModule(ChoiceModule):
    """`counted` and `crossed` hold the weights over how quickly they learn."""

    part: Matching

    def __init__(self, part: Matching, dims: Dims) -> None:
        super().__init__(part, dims)
        self.counted = nn.Parameter(torch.tensor(part.start) / _QUICK)
        self.crossed = nn.Parameter(torch.zeros(part.buckets))

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        """[questions, choices]"""
        assert target.context is not None, "a choice is among rows"
        silent = logits * 0.0  # part of the sum all the same, so that every weight has a gradient
        read = super().weighed(logits if self.part.reading else silent, target)
        counted = self.weights_of(target) * float(self.part.counting)  # [rows]
        return read + counted[target.context.clamp(min=0)]

    def weights_of(self, target: Target) -> Tensor:
        """[rows] What the counts of each choice weigh."""
        assert target.feature is not None, "something is counted of every choice"
        counts = len(self.part.start)
        counted = (target.feature[:, :counts].to(self.counted.dtype) @ self.counted) * _QUICK
        if self.part.buckets == 1:
            return counted + 0.0 * self.crossed.sum()
        crossings = target.feature[:, counts:].long()
        return counted + self.crossed[crossings].masked_fill(crossings == 0, 0.0).sum(1) * _QUICKER
