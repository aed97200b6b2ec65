"""What the terms of a text are, and how strongly their weights are held back."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part

TFIDF = "tfidf"  # what users call it, where others name a model directory
TITLE = "TF-IDF + linear"


@dataclass(frozen=True, kw_only=True)
class TermRecipe(Part):
    """Words, characters and their n-grams, weighted by how few texts have them (doi:10.1108/eb026526), in one linear layer."""

    name: str = TFIDF
    size: str = ""
    title: str = "TF-IDF of words and characters, one linear layer"
    paper: str = "https://doi.org/10.1108/eb026526"
    words: int = 2  # of the longest n-gram of words
    characters: int = 3  # and of Han characters, which are words here
    shortest: int = 2  # n-grams of a word's characters
    longest: int = 5
    window: int = 2  # words on either side of one that is labelled
    strengths: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)  # C: the inverse of the penalty, of which held-out examples choose one

    def __post_init__(self) -> None:
        if not self.strengths or min(self.strengths) <= 0:
            raise PlumeError(f"{self.name}: strengths={self.strengths}, but one at least is needed, and all above 0.")
        if min(self.words, self.characters, self.shortest) < 1 or self.longest < self.shortest or self.window < 0:
            raise PlumeError(f"{self.name}: n-grams have 1 or more parts, the longest no fewer than the shortest, and a window 0 or more.")
