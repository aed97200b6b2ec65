"""Token vectors as a narrow table and one matrix (ALBERT §3.1, arXiv:1909.11942), before anything is added to them or norms them.

ALBERT's own sum of token, segment and position vectors is narrow as a whole (`Embedding.width`, `Stack.project`). Here only the token vectors are:
a network with wide ones can be given a narrow table, by an SVD of them, and else stays what it is.
"""

from __future__ import annotations

from torch import Tensor, nn


class FactorisedTokens(nn.Embedding):
    """[V, F] rows, times [F, E]. As output weights the states are narrowed by the same matrix first, which is the same product."""

    def __init__(self, vocabulary: int, inner: int, width: int) -> None:
        super().__init__(vocabulary, inner)
        self.widen = nn.Linear(inner, width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        widened: Tensor = self.widen(super().forward(tokens))
        return widened

    def initialise(self) -> None:
        """So that wide vectors spread as the rows do."""
        nn.init.normal_(self.widen.weight, std=self.embedding_dim**-0.5)


def vector_width(token: nn.Embedding) -> int:
    """Of a token's vector, as it is read."""
    return token.widen.out_features if isinstance(token, FactorisedTokens) else token.embedding_dim


def whole_vectors(token: nn.Embedding) -> Tensor:
    """[V, E] all of them."""
    return token.widen(token.weight) if isinstance(token, FactorisedTokens) else token.weight


def narrowed(token: nn.Embedding, value: Tensor) -> Tensor:
    """[..., E] what is held against tokens' vectors, as it is held against the rows of `token.weight`."""
    return value @ token.widen.weight if isinstance(token, FactorisedTokens) else value
