"""Layout: which stretches of the corpus stand together in one row.

A layout plans a whole epoch as arrays of token offsets (no Python per token or per row), from a generator seeded by (seed, epoch).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.data.corpus import CorpusKind
from plume.data.layouts.carried import Carried
from plume.data.layouts.stretches import Offsets, partners, sentence_pieces, sentences_of, truncate, walk

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class RowPlan:
    """Row i holds the tokens start[i, s]:end[i, s] of the store, one stretch a text.

    Where there are more stretches than texts, the further ones (which may be empty) go on with the last text.
    """

    start: Offsets  # [n, S]
    end: Offsets  # [n, S]
    label: NDArray[np.int64] | None = None  # [n]
    language: NDArray[np.int64] | None = None  # [n, S]
    first: NDArray[np.int64] | None = None  # [n] a token that stands before everything: the control code
    backward: NDArray[np.bool_] | None = None  # [n] read from its end to its start

    def __len__(self) -> int:
        return len(self.start)


class PairLabel(enum.StrEnum):
    """What the label of a row says."""

    RANDOM_NEXT = "random_next"  # 0: B follows A, 1: B is random (BERT)
    SWAPPED = "swapped"  # 0: B follows A, 1: A and B were swapped (ALBERT)
    THREE_WAY = "three_way"  # 0: B follows A, 1: B precedes A, 2: B is random (StructBERT)
    DOCUMENT = "document"  # the document's own label (DeepMoji's emoji)


_SHARES = {  # of rows with a random second text, and with the two swapped
    None: (0.0, 0.0),
    PairLabel.RANDOM_NEXT: (1 / 2, 0.0),
    PairLabel.SWAPPED: (0.0, 1 / 2),
    PairLabel.THREE_WAY: (1 / 3, 1 / 3),
}


@dataclass(frozen=True, kw_only=True)
class Layout(Part):
    """How an epoch's rows are planned, what they carry, and how often a batch draws each."""

    label: PairLabel | None = None
    carries: tuple[Carried, ...] = ()  # fields of the corpus that ride with the tokens to `Batch.named`
    copies: int = 1  # each row of a batch comes so often in it, with random draws of its own each time (SimCSE, arXiv:2104.08821: 2)

    @property
    def texts(self) -> int:
        """How many texts a row holds; decides between the formats for one, two and three."""
        return 1

    @property
    def wrapped(self) -> bool:
        """Do rows carry the format's special tokens?"""
        return True

    @property
    def sequential(self) -> bool:
        """Does row b of a batch go on where row b of the batch before ended? Then batches are taken in the order of the plan."""
        return False

    @property
    def directions(self) -> int:
        """From how many sides each stream is read, by a row each."""
        return 1

    @property
    def readings(self) -> int:
        """How many rows of a batch read the same text, each in its own way: a batch has a multiple of so many rows.

        Reading r of text t is row r · n + t of a batch of n texts. So any part of a batch that takes each p-th row, where p divides n, has all
        readings of its texts, in the same order.
        """
        return self.directions * self.copies

    @property
    def reads_sentences(self) -> bool:
        """Does it matter to its rows where sentences begin?"""
        return False

    @property
    def attached(self) -> tuple[str, ...]:
        """Arrays beside the tokens that a run may put into the store (`Store.named`), and its rows then carry."""
        return ()

    @property
    def restarts(self) -> bool:
        """Do positions begin again with the second text?"""
        return False

    @property
    def languages(self) -> bool:
        """Are segments the languages of the texts? Then whoever makes rows at use must say them too."""
        return False

    @property
    def corpus(self) -> CorpusKind:
        """What the rows are made from."""
        return CorpusKind.TEXT

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        batch = recipe.training.batch
        if self.copies < 1:
            yield f"{name} draws each row {self.copies} times; set layout.copies to 1 or more."
        elif batch % self.readings and self.copies > 1:
            yield (
                f"{name} draws each row of a batch {self.copies} times, and {batch} rows do not divide by {self.readings}; "
                f"set training.batch to a multiple of {self.readings}."
            )
        elif batch % self.readings:
            yield (
                f"{name} reads each stream both ways, by two rows of the batch, and {batch} rows are no pairs; "
                "set training.batch to an even number."
            )
        if self.carries and self.corpus is not CorpusKind.TEXT:
            yield f"{name}: only text carries further fields such as '{self.carries[0].name}', and its rows are made from {self.corpus}."

    def as_it_is(self) -> Layout:
        """For measuring: rows as the text has them, where training repeats some."""
        return self

    def check(self, store: Store, *, room: int) -> str | None:
        """Raise if the training text cannot serve; if it serves badly, a sentence that says so."""
        return None

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        """Rows of at most `room` tokens of text; `rows` is the size of a batch."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Blocks(Layout):
    """The corpus as one stream with a separator after each document, cut every `room` tokens, from a random start (GPT).

    Blocks overlap by one token, so that next-token prediction loses none. With `overlap` 0 they do not, and are wrapped in the format's
    special tokens: rows for noise that predicts in place or by a decoder (T5).
    """

    overlap: int = 1

    def __post_init__(self) -> None:
        if self.overlap not in (0, 1):
            raise PlumeError(f"Blocks(overlap={self.overlap}): blocks share 1 token (next-token prediction) or 0.")

    @property
    def wrapped(self) -> bool:
        return self.overlap == 0

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        total = len(store.tokens)
        first = int(generator.integers(0, room)) if total > 2 * room else 0
        # Without an overlap the last separator is left out: it would be a row by itself, or the end of one, and the format has its own.
        last = total - 1
        start = np.arange(first, last, room)
        if first > 0:
            start = np.concatenate([[0], start])
        end = np.minimum(start + room, last) + self.overlap
        if first > 0:
            end[0] = first + self.overlap
        return RowPlan(start=start[:, None], end=end[:, None])


@dataclass(frozen=True, kw_only=True)
class FullSentences(Layout):
    """Whole sentences until the row is full, across documents, with an extra separator between them (RoBERTa §4.2).

    With `across` false a row ends with its document (RoBERTa's DOC-SENTENCES; ELECTRA).
    """

    across: bool = True

    @property
    def reads_sentences(self) -> bool:
        return True

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        begin, end, document_start = sentence_pieces(store, longest=room)
        limits = np.array([0, len(begin)]) if self.across else document_start
        next_start = np.searchsorted(end, begin + room, side="right")  # at least the next: no piece is longer than the room
        next_start = np.minimum(next_start, np.repeat(limits[1:], np.diff(limits)))
        chosen = walk(next_start, limits)
        return RowPlan(start=begin[chosen][:, None], end=end[next_start[chosen] - 1][:, None])


@dataclass(frozen=True, kw_only=True)
class SentencePairs(Layout):
    """Two stretches of whole sentences, as create_pretraining_data.py of BERT and of ALBERT make them.

    A chunk of sentences fills the row (one time in ten a shorter one), is cut in two at random, and then: RANDOM_NEXT puts a stretch of
    another document in B's place half the time and gives B's sentences back; SWAPPED exchanges A and B half the time; THREE_WAY does the one
    a third of the time and the other a third (StructBERT, arXiv:1908.04577, §2.3.2; its pre-training code is not published). A chunk of a
    single sentence always gets a random B, so the labels are not exactly even. Documents differ from their random partner where there are two.
    """

    label: PairLabel | None = PairLabel.RANDOM_NEXT
    short: float = 0.1

    def __post_init__(self) -> None:
        if self.label is PairLabel.DOCUMENT:
            raise PlumeError("SentencePairs cannot carry the documents' own labels: use LabelledDocuments().")

    @property
    def reads_sentences(self) -> bool:
        return True

    @property
    def texts(self) -> int:
        return 2

    def check(self, store: Store, *, room: int) -> str | None:
        several = int((sentences_of(store) > 1).sum())
        documents = len(store.document_start) - 1
        if documents == 1 and several and _SHARES[self.label][0]:
            return (
                "The corpus is one document: a random second text comes from another place of the same one, and is easier to mistake for the "
                "next. Blank lines between documents give better ones."
            )
        if several > 0.1 * documents:
            return None
        found = f"{documents - several:,} of {documents:,} documents have only one sentence"
        advice = "Put blank lines between documents only, not between sentences"
        if several == 0 and self.label is not PairLabel.RANDOM_NEXT:
            raise PlumeError(f"{found}: there are no two sentences whose order could be learned. {advice}; or use RoBERTa or GPT.")
        return f"{found}, whose second text can only be random: the sentence objective has little to learn. {advice}."

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        begin, end, document_start = sentence_pieces(store, longest=room)
        if len(begin) == 1:  # the held-out end of a very small corpus: its two halves are the pair
            middle = (begin + end) // 2
            begin, end, document_start = np.concatenate([begin, middle]), np.concatenate([middle, end]), np.array([0, 2])
        count = len(begin)
        document_end = np.repeat(document_start[1:], np.diff(document_start))  # for each sentence
        before = np.concatenate([[0], np.cumsum(end - begin)])  # tokens before each sentence
        # Draw for every sentence as if a chunk began there; the walk below then uses the draws of the real starts only.
        shorter = generator.random(count) < self.short
        aim = np.where(shorter, generator.integers(2, max(room, 2) + 1, count), room)
        chunk_end = np.minimum(np.searchsorted(before, before[:-1] + aim, side="left"), document_end)
        size = chunk_end - np.arange(count)
        cut = np.where(size > 1, np.arange(count) + 1 + (generator.random(count) * (size - 1)).astype(np.int64), chunk_end)
        draw = generator.random(count)
        random_share, swapped_share = _SHARES[self.label]
        random_next = (size == 1) | (draw < random_share)
        at = walk(np.where(random_next, cut, chunk_end), document_start)

        a_begin, a_end, b_begin, b_end = begin[at], end[cut[at] - 1], begin[np.minimum(cut[at], count - 1)], end[chunk_end[at] - 1]
        partner = partners(at[random_next[at]], document_start, generator)
        needed = np.maximum(aim[at] - (a_end - a_begin), 1)[random_next[at]]
        partner_end = np.minimum(np.searchsorted(before, before[partner] + needed, side="left"), document_end[partner])
        b_begin[random_next[at]] = begin[partner]
        b_end[random_next[at]] = end[np.maximum(partner_end, partner + 1) - 1]
        start, stop = np.stack([a_begin, b_begin], axis=1), np.stack([a_end, b_end], axis=1)
        swapped = (~random_next & (draw < random_share + swapped_share))[at]
        start[swapped], stop[swapped] = start[swapped][:, ::-1], stop[swapped][:, ::-1]
        truncate(start, stop, room, generator)
        random_label = 2 if self.label is PairLabel.THREE_WAY else 1
        return RowPlan(start=start, end=stop, label=np.where(random_next[at], random_label, swapped))
