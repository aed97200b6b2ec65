"""First token vectors that already know which tokens keep company, and first biases that know how frequent they are.

A masked LM spends most of a short run on learning what word2vec learns in seconds: at tiny sizes a warm start is worth several times the
tokens (docs/learning.md). All of it is learned from there on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.heads.token_prediction import TokenPredictionModule
from plume.nn.embedding import EmbeddingModule
from plume.nn.positions.learned import LearnedPositions
from plume.static.recipe import Word2Vec


@dataclass(frozen=True, kw_only=True)
class WarmStart(Part):
    """Token vectors begin as word2vec's, learned just before on the same tokens; the biases of token scores begin at log frequencies.

    It takes at most `share` of the budget, which it is charged to. Vectors are centred and scaled: `spread` is the standard deviation of
    first token scores, in nats, for states of unit variance.
    """

    epochs: int = 20  # at most
    share: float = 0.2
    window: int = 3
    negatives: int = 5
    sample: float = 1e-4  # tokens above this share of the text are thinned out: what a text is about is said by the others
    spread: float = 1.6

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.window < 1 or self.negatives < 1 or not 0 < self.share < 1 or self.spread <= 0:
            raise PlumeError(f"{self}: epochs, window and negatives are at least 1, share lies between 0 and 1, spread above 0.")

    def vectors(self, dimension: int) -> Word2Vec:
        """What trains the vectors."""
        return Word2Vec(dimension=dimension, window=self.window, epochs=self.epochs, negatives=self.negatives, sample=self.sample, least=1)


def token_tables(model: nn.Module) -> list[nn.Embedding]:
    """Where token vectors are learned: what is read, shared or not with what is predicted, and predictions' own."""
    found = [one.token for one in model.modules() if isinstance(one, EmbeddingModule | TokenPredictionModule)]
    return [table for table in dict.fromkeys(found) if table.weight.requires_grad and table.embedding_dim]


def open_columns(table: nn.Embedding) -> NDArray[np.int64]:
    """Those that positions do not have for themselves (see nn/local_start.py)."""
    return np.flatnonzero(table.weight.detach().abs().sum(0).cpu().numpy())


@torch.no_grad()
def start_warm(
    model: nn.Module, part: WarmStart, *, tokens: NDArray[np.int64], vectors: NDArray[np.float32], shares: NDArray[np.float64]
) -> None:
    """`tokens` have `vectors` [N, D]; `shares` [V] of the text, by token, are above 0. Tokens that the text never shows keep their first vectors."""
    known = torch.from_numpy(vectors - vectors.mean(0))
    known = known / known.std().clamp(min=1e-9)
    heads = [one for one in model.modules() if isinstance(one, TokenPredictionModule)]
    for table in token_tables(model):
        scale = min((head.scale for head in heads if head.token is table), default=1.0)
        _fill(model, table, tokens, known, spread=part.spread / (scale * math.sqrt(table.embedding_dim)))
    logs = np.log(shares)
    for head in heads:
        if head.bias is not None:
            head.bias.copy_(torch.from_numpy(logs - logs.mean()))


def _fill(model: nn.Module, table: nn.Embedding, tokens: NDArray[np.int64], known: Tensor, *, spread: float) -> None:
    columns = torch.from_numpy(open_columns(table)).to(table.weight.device)
    louder = spread / float(table.weight[:, columns].std())
    value = table.weight[:, columns]
    value[torch.from_numpy(tokens).to(value.device)] = (known[:, : len(columns)] * spread).to(value)
    table.weight[:, columns] = value
    for part in model.modules():  # what is added to the vectors keeps its loudness beside them
        if isinstance(part, EmbeddingModule) and part.token is table:
            for other in (part.segment, part.position.table if isinstance(part.position, LearnedPositions) else None):
                if other is not None:
                    other.weight.mul_(louder)
