"""CNN softmax: the output vector of a word is made from its characters (Jozefowicz et al., arXiv:1602.02410 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import Dims, Head, HeadModule, Loss, at, precise
from plume.heads.sampled_softmax import draw, log_uniform, sampled_cross_entropy
from plume.nn.characters import CharacterCNN

_AT_ONCE = 1024  # words: their filters' values take memory


@dataclass(frozen=True, kw_only=True)
class CNNSoftmax(Head):
    """score(w) = h · (CNN(characters of w) + M c_w), with c_w a short vector of the word's own, which tells words of like spelling apart.

    Far fewer weights than a softmax of a large vocabulary has; training makes the vectors of the words in the sample only. That the characters
    share ELMo's filters, highway layers and start is a choice made here: the paper's code was not published.
    """

    cnn: CharacterCNN = CharacterCNN()  # its projection is set to the network's width
    correction: int = 128  # the length of c_w; 0: none
    samples: int = 8192

    def __post_init__(self) -> None:
        if self.samples < 1 or self.correction < 0:
            raise PlumeError(
                f"A CNN softmax needs samples of at least 1 and no negative correction, not {self.samples}, {self.correction}."
            )

    def build(self, dims: Dims) -> CNNSoftmaxModule:
        if dims.characters is None:
            raise PlumeError(
                "A CNN softmax reads the characters of words: it needs a vocabulary of words with a table of their characters."
            )
        return CNNSoftmaxModule(self, width=dims.width, characters=dims.characters)


class CNNSoftmaxModule(HeadModule):
    """The output vector of a word is made of its characters."""

    characters: Tensor  # [V, C]

    def __init__(self, part: CNNSoftmax, *, width: int, characters: Tensor) -> None:
        super().__init__()
        self.samples = part.samples
        self.register_buffer("characters", characters, persistent=False)  # the vocabulary says it
        self.cnn = replace(part.cnn, projection=width).build()
        self.correction = nn.Embedding(len(characters), part.correction) if part.correction else None
        self.widen = nn.Linear(part.correction, width, bias=False) if part.correction else None
        self._kept: tuple[tuple[object, ...], Tensor] | None = None
        self.initialise()

    def initialise(self) -> None:
        """Corrections begin at zero: a word is what its characters say until its text says otherwise."""
        self.cnn.initialise()
        if self.correction is not None and self.widen is not None:
            nn.init.zeros_(self.correction.weight)
            nn.init.normal_(self.widen.weight, std=self.widen.in_features**-0.5)

    def train(self, mode: bool = True) -> Self:
        self._kept = None  # a fused optimizer changes weights without telling
        return super().train(mode)

    def vectors(self, words: Tensor) -> Tensor:
        """[N] words to [N, D]."""
        return torch.cat([self._some(words[first : first + _AT_ONCE]) for first in range(0, len(words), _AT_ONCE)])

    def _some(self, words: Tensor) -> Tensor:
        made: Tensor = self.cnn(self.characters[words])
        if self.correction is not None and self.widen is not None:
            made = made + self.widen(self.correction(words))
        return made

    def table(self) -> Tensor:
        """[V, D] of all words; kept while the weights stay as they are, where no gradient is asked for."""
        everything = torch.arange(len(self.characters), device=self.characters.device)
        if torch.is_grad_enabled():
            return self.vectors(everything)
        weights = tuple((id(weight), weight.data_ptr(), weight._version) for weight in self.parameters())
        if self._kept is None or self._kept[0] != weights:
            self._kept = weights, self.vectors(everything)
        return self._kept[1]

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.table())

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        hidden, value, vocabulary = at(encoded, target), target.value, len(self.characters)
        if not torch.is_grad_enabled():
            scores = precise(self.logits(hidden))
            correct = (scores.argmax(-1) == value).sum()
            return Loss(total=F.cross_entropy(scores, value, reduction="sum"), count=len(value), correct=correct)
        if self.samples >= vocabulary:
            return Loss(total=F.cross_entropy(precise(self.logits(hidden)), value, reduction="sum"), count=len(value))
        sample = draw(log_uniform(vocabulary, device=hidden.device), self.samples)
        words, place = torch.unique(torch.cat([sample.words, value]), return_inverse=True)  # each word's vector is made once
        made = self.vectors(words)
        scores = precise(F.linear(hidden, made[place[: len(sample.words)]]))
        answers = precise((hidden * made[place[len(sample.words) :]]).sum(1))
        return Loss(total=sampled_cross_entropy(answers, scores, value, sample), count=len(value))

    def flops(self, predictions: int) -> int:
        words = min(self.samples, len(self.characters))
        width = self.cnn.part.projection
        widen = 0 if self.widen is None else self.widen.weight.numel()
        return self.cnn.flops(words=words) + 2 * words * widen + 2 * predictions * words * width
