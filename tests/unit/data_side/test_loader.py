"""Batches are a function of (seed, epoch, step), whatever the workers, the processes, or where reading began."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Batch
from plume.core.part import replace
from plume.data.loader import Cursor, Reader
from plume.recipes import _catalog as catalog

FAMILIES = catalog.families()


@pytest.fixture(params=["bert", "albert", "roberta-wwm", "electra", "gpt2"])
def reader(request: pytest.FixtureRequest, miniature: Any, reader_for: Any) -> Reader:
    return reader_for(miniature(request.param, rows=8), seed=3)


def arrays(batch: Batch) -> Iterator[tuple[str, np.ndarray]]:
    for name in ("tokens", "length", "segment", "read"):
        if (value := getattr(batch, name)) is not None:
            yield name, value
    for name, target in sorted(batch.labels.items()):
        yield f"{name}.index", target.index
        yield f"{name}.value", target.value


def same(left: Batch, right: Batch) -> bool:
    ours, theirs = dict(arrays(left)), dict(arrays(right))
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def first_batches(reader: Reader, count: int, *, cursor: Cursor | None = None, workers: int = 0) -> list[Batch]:
    steps = reader.batches(cursor or Cursor(), workers=workers)
    found = [step.batches[0] for step in itertools.islice(steps, count)]
    steps.close()
    return found


def epoch_length(reader: Reader) -> int:
    return len(reader.plan(0)[1])


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(reader: Reader, workers: int) -> None:
    count = epoch_length(reader) + 5  # into the next epoch
    fresh = replace(reader, _plans={})
    for ours, theirs in zip(first_batches(reader, count), first_batches(fresh, count, workers=workers), strict=True):
        assert same(ours, theirs)


class Contended(Reader):
    """Lets the others go first whenever one of the workers exchanges plans."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_plans" and threading.current_thread() is not threading.main_thread():
            time.sleep(0.02)


def test_workers_change_nothing_when_epochs_are_short(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("roberta", length=64, rows=512))
    assert epoch_length(reader) == 1
    contended = Contended(**{field.name: getattr(reader, field.name) for field in fields(reader)} | {"_plans": {}})
    for ours, theirs in zip(first_batches(reader, 12), first_batches(contended, 12, workers=3), strict=True):
        assert same(ours, theirs)


@pytest.mark.parametrize("epoch", [0, 1])
def test_an_epoch_takes_every_planned_row(reader: Reader, epoch: int) -> None:
    plan, batches = reader.plan(epoch)
    taken = np.bincount(batches.ravel(), minlength=len(plan))
    assert (taken >= 1).all()
    assert taken.sum() - len(plan) < reader.rows  # only the last batch is filled up
    assert taken.max() <= 2


def test_resuming_anywhere_goes_on_with_the_same_batches(reader: Reader) -> None:
    count = epoch_length(reader) + 4
    steps = list(itertools.islice(reader.batches(Cursor(), workers=0), count + 2))
    for taken in (0, 1, epoch_length(reader) - 2, epoch_length(reader) - 1, epoch_length(reader), count - 1):
        fresh = replace(reader, _plans={})
        resumed = first_batches(fresh, 2, cursor=steps[taken].following, workers=1)
        assert same(resumed[0], steps[taken + 1].batches[0])
        assert same(resumed[1], steps[taken + 2].batches[0])


def contents(batch: Batch) -> list[tuple[Any, ...]]:
    """Each row as plain values, without its padding: tokens, and what is asked where."""
    rows = []
    time = batch.tokens.shape[1]
    for row, tokens in enumerate(batch.tokens):
        length = time if batch.length is None else int(batch.length[row])
        asked = {
            name: tuple(
                sorted(
                    (int(index) % time, int(value)) for index, value in zip(target.index, target.value, strict=True) if index // time == row
                )
            )
            for name, target in sorted(batch.labels.items())
        }
        segment = () if batch.segment is None else tuple(batch.segment[row, :length].tolist())
        rows.append((tuple(tokens[:length].tolist()), segment, tuple(asked.items())))
    return rows


@pytest.mark.parametrize(("processes", "accumulate"), [(1, 2), (2, 1), (2, 2)])
def test_shares_of_all_processes_make_the_global_batch(reader: Reader, processes: int, accumulate: int) -> None:
    parts = processes * accumulate
    whole = next(reader.batches(Cursor(epoch=1, step=2), workers=0)).batches[0]
    shared = []
    for rank in range(processes):
        shares = tuple(slice(rank * accumulate + part, None, parts) for part in range(accumulate))
        step = next(reader.batches(Cursor(epoch=1, step=2), shares=shares, workers=0))
        assert [len(batch.tokens) for batch in step.batches] == [8 // parts] * accumulate
        shared += [row for batch in step.batches for row in contents(batch)]
    assert sorted(shared) == sorted(contents(whole))


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("gpt", "gpt2")])
def test_masks_are_drawn_anew_each_epoch(family: str, miniature: Any, reader_for: Any) -> None:
    """The same rows in epochs 0 and 1 (the plan is held still) hide other tokens."""
    reader = reader_for(miniature(family))
    plan, batches = reader.plan(0)
    still = replace(reader, _plans={0: (plan, batches), 1: (plan, batches)})
    first, second = still.batch(Cursor(epoch=0)), still.batch(Cursor(epoch=1))
    assert first.tokens.shape == second.tokens.shape
    mine, yours = (set(batch.labels["masked_lm"].index.tolist()) for batch in (first, second))
    shared = len(mine & yours) / len(mine)
    assert shared < 0.5


def test_seeds_give_other_orders(miniature: Any, reader_for: Any) -> None:
    one, two = (reader_for(miniature("roberta"), seed=seed).plan(0) for seed in (0, 1))
    assert (one[0].start == two[0].start).all()  # full sentences are the same each time
    assert (one[1] != two[1]).any()
    assert reader_for(miniature("roberta"), seed=-5).plan(0)[1].shape == one[1].shape
    later = reader_for(miniature("roberta"), seed=0).plan(1)
    assert (one[1] != later[1]).any()


def test_batches_hold_rows_of_like_length(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("electra", length=64, rows=4))
    plan, batches = reader.plan(0)
    length = (plan.end - plan.start).sum(1)
    spread = length[batches].std(1).mean()
    assert spread < 0.25 * length.std()
    assert np.abs(np.diff(length[batches].mean(1))).mean() > 0.5 * length.std()  # but short and long batches are mixed


def test_a_corpus_smaller_than_a_batch_fills_it(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("roberta", length=64, rows=512))
    plan, batches = reader.plan(0)
    assert len(plan) < 512
    assert batches.shape == (1, 512)
    assert set(batches[0].tolist()) == set(range(len(plan)))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_no_longer_than_asked(family: str, miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature(family, length=24))
    longest = max(batch.tokens.shape[1] for batch in first_batches(reader, epoch_length(reader)))
    assert longest == 24
