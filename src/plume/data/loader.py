"""Batches in a fixed order: a pure function of (seed, epoch, step), whatever the number of workers or processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.data.collate import Collator, Frame, gather
from plume.data.layout import Layout, Plan
from plume.data.store import Store
from plume.text.tokenizer import Tokenizer

_POOL = 32  # batches that are sorted by length together: little padding, and batches still differ from epoch to epoch


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Where the reading stands; saved with a checkpoint."""

    epoch: int = 0
    step: int = 0  # batches of this epoch already taken


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one process computes in one step: a batch for each of its shares, and the cursor of the step after."""

    batches: tuple[Batch, ...]
    following: Cursor


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
    _plans: dict[int, tuple[Plan, NDArray[np.int64]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.frame = Frame.of(self.layout, self.tokenizer)
        self.special = np.zeros(max(self.tokenizer.size, self.store.vocabulary), bool)
        self.special[self.tokenizer.special_ids] = True

    def plan(self, epoch: int) -> tuple[Plan, NDArray[np.int64]]:
        """The epoch's rows and its batches [steps, rows]; the last batch is filled up from the epoch's beginning."""
        planned = self._plans.get(epoch)
        if planned is None:
            generator = np.random.default_rng([self.seed % 2**64, epoch])
            room = self.length - self.frame.specials
            if room < 2:
                raise PlumeError(
                    f"Rows of {self.length} tokens leave no room for text beside {self.frame.specials} special ones: raise training.length."
                )
            plan = self.layout.plan(self.store, room=room, generator=generator)
            planned = (plan, self._batches(plan, generator))
            # The epoch before stays: threads may still be gathering its last batches.
            self._plans = {number: held for number, held in self._plans.items() if number == epoch - 1} | {epoch: planned}
        return planned

    def _batches(self, plan: Plan, generator: np.random.Generator) -> NDArray[np.int64]:
        order = generator.permutation(len(plan))
        steps = -(-len(plan) // self.rows)
        order = np.resize(order, steps * self.rows)
        length = (plan.end - plan.start).sum(1)
        for first in range(0, len(order), _POOL * self.rows):
            pool = order[first : first + _POOL * self.rows]
            order[first : first + _POOL * self.rows] = pool[np.argsort(length[pool], kind="stable")]
        batches = order.reshape(steps, self.rows)
        for first in range(0, steps, _POOL):
            generator.shuffle(batches[first : first + _POOL])
        return batches

    def batch(self, cursor: Cursor, share: slice = slice(None)) -> Batch:
        """The batch at the cursor, or this process's share of its rows."""
        plan, batches = self.plan(cursor.epoch)
        index = batches[cursor.step][share]
        rows = gather(self.store, plan, index, self.frame, self.special)
        return self.collator(rows, Draws(seed=self.seed, epoch=cursor.epoch, index=index))

    def following(self, cursor: Cursor) -> Cursor:
        _, batches = self.plan(cursor.epoch)
        return Cursor(epoch=cursor.epoch, step=cursor.step + 1) if cursor.step + 1 < len(batches) else Cursor(epoch=cursor.epoch + 1)

    def batches(self, cursor: Cursor, *, shares: tuple[slice, ...] = (slice(None),), workers: int = 1) -> Iterator[Step]:
        """For ever: the batches from the cursor on, prepared ahead by `workers` threads."""
        if workers == 0:
            while True:
                following = self.following(cursor)
                yield self._step(cursor, following, shares)
                cursor = following
        with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="plume-data") as pool:
            waiting: deque = deque()
            while True:
                while len(waiting) < 2 * workers:
                    following = self.following(cursor)  # plans the epoch, so that the threads only look it up
                    waiting.append(pool.submit(self._step, cursor, following, shares))
                    cursor = following
                yield waiting.popleft().result()

    def _step(self, cursor: Cursor, following: Cursor, shares: tuple[slice, ...]) -> Step:
        return Step(batches=tuple(self.batch(cursor, share) for share in shares), following=following)
