"""Token vectors made from the characters of words (ELMo, arXiv:1802.05365 §3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.part import replace
from plume.nn.characters import CharacterCNN, character_ids
from plume.nn.embedding import Embedding, EmbeddingModule
from plume.nn.positions.scheme import PositionModule


@dataclass(frozen=True, kw_only=True)
class CharacterEmbedding(Embedding):
    """`width` is what the convolutions are projected to; words that the vocabulary lacks are spelled too, at use."""

    characters: CharacterCNN = CharacterCNN()

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if self.factorised is not None:
            yield "words that are made of their characters have no table that could be narrow; leave out embedding.factorised."

    def build(self, *, vocabulary: int, positions: PositionModule, token: nn.Embedding | None = None) -> CharacterEmbeddingModule:
        return CharacterEmbeddingModule(self, vocabulary=vocabulary, positions=positions)


class CharacterEmbeddingModule(EmbeddingModule):
    """What a `CharacterEmbedding` builds: a word's vector is made of its characters."""

    spelled: Tensor  # [V, C] the characters of each word; the tokenizer says them, so they are not saved

    def __init__(self, part: CharacterEmbedding, *, vocabulary: int, positions: PositionModule) -> None:
        # No vectors of its own: it only says how many words there are.
        super().__init__(part, token=nn.Embedding(vocabulary, 0), positions=positions)
        self.token.requires_grad_(False)
        self.characters = replace(part.characters, projection=part.width).build()
        self.register_buffer("spelled", torch.zeros(vocabulary, part.characters.longest, dtype=torch.int32), persistent=False)

    def spell(self, words: Sequence[str]) -> None:
        """Tell it the vocabulary, special tokens included: those are spelled like words, and like no word."""
        found = torch.from_numpy(character_ids(words, longest=self.characters.part.longest))
        self.spelled[: len(found)] = found.to(self.spelled.device)

    def spelling(self, words: Sequence[str]) -> Tensor:
        """[U, C] of words that the vocabulary lacks."""
        return torch.from_numpy(character_ids(words, longest=self.characters.part.longest)).to(self.spelled.device)

    @torch.no_grad()
    def initialise(self) -> None:
        self.characters.initialise()

    def flops(self, tokens: Tensor, unseen: Tensor | None = None) -> int:
        """Of the matrix products of one forward pass."""
        words = self._table(unseen)[torch.unique(torch.as_tensor(tokens))]
        return self.characters.flops(words=len(words), characters=self.characters.columns(words))

    def vectors(self, tokens: Tensor, unseen: Tensor | None) -> Tensor:
        """[B, T, E]; each distinct word goes through the convolutions once."""
        words, place = torch.unique(tokens, return_inverse=True)
        made: Tensor = self.characters(self._table(unseen)[words])
        return made[place]

    def _table(self, unseen: Tensor | None) -> Tensor:
        return self.spelled if unseen is None else torch.cat([self.spelled, unseen.to(self.spelled)])
