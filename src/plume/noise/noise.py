"""The choices put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Keep
from plume.noise.rearrange import InOrder, Rearrange
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Nothing, Select
from plume.noise.target import Aim, InPlace, TargetRule


@dataclass(frozen=True, kw_only=True)
class Noise(Part):
    """A pure function of (rows, draws): the same row and draws give the same example in any batch.

    >>> import numpy as np
    >>> from plume.noise.target import NextToken
    >>> rows = Rows(tokens=np.array([[5, 6, 7]]), length=np.array([3]), special=np.zeros((1, 3), bool), word_start=np.ones((1, 3), bool))
    >>> aim = Noise(target=NextToken(), order=Order.CAUSAL)(rows, Draws(seed=0, epoch=0, index=np.array([0])), Alphabet(size=9, mask=None))
    >>> aim.shown.tolist(), aim.what.tolist()
    ([[5, 6]], [[6, 7]])
    """

    rearrange: Rearrange = InOrder()
    select: Select = Nothing()
    corrupt: Corrupt = Keep()
    target: TargetRule = InPlace()
    order: Order = Order.FULL
    segments: tuple[int, ...] = ()  # the segment number of each text in these batches (UniLM); empty: the format's
    duplicates: int = 0  # so often is the text laid out and noised, then the same examples come again (BERT's dupe_factor); 0: always anew

    def __post_init__(self) -> None:
        if self.duplicates < 0:
            raise PlumeError(f"Noise(duplicates={self.duplicates}): give how often the text is noised, or 0 to noise it anew each epoch.")

    def __call__(self, rows: Rows, draws: Draws, alphabet: Alphabet) -> Aim:
        moved = self.rearrange(rows, draws)
        chosen = self.select(moved, draws)
        shown = self.corrupt(moved, chosen, draws, alphabet)
        return self.target(rows if self.target.of_original else moved, chosen, shown, draws, alphabet)

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from self.target.problems(recipe, name)
        if self.order is Order.PREFIX and not any(recipe.format.segments):
            yield f"{name}: a prefix order tells its two texts by their segments, and this format's pair has none."
        if max(self.segments, default=-1) >= max(recipe.embedding.segments, 0):
            yield f"{name} uses segment {max(self.segments)}, and the embedding has {recipe.embedding.segments}."
        for part in (self.corrupt, self.select, self.rearrange):
            yield from part.problems(recipe, name)

    def version(self, epoch: int) -> int:
        """Whose draws an epoch gets.

        >>> [Noise(duplicates=10).version(epoch) for epoch in (0, 9, 10, 21)], Noise().version(21)
        ([0, 9, 0, 1], 21)
        """
        return epoch % self.duplicates if self.duplicates else epoch

    @property
    def needs_units(self) -> bool:
        """Does it hide phrases or entities, which the store must be told?"""
        return self.select.needs_units

    @property
    def needs_salient(self) -> bool:
        """Does it hide names and dates, which the store must be told?"""
        return self.select.needs_salient

    @property
    def keeps_places(self) -> bool:
        """Does every token that is shown stand where it stood in the text, so that what rides with the tokens may be laid beside them?"""
        return self.rearrange.keeps_places and self.corrupt.keeps_places and self.target.keeps_places

    @property
    def needs_sentences(self) -> bool:
        """Does any of the four ask which sentence a token belongs to?"""
        return any(part.needs_sentences for part in (self.rearrange, self.select, self.target))

    @property
    def questions(self) -> tuple[str, ...]:
        """What it answers besides the tokens that it hides."""
        return self.corrupt.questions + self.target.questions

    @property
    def closes(self) -> bool:
        """Is the token that closes a text among what is predicted? Then a model has learned to stop, and may be asked how likely the end is."""
        return self.target.closes(self.select)

    def trivial_loss(self, entropy: float) -> float:
        """What a model pays that knows how frequent tokens are (their entropy) and can copy what it is shown, and nothing of context."""
        return self.target.trivial_loss(entropy, self.select, self.corrupt)

    def raw(self, length: int) -> int:
        """How many tokens of text give an input of at most `length`."""
        return self.target.raw(length, self.select)
