"""Target: what must be predicted, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Shown
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select


@dataclass(frozen=True, kw_only=True)
class SecondQuestion:
    """A second question about the same input (span ends, shuffled words)."""

    where: NDArray[np.bool_]  # [B, T']
    what: NDArray[np.int64]  # [B, T']
    context: NDArray[np.int64] | None = None  # [B, T', K] other positions of the row that the head reads
    feature: NDArray[np.int64] | None = None  # [B, T'] what else it is told


@dataclass(frozen=True, kw_only=True)
class Source:
    """What the encoder reads, where `shown` is the decoder's input."""

    tokens: NDArray[np.int64]  # [B, S]
    length: NDArray[np.int64]  # [B]
    segment: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The network's input and the tokens asked for: `where` marks positions of `shown`, `what` holds the answers there."""

    shown: NDArray[np.int64]  # [B, T']
    length: NDArray[np.int64]  # [B]
    where: NDArray[np.bool_]  # [B, T']
    what: NDArray[np.int64]  # [B, T']
    others: dict[str, SecondQuestion] = field(default_factory=dict)
    source: Source | None = None
    rank: NDArray[np.int64] | None = None  # [B, T'] where the rule decides who sees whom (order RANKED)
    until: NDArray[np.int64] | None = None
    position: NDArray[np.int64] | None = None
    within: NDArray[np.int64] | None = None
    segment: NDArray[np.int64] | None = None  # None: the rows' own, place by place
    query: NDArray[np.int64] | None = None  # [B, T'] what a query stream shows at the places asked about (MPNet)
    named: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # [B, T'] what else rides with the tokens, beside what the rows carry


@dataclass(frozen=True, kw_only=True)
class TargetRule(Part):
    """What must be predicted, and at which positions of the input."""

    needs_sentences: ClassVar[bool] = False
    keeps_places: ClassVar[bool] = False  # the input is the row place by place, or its beginning
    of_original: ClassVar[bool] = False  # the answer is the text as it was before it was rearranged
    decoder: ClassVar[bool] = False  # a decoder writes the answers, from what the encoder read
    streams: ClassVar[bool] = False  # a query stream predicts them (XLNet)
    texts: ClassVar[int] = 1  # so many texts a row must hold
    questions: ClassVar[tuple[str, ...]] = ()  # which further ones objectives may ask of it

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        """The network's input and the right answers, of rows, what was chosen in them, and what is shown of it."""
        raise NotImplementedError

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if self.decoder and not recipe.assembly.decodes:
            yield f"{name} is written by a decoder; set assembly=EncoderDecoder()."
        if self.streams and not recipe.assembly.streams:
            yield f"{name} is predicted by a query stream; set assembly=TwoStreams()."

    def trivial_loss(self, entropy: float, select: Select, corrupt: Corrupt) -> float:
        """Of a model that knows token frequencies (their entropy) and can copy what is shown, and nothing of context."""
        return corrupt.trivial_loss(entropy)

    def closes(self, select: Select) -> bool:
        """Is the token that closes a text among the answers? A model that never had to give it has not learned to stop."""
        return select.closing

    def raw(self, length: int, select: Select) -> int:
        """How long a row of text, special tokens included, gives an input of at most `length`."""
        return length


@dataclass(frozen=True, kw_only=True)
class InPlace(TargetRule):
    """The original token, at its own position (BERT); where tokens were moved, `moved` asks for those that belong there (StructBERT)."""

    keeps_places: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        others = {} if shown.moved is None else {"moved": SecondQuestion(where=shown.moved, what=rows.tokens)}
        return Aim(shown=shown.tokens, length=rows.length, where=chosen.tokens, what=rows.tokens, others=others)


@dataclass(frozen=True, kw_only=True)
class NextToken(TargetRule):
    """The token that follows (GPT): a row of T + 1 tokens gives T predictions."""

    keeps_places: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        inside = np.arange(1, rows.tokens.shape[1]) < rows.length[:, None]
        return Aim(shown=shown.tokens[:, :-1], length=rows.length - 1, where=inside, what=rows.tokens[:, 1:])

    def closes(self, select: Select) -> bool:
        """A separator follows every document."""
        return True


@dataclass(frozen=True, kw_only=True)
class NextOfSecondText(TargetRule):
    """The token that follows, in the second text of a row only: the first is read as a whole before (order PREFIX; SimBERT)."""

    keeps_places: ClassVar[bool] = True
    texts: ClassVar[int] = 2

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        assert rows.segment is not None, "two texts are told apart by their segments"
        inside = np.arange(1, rows.tokens.shape[1]) < rows.length[:, None]
        return Aim(shown=shown.tokens[:, :-1], length=rows.length - 1, where=inside & (rows.segment[:, 1:] > 0), what=rows.tokens[:, 1:])

    def closes(self, select: Select) -> bool:
        """A separator ends the second text."""
        return True


@dataclass(frozen=True, kw_only=True)
class PreviousToken(TargetRule):
    """The token before: NextToken for a network that reads from right to left (order REVERSED)."""

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        inside = np.arange(1, rows.tokens.shape[1]) < rows.length[:, None]
        return Aim(
            shown=shown.tokens[:, 1:],
            length=rows.length - 1,
            where=inside,
            what=rows.tokens[:, :-1],
            segment=None if rows.segment is None else rows.segment[:, 1:],
        )
