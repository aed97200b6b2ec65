"""Target: which second text belongs to which first one, among those of the batch (inverse cloze, arXiv:1906.00300 §4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Shown
from plume.noise.padded import Flags, pack
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select
from plume.noise.target import Aim, SecondQuestion, Source, TargetRule

WHICH_TEXT = "which_text"


@dataclass(frozen=True, kw_only=True)
class Apart(TargetRule):
    """The two texts of a row, each framed by itself; what is asked is which of the batch's second texts is its own: the row's number."""

    texts: ClassVar[int] = 2
    questions: ClassVar[tuple[str, ...]] = (WHICH_TEXT,)

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        if rows.segment is None:
            raise PlumeError("The rows hold one text, and this objective asks which second text belongs to it: use a layout of pairs.")
        inside = np.arange(rows.tokens.shape[1]) < rows.length[:, None]
        second = inside & (rows.segment > 0)
        tokens, length = pack(shown.tokens, inside & ~second, pad=alphabet.pad)
        other, size = pack(np.where(second, shown.tokens, alphabet.pad), _with_first(second), pad=alphabet.pad)
        other[:, 0] = rows.tokens[:, 0]  # both begin as a row does
        where = np.zeros(tokens.shape, bool)
        where[:, 0] = True
        what = np.broadcast_to(np.arange(len(tokens))[:, None], tokens.shape)
        asked = SecondQuestion(where=where, what=what)
        source = Source(tokens=other, length=size)
        return Aim(
            shown=tokens, length=length, where=np.zeros_like(where), what=tokens, others={WHICH_TEXT: asked}, source=source,
            segment=np.zeros_like(tokens),
        )  # fmt: skip

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from super().problems(recipe, name)
        if not recipe.assembly.retrieves:
            yield f"{name} asks a retriever; set assembly=RetrieverReader()."

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        return entropy


def _with_first(second: Flags) -> Flags:
    """The second text, and the place before it."""
    found = second.copy()
    found[:, :-1] |= second[:, 1:] & ~second[:, :-1]
    return found
