"""Batches in a fixed order: a pure function of (seed, epoch, step), whatever the number of workers or processes.

A Reader reads one kind of batch. A Mixture lets several take turns: which kind a step gets is a function of (seed, step).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.data.collate import Collator, Frame, gather
from plume.data.layouts.carried import NONE
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.store import Store
from plume.noise.rows import Rows
from plume.noise.spelling import Spelling
from plume.text.tokenizer import Tokenizer

_POOL = 32  # batches that are sorted by length together: little padding, and batches still differ from epoch to epoch


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Where the reading stands; saved with a checkpoint."""

    epoch: int = 0
    step: int = 0  # batches of this epoch already taken


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one process computes in one step: a batch for each of its shares, of which kind, and where each reader stands after it."""

    batches: tuple[Batch, ...]
    following: tuple[Cursor, ...]
    kind: int = 0


@dataclass(kw_only=True)
class Reader:
    """Reads a store through a layout. `length` is the longest row, special tokens included."""

    store: Store
    layout: Layout
    collator: Collator
    tokenizer: Tokenizer
    length: int
    rows: int  # a batch
    seed: int
    _plans: dict[int, tuple[RowPlan, NDArray[np.int64]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.frame = Frame.of(self.layout, self.tokenizer, sentences=self.collator.noise.needs_sentences)
        self.special = np.zeros(max(self.tokenizer.size, self.store.vocabulary), bool)
        self.special[self.tokenizer.structural_ids] = True  # an unknown word is a word: the authors' code hides it like any other
        asks = self.collator.noise.select.needs_spelling
        self.spelling = Spelling.of(self.tokenizer.spellings()) if asks else None

    def plan(self, epoch: int) -> tuple[RowPlan, NDArray[np.int64]]:
        """The epoch's rows and its batches [steps, rows]; the last batch is filled up from the epoch's beginning.

        Where a batch draws its rows more than once, copy c of row i has the number c · len(plan) + i, and with it random draws of its own.
        """
        planned = self._plans.get(epoch)
        if planned is None:
            version = self.collator.noise.version(epoch)
            generator = self._generator(version)
            room = self.collator.noise.raw(self.length) - self.frame.specials
            if room < 2:
                raise PlumeError(
                    f"Rows of {self.length} tokens leave no room for text beside {self.frame.specials} special ones: raise training.length."
                )
            plan = self.layout.plan(self.store, room=room, rows=self.rows // self.layout.copies, generator=generator)
            # Rows that come again do so in another order.
            planned = (plan, self._batches(plan, generator if version == epoch else self._generator(epoch)))
            # The epoch before stays: threads may still be gathering its last batches.
            self._plans = {number: held for number, held in self._plans.items() if number == epoch - 1} | {epoch: planned}
        return planned

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed % 2**64, number])

    def check(self) -> str | None:
        """Raise if the text cannot serve the layout; if it serves badly, a sentence about it."""
        for one in self.layout.carries:
            if (self.store.named[one.name] == NONE).all():
                raise PlumeError(
                    f"No document has anything in its field '{one.name}', which this recipe's rows carry: give JSONL, one document a line, with "
                    f"'{one.name}' beside 'text'."
                )
        return self.layout.check(self.store, room=self.collator.noise.raw(self.length) - self.frame.specials)

    def _batches(self, plan: RowPlan, generator: np.random.Generator) -> NDArray[np.int64]:
        rows, copies = self.rows // self.layout.copies, self.layout.copies
        if self.layout.sequential:  # row b of a batch goes on in row b of the next
            batches = np.arange(len(plan) // rows * rows).reshape(-1, rows)
        else:
            batches = length_batches((plan.end - plan.start).sum(1), rows=rows, generator=generator)
        return np.concatenate([batches + copy * len(plan) for copy in range(copies)], axis=1)

    def batch(self, cursor: Cursor, share: slice = slice(None)) -> Batch:
        """The batch at the cursor, or this process's share of its rows."""
        plan, batches = self.plan(cursor.epoch)
        index = batches[cursor.step][share]
        version = self.collator.noise.version(cursor.epoch)
        return self.collator(self.rows_of(plan, index), Draws(seed=self.seed, epoch=version, index=index))

    def rows_of(self, plan: RowPlan, index: NDArray[np.int64]) -> Rows:
        """The text of these rows, before any noise; copies of a row have the same."""
        return replace(gather(self.store, plan, index % len(plan), self.frame, self.special), spelling=self.spelling)

    def following(self, cursor: Cursor) -> Cursor:
        """Where the reading stands after the batch at the cursor."""
        _, batches = self.plan(cursor.epoch)
        return Cursor(epoch=cursor.epoch, step=cursor.step + 1) if cursor.step + 1 < len(batches) else Cursor(epoch=cursor.epoch + 1)

    def step(self, cursor: Cursor, shares: Sequence[slice]) -> tuple[Batch, ...]:
        """The batch in parts; where rows go on from batch to batch, each part is a stream of its own."""
        made = tuple(self.batch(cursor, share) for share in shares)
        if not self.layout.sequential:
            return made
        return tuple(replace(batch, stream=number, begins=cursor.step == 0) for number, batch in enumerate(made))


def length_batches(length: NDArray[np.int64], *, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """[steps, rows] a random order in which rows of like length share a batch; the last batch is filled up from the beginning."""
    steps = -(-len(length) // rows)
    order = np.resize(generator.permutation(len(length)), steps * rows)
    for first in range(0, len(order), _POOL * rows):
        pool = order[first : first + _POOL * rows]
        order[first : first + _POOL * rows] = pool[np.argsort(length[pool], kind="stable")]
    batches = order.reshape(steps, rows)
    for first in range(0, steps, _POOL):
        generator.shuffle(batches[first : first + _POOL])
    return batches


class Turns(Protocol):
    """What takes turns in a mixture: batches in a fixed order, one cursor each."""

    def following(self, cursor: Cursor) -> Cursor:
        """Where the reading stands after the batch at the cursor."""

    def step(self, cursor: Cursor, shares: Sequence[slice]) -> tuple[Batch, ...]:
        """The batch at the cursor, in parts."""


Reads = TypeVar("Reads", bound=Turns)


@dataclass(kw_only=True)
class Mixture(Generic[Reads]):
    """Readers that take turns, each in proportion to its share."""

    readers: tuple[Reads, ...]
    shares: tuple[float, ...]
    seed: int

    def kind(self, step: int, active: Sequence[int]) -> int:
        """Whose turn it is among the active readers."""
        if len(active) == 1:
            return active[0]
        weight = np.cumsum([self.shares[number] for number in active])
        lot = np.random.default_rng([self.seed % 2**64, step]).random() * weight[-1]
        return active[int(np.searchsorted(weight, lot, side="right"))]

    def start(self) -> tuple[Cursor, ...]:
        """Where every reader stands before the first step."""
        return (Cursor(),) * len(self.readers)

    def steps(
        self, cursors: tuple[Cursor, ...], *, step: int, active: Sequence[int], shares: Sequence[slice] = (slice(None),), workers: int = 1
    ) -> Iterator[Step]:
        """For ever: the steps from here on, prepared ahead by `workers` threads."""

        def prepared(submit: Callable[..., Step]) -> Iterator[Step]:
            nonlocal cursors, step
            while True:
                kind = self.kind(step, active)
                here = cursors[kind]
                following = self.readers[kind].following(here)  # plans the epoch, so that the threads only look it up
                cursors = (*cursors[:kind], following, *cursors[kind + 1 :])
                step += 1
                yield submit(self._step, kind, here, cursors, shares)

        if workers == 0:
            yield from prepared(lambda make, *given: make(*given))
        with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="plume-data") as pool:
            waiting: deque = deque()
            ahead = prepared(pool.submit)  # type: ignore[arg-type]
            while True:
                while len(waiting) < 2 * workers:
                    waiting.append(next(ahead))
                yield waiting.popleft().result()

    def _step(self, kind: int, cursor: Cursor, following: tuple[Cursor, ...], shares: Sequence[slice]) -> Step:
        made = self.readers[kind].step(cursor, shares)
        # Streams are numbered over all kinds: none may read another's text as its past.
        made = tuple(part if part.stream is None else replace(part, stream=kind * len(shares) + part.stream) for part in made)
        return Step(batches=made, following=following, kind=kind)
