"""Layouts whose rows go on from batch to batch, for networks with a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.layouts.stretches import Offsets, cuts

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class InStreams(Layout):
    """What the layouts here share. With `backward` there are half as many streams as rows, each read by two of them: row b from its start to
    its end, row b + `rows` / 2 from its end to its start."""

    backward: bool = False

    @property
    def sequential(self) -> bool:
        return True

    @property
    def directions(self) -> int:
        return 2 if self.backward else 1

    def streams(self, rows: int) -> int:
        """How many streams a batch of so many rows reads."""
        assert rows % self.directions == 0, "the recipe's check refuses such a batch"
        return rows // self.directions


@dataclass(frozen=True, kw_only=True)
class Streams(InStreams):
    """The corpus as parallel streams, one for each row of a batch (Transformer-XL, arXiv:1901.02860, §3.2).

    Stream b is the b-th of `rows` equal parts of the corpus. Batch t is the rows from t · `rows` on: of each stream the next `room` tokens,
    and one more to predict. The last batch is shorter where the parts end; at most `rows` - 1 tokens of the corpus are left over.
    ELMo reads them both ways (`backward`): its two directions model the same text (arXiv:1802.05365 §3.1).
    """

    @property
    def wrapped(self) -> bool:
        return False

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        streams = np.arange(self.streams(rows))
        size = _stream_length(store, streams=len(streams), least=2)
        begin = np.arange(0, size - 1, room)  # in a stream
        start = begin[:, None] + size * streams  # [steps, streams]
        end = start + np.minimum(room + 1, size - begin)[:, None]
        if not self.backward:
            return RowPlan(start=start.reshape(-1, 1), end=end.reshape(-1, 1))
        mirror = size * (2 * streams + 1)  # the sum of a stream's first and last bound
        start, end = np.concatenate([start, mirror - end], axis=1), np.concatenate([end, mirror - start], axis=1)
        return RowPlan(start=start.reshape(-1, 1), end=end.reshape(-1, 1), backward=_turned(start))


@dataclass(frozen=True, kw_only=True)
class StreamsWithPairs(InStreams):
    """Streams whose rows end in a pair, as data_utils.py of XLNet makes them (arXiv:1906.08237, §2.5).

    A row is [A: the next `reuse` of the row][B][C]: A goes into the memory, and the next row of the stream begins where it ends. B begins
    after A and ends with a sentence; half the time C goes on after B (label 0), otherwise it is a random stretch of the stream that begins
    with a sentence (label 1; XLNet trains on no such label). B and C fill the row: the longer of the two loses its end. `backward` is the
    authors' `bi_data`: the same rows made of the stream turned round.
    """

    reuse: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.reuse < 1:
            raise PlumeError(
                f"StreamsWithPairs(reuse={self.reuse}): give the share of the row that the next one builds on, above 0, below 1."
            )

    @property
    def texts(self) -> int:
        return 3

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        special = 3  # two separators and the class token share the row: the reused part is a share of all of it
        reuse = min(max(1, int(self.reuse * (room + special))), room - 2)
        if reuse < 1:
            raise PlumeError(f"Rows with room for {room} tokens cannot hold three texts: raise training.length.")
        streams, total = self.streams(rows), len(store.tokens)
        size = _stream_length(store, streams=streams, least=room + 1)
        # A separator is a sentence of its own, as the original's <eod>.
        bounds = np.append(np.union1d(store.sentence_start, store.sentence_end), total)
        first = size * np.arange(streams)
        start, label, end = self._rows(bounds, first, size, reuse=reuse, room=room, generator=generator)
        if not self.backward:
            return RowPlan(start=start.reshape(-1, 3), end=end.reshape(-1, 3), label=label.ravel())
        other = self._rows(total - bounds[::-1], total - first - size, size, reuse=reuse, room=room, generator=generator)
        start, end = np.concatenate([start, total - other[2]], axis=1), np.concatenate([end, total - other[0]], axis=1)
        label = np.concatenate([label, other[1]], axis=1)
        return RowPlan(start=start.reshape(-1, 3), end=end.reshape(-1, 3), label=label.ravel(), backward=_turned(label))

    def _rows(
        self, bounds: Offsets, first: Offsets, size: int, *, reuse: int, room: int, generator: np.random.Generator
    ) -> tuple[Offsets, Offsets, Offsets]:
        """A, B and C of each step's row of each stream: starts [steps, streams, 3], whether C is random, ends."""
        steps = (size - room - 1) // reuse + 1
        offset = np.repeat(np.arange(steps) * reuse, len(first))
        lower = np.tile(first, steps)  # the stream's first token, and the one after its last
        begin = (lower + offset)[:, None]
        start, label, end = self._pairs(bounds, begin[:, 0] + reuse, lower, lower + size, rest=room - reuse, generator=generator)
        start, end = np.concatenate([begin, start], axis=1), np.concatenate([begin + reuse, end], axis=1)
        return start.reshape(steps, -1, 3), label.reshape(steps, -1), end.reshape(steps, -1, 3)

    @staticmethod
    def _pairs(
        bounds: Offsets, begin: Offsets, lower: Offsets, upper: Offsets, *, rest: int, generator: np.random.Generator
    ) -> tuple[Offsets, Offsets, Offsets]:
        """B and C of each row [n, 2]: their starts, whether C is random, their ends."""
        low = np.searchsorted(bounds, begin, side="right")
        high = np.searchsorted(bounds, begin + rest, side="left")  # bounds[low:high] are where B may end
        whole = np.minimum(bounds[high], upper)  # the sentence end at or after the row's
        cut = bounds[low + (generator.random(len(begin)) * (high - low)).astype(np.int64)]
        b_end = np.where(high > low, cut, whole)
        random_next = (high == low) | (generator.random(len(begin)) < 0.5)
        # A random stretch as long as is wanted, and its first and last sentence whole.
        wanted = np.maximum(1, rest - (b_end - begin))
        place = lower + (generator.random(len(begin)) * (upper - lower - wanted)).astype(np.int64)
        c_begin = np.maximum(bounds[np.searchsorted(bounds, place, side="right") - 1], lower)
        c_end = np.minimum(bounds[np.searchsorted(bounds, place + wanted, side="left")], upper)
        start = np.stack([begin, np.where(random_next, c_begin, b_end)], axis=1)
        end = np.stack([b_end, np.where(random_next, c_end, whole)], axis=1)
        end -= np.stack(cuts(end - start, rest), axis=1)
        return start, random_next.astype(np.int64), end


def _turned(rows: Offsets) -> NDArray[np.bool_]:
    """Of the rows of all steps [steps, rows], the second half of each step's."""
    steps, count = rows.shape
    return np.tile(np.arange(count) >= count // 2, steps)


def _stream_length(store: Store, *, streams: int, least: int) -> int:
    """Tokens of each of so many equal streams."""
    size = len(store.tokens) // streams
    if size < least:
        raise PlumeError(
            f"{len(store.tokens):,} tokens in {streams} parallel streams are {size:,} each, where a row needs {least:,}: the rows of a batch "
            "each read a stream of their own. Lower training.batch or training.length, or add text."
        )
    return size
