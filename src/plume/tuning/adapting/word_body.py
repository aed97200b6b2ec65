"""Word vectors as the body of a task's model: one vector a word, whatever stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.head import HeadModule
from plume.heads.sentence_classification import SentenceClassification
from plume.nn.pooling import LAST_MAX_MEAN
from plume.static.recipe import StaticRecipe
from plume.static.text import Vocabulary
from plume.static.vectors import CharacterNGrams, WordVectors
from plume.text.tokenizer import Tokenizer


class WordBody(nn.Module):
    """Token ids are those of the word tokenizer; a word without a vector has none (zeros), or for fastText one from its n-grams."""

    pooler = None
    languages = None
    longest = None
    classifier = SentenceClassification()
    task_pooling = LAST_MAX_MEAN
    through_decoder = False
    queries = False
    gives_features = True
    tuning_rate = 1e-3
    head_rate = 1e-2  # what is on top does all the work

    def __init__(self, vectors: WordVectors, *, recipe: StaticRecipe, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.recipe = recipe
        self.heads = nn.ModuleDict()  # of pre-training: none that would be kept
        counts = np.zeros(len(vectors.words), np.int64) if vectors.counts is None else vectors.counts
        self.vocabulary_of_words = Vocabulary(words=vectors.words, counts=counts)
        row = {word: number + 1 for number, word in enumerate(vectors.words)}
        self.row: Tensor
        self.register_buffer("row", torch.tensor([row.get(token, 0) for token in tokenizer.tokens()]), persistent=False)
        self.table = nn.Embedding(len(vectors.words) + 1, vectors.matrix.shape[1])
        self.table.weight.data = torch.from_numpy(np.pad(vectors.matrix, ((1, 0), (0, 0))))
        self.ngrams = vectors.ngrams
        self.grams = nn.Parameter(torch.from_numpy(vectors.ngrams.matrix), requires_grad=False) if vectors.ngrams is not None else None

    def vectors(self) -> WordVectors:
        """As they are now, trained or not."""
        ngrams = None
        if self.ngrams is not None and self.grams is not None:
            ngrams = replace(self.ngrams, matrix=self.grams.detach().cpu().numpy())
        words = self.vocabulary_of_words
        return WordVectors(words=words.words, counts=words.counts, matrix=self.table.weight.detach()[1:].cpu().numpy(), ngrams=ngrams)

    @torch.no_grad()
    def forget(self, seed: int) -> None:
        """Random vectors, as if there had been no text; a word without a vector still has none."""
        generator = torch.Generator().manual_seed(seed)
        for vectors in (self.table.weight[1:], self.grams):
            if vectors is not None:
                vectors.normal_(std=0.1, generator=generator)

    @property
    def width(self) -> int:
        """Of a word's vector."""
        return self.table.embedding_dim

    @property
    def vocabulary(self) -> int:
        """How many tokens have an id."""
        return len(self.row)

    @property
    def spells(self) -> bool:
        """Have words that the vocabulary lacks a vector of their n-grams?"""
        return self.ngrams is not None

    def spelling(self, words: Sequence[str]) -> Tensor | None:
        """[U, D] vectors of words that the vocabulary lacks, from their n-grams (fastText)."""
        if self.ngrams is None or self.grams is None or not words:
            return None
        asked = [word.lower() for word in words] if self.recipe.lowercase else list(words)
        sizes, rows = CharacterNGrams.lists(self.ngrams, asked)
        sums = torch.zeros(len(asked), self.width)
        sums.index_add_(0, torch.from_numpy(np.repeat(np.arange(len(asked)), sizes)), self.grams.detach()[torch.from_numpy(rows)])
        return sums / torch.from_numpy(np.maximum(sizes, 1))[:, None]

    def head(self, name: str) -> HeadModule:
        """There is none."""
        raise PlumeError(f"{self.recipe.name} has no head '{name}': word vectors predict nothing.")

    def token_states(self, batch: Batch) -> Encoded:
        """The same vectors, whoever reads them."""
        return self.encode(batch)

    def encode(self, batch: Batch, *, keep_layers: bool = False, head_mask: Tensor | None = None) -> Encoded:
        """[B, T, D] a vector for each word, the one layer that there is."""
        if head_mask is not None:
            raise PlumeError(f"{self.recipe.name} is a table of word vectors: it has no attention.")
        known = batch.tokens.clamp(max=self.vocabulary - 1)
        last = self.table(self.row[known])
        given = batch.unseen if batch.extra is None else batch.extra
        if given is not None:
            behind = batch.tokens - self.vocabulary
            last = torch.where((behind >= 0)[..., None], given[behind.clamp(min=0)].to(last.dtype), last)
        return Encoded(last=last, layers=(last,) if keep_layers else ())

    def body_flops(self, batch: Batch) -> int:
        """A table is looked up."""
        return 0
