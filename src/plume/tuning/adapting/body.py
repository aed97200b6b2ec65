"""Body: what tuning asks of a model below a task, a network or word vectors alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.heads.sentence_classification import SentenceClassification
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.pooling import Pooling
from plume.static.recipe import StaticRecipe
from plume.text.known_languages import Languages


class Body(Protocol):
    """A module that makes states of tokens, and says how its kind is tuned. `Model` and `WordBody` are such."""

    heads: nn.ModuleDict  # of pre-training

    @property
    def recipe(self) -> Recipe | StaticRecipe:
        """How it was made."""

    @property
    def width(self) -> int:
        """Of what `encode` makes of a token."""

    @property
    def vocabulary(self) -> int:
        """How many tokens have an id."""

    @property
    def spells(self) -> bool:
        """Does it read the characters of words, also of words that the vocabulary lacks?"""

    @property
    def longest(self) -> int | None:
        """How many tokens it can place; None: as many as there are."""

    @property
    def languages(self) -> Languages | None:
        """Those that it has a vector for each."""

    @property
    def pooler(self) -> nn.Module | None:
        """A layer between the first token's state and a head, trained by a sentence objective."""

    @property
    def classifier(self) -> SentenceClassification:
        """The family's way to label a text."""

    @property
    def task_pooling(self) -> Pooling | None:
        """How a task that labels texts reads it; None: by the state of one token."""

    @property
    def through_decoder(self) -> bool:
        """Do a task's heads read it through a decoder?"""

    @property
    def queries(self) -> bool:
        """Does `Batch.read` ask a second stream, which does not see the tokens it stands at?"""

    @property
    def gives_features(self) -> bool:
        """Did its paper use it as features that stay as they are?"""

    @property
    def tuning_rate(self) -> float:
        """A learning rate that is safe while all of it learns."""

    @property
    def head_rate(self) -> float:
        """A learning rate of what is put on it while it stays as it is."""

    def head(self, name: str) -> HeadModule:
        """The one of pre-training that answers this objective."""

    def encode(self, batch: Batch, *, keep_layers: bool = False, head_mask: Tensor | None = None) -> Encoded:
        """The states of all tokens, or of those that `batch.read` names."""

    def token_states(self, batch: Batch) -> Encoded:
        """What the head that predicts tokens reads."""

    def spelling(self, words: Sequence[str]) -> Tensor | None:
        """For `Batch.unseen`."""

    def body_flops(self, batch: Batch) -> int:
        """Of one training step, without heads."""

    # As every torch module has them

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """All weights."""

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, nn.Parameter]]:
        """All weights, by name."""

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether they learn."""

    def eval(self) -> Self:
        """Without dropout from now on."""


def module(body: Body) -> nn.Module:
    """The same, for what takes any torch module: a protocol cannot say that it is one."""
    assert isinstance(body, nn.Module)
    return body


def network(body: Body, refusal: str) -> Model:
    """The body as a network that can predict tokens, or the reason why it must be one."""
    if not isinstance(body, Model):
        raise PlumeError(refusal)
    return body


def layer_widths(body: Body) -> list[int]:
    """The width of each layer that `encode` keeps, the embedding first."""
    tokens = torch.zeros((1, 1), dtype=torch.long, device=next(body.parameters()).device)
    with torch.no_grad():
        return [layer.shape[-1] for layer in body.encode(Batch(tokens=tokens), keep_layers=True).layers]
