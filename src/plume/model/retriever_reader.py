"""RetrieverReader: two networks, of which one finds documents and the other reads them beside the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plume.core.errors import PlumeError
from plume.model.assembly import Assembly

if TYPE_CHECKING:
    from plume.model.networks.model import Model
    from plume.model.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class RetrieverReader(Assembly):
    """REALM (arXiv:2002.08909 §3): a retriever gives texts and blocks of documents vectors of `width`, whose product is relevance; a reader
    predicts with each of `candidates` blocks, one of them empty. The index of all blocks is made anew every `refresh` steps."""

    width: int = 128
    candidates: int = 8
    refresh: int = 500
    scale: float = 1.0  # of the products; vectors are normalised, with a length of about the root of their width
    learns_from: float = 0.0  # the part of the run from which the retriever learns from the masks too: before, only the reader does

    def __post_init__(self) -> None:
        if not 0 <= self.learns_from <= 1:
            raise PlumeError(f"RetrieverReader(learns_from={self.learns_from}): give a part of the run, from 0 to 1.")
        if self.width < 1 or self.candidates < 2 or self.refresh < 1:
            raise PlumeError(
                f"RetrieverReader(width={self.width}, candidates={self.candidates}, refresh={self.refresh}): vectors have a width, there is an "
                "empty candidate and at least one block, and the index is made anew every so many steps."
            )

    @property
    def retrieves(self) -> bool:
        return True

    def problems(self, recipe: Recipe, name: str) -> Iterator[str]:
        yield from super().problems(recipe, name)
        if recipe.recurrent:
            yield "its retriever and its reader are Transformers; set network=Transformer()."
        if recipe.format.begin is None or not recipe.format.separator:
            yield "its rows begin with a token whose state is the text's vector, and texts are parted by a separator: use BERT's format."

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.realm import Realm

        return Realm(recipe, vocabulary=vocabulary, part=self)
