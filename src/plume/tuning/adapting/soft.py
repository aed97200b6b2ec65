"""Soft prompts: tokens of a template whose vectors are learned, over a model that is frozen or learns with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import tokenizers
import torch

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.nn.soft_tokens import SoftTokens, SoftTokensModule
from plume.text.tokenizer import Tokenizer
from plume.train.continuing.words import NewWord, grown
from plume.tuning.adapting.adaptation import Adaptation, OnTop
from plume.tuning.adapting.body import Body, network

_RATE = 1e-2  # of vectors that learn alone


@dataclass(frozen=True, kw_only=True)
class SoftPrompting(Adaptation):
    """No mode of `plume tune`: the tokens are a template's. While the model learns too, their learning rate is `factor` times its own."""

    soft: SoftTokens = SoftTokens()
    learns_body: bool = False
    factor: float = 10.0
    dropout: float | None = 0.0  # what does not learn is read as it was

    exports: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.factor <= 0:
            raise PlumeError(f"Tokens learn at a rate above 0: factor is not {self.factor}.")

    @property
    def own_rate(self) -> float | None:
        return None if self.learns_body else _RATE

    def prepare(self, body: Body) -> None:
        if not self.learns_body:
            body.requires_grad_(False)

    def on_top(self, body: Body) -> OnTop:
        return SoftOnTop(self, body)


class SoftOnTop(OnTop):
    """Rows are read with the vectors of ids behind the vocabulary."""

    def __init__(self, part: SoftPrompting, body: Body) -> None:
        super().__init__(body.width)
        below = network(body, "Word vectors fill no blanks: a prompt needs a model that predicts tokens.")
        if below.spells:
            raise PlumeError(f"{below.recipe.name} reads the characters of words, and tokens that are learned have none.")
        self.soft: SoftTokensModule = part.soft.build(below.embedding.token, below.recipe.embedding.width)
        self.modules = {"soft": self.soft}
        self.paces = {"soft": part.factor if part.learns_body else 1.0}

    def told(self, batch: Batch) -> Batch:
        vectors = self.soft()
        source = None if batch.source is None else replace(batch.source, extra=vectors)
        return replace(batch, extra=vectors, source=source)

    def flops(self, *, rows: int, time: int) -> int:
        return self.soft.flops()

    @torch.no_grad()
    def exported(self, body: Body, tokenizer: Tokenizer) -> tuple[Body, Tokenizer]:
        """Each soft token is a new word of the tokenizer, with its vector in a row of its own."""
        below, first = network(body, "Word vectors have no counterpart in transformers."), tokenizer.size
        if below.recipe.embedding.factorised is not None:
            raise PlumeError(
                "Tokens that were learned have whole vectors, and this model's table is a product of two: they have no rows in it."
            )
        names = [f"<soft_{number}>" for number in range(self.soft.part.count)]
        backend = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
        backend.add_special_tokens(names)
        whole = grown(below, first, [NewWord(token=name, pieces=(tokenizer.pad,)) for name in names])
        whole.embedding.token.weight[first : first + len(names)] = self.soft()
        return whole, Tokenizer(backend, format=tokenizer.format)
