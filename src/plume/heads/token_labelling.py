"""Token labelling: a label for each word, from the state of its first piece; with a CRF, for the whole sentence at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, at, precise
from plume.nn.crf import CRF, bio_forbidden
from plume.nn.dropout import Dropout


@dataclass(frozen=True, kw_only=True)
class TokenLabelling(Head):
    """A linear layer on each word (BERT §5.3). `chain` adds scores of one label after another, learned and searched (arXiv:1603.01360)."""

    labels: tuple[str, ...]
    dropout: float = 0.0
    chain: bool = False
    bio: bool = True  # the labels are BIO tags: a chain never enters an entity in its middle

    def build(self, dims: Dims) -> TokenLabellingModule:
        return TokenLabellingModule(self, dims)


class TokenLabellingModule(HeadModule):
    """`Target.feature` [S] says how many words a sentence has, be it of one row or of several windows; its words follow each other."""

    def __init__(self, part: TokenLabelling, dims: Dims) -> None:
        super().__init__()
        self.part = part
        self.dropout = Dropout(part.dropout)
        self.output = nn.Linear(dims.width, len(part.labels))
        self.crf = CRF(len(part.labels), forbidden=bio_forbidden(part.labels) if part.bio else None) if part.chain else None

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.output(self.dropout(hidden))
        return scores

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        """[N, labels]: log-probabilities of each word's labels, the best one made the largest where a chain decides."""
        emission = precise(logits)
        if self.crf is None:
            return emission.log_softmax(-1)
        sentences, length, inside = _in_sentences(emission, target)
        best = self.crf.best(sentences, length)[inside]
        marginal = self.crf.marginals(sentences, length)[inside].clamp(min=1e-12).log()
        return marginal + F.one_hot(best, marginal.shape[-1]) * 100.0

    def soft(self, logits: Tensor, target: Target) -> Tensor:
        """A teacher's chain says how probable each label is, all others considered; a student learns that by each word, where it has gradients."""
        emission = precise(logits)
        if self.crf is None or emission.requires_grad:
            return emission.log_softmax(-1)
        sentences, length, inside = _in_sentences(emission, target)
        return self.crf.marginals(sentences, length)[inside].clamp(min=1e-12).log()

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        emission = precise(self.logits(at(encoded, target)))
        correct = (emission.detach().argmax(-1) == target.value).sum()
        if self.crf is None:
            return Loss(total=F.cross_entropy(emission, target.value, reduction="sum"), count=len(target.value), correct=correct)
        sentences, length, inside = _in_sentences(emission, target)
        tags = torch.zeros(inside.shape, dtype=torch.long, device=emission.device)
        tags[inside] = target.value
        return Loss(total=self.crf.loss(sentences, tags, length).sum(), count=len(target.value), correct=correct)


def _in_sentences(emission: Tensor, target: Target) -> tuple[Tensor, Tensor, Tensor]:
    """[N, L] as [S, W, L], with the words a sentence has [S] and which places are words [S, W]."""
    assert target.feature is not None, "a chain needs to know where sentences end"
    length = target.feature
    inside = torch.arange(int(length.max()), device=emission.device) < length[:, None]
    sentences = emission.new_zeros((*inside.shape, emission.shape[-1]))
    sentences[inside] = emission
    return sentences, length, inside
