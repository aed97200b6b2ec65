"""Streams: rows that go on from batch to batch, and XLNet's with a pair at their end, against the loop of data_utils.py."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.streams import Streams, StreamsWithPairs


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 0])


@pytest.mark.parametrize(("tokens", "rows", "room"), [(100, 4, 6), (101, 4, 6), (103, 4, 24), (97, 1, 10), (8, 4, 5), (1000, 7, 16)])
def test_row_b_goes_on_in_row_b_of_the_next_batch(store_of: Any, tokens: int, rows: int, room: int) -> None:
    plan = Streams().plan(store_of([[tokens - 1]]), room=room, rows=rows, generator=generator(0))
    assert len(plan) % rows == 0
    start, end = plan.start.reshape(-1, rows), plan.end.reshape(-1, rows)
    assert start[0].tolist() == [number * (tokens // rows) for number in range(rows)]
    assert (start[1:] == end[:-1] - 1).all()  # the last token of a row is only predicted; the next row begins with it
    assert (end - start == (end - start)[:, :1]).all()  # batches are rectangular
    assert (end - start)[:-1].tolist() == [[room + 1] * rows] * (len(start) - 1)
    predicted = np.concatenate([np.arange(a + 1, b) for a, b in zip(plan.start[:, 0], plan.end[:, 0], strict=True)])
    stream = tokens // rows
    assert sorted(predicted.tolist()) == [place for place in range(stream * rows) if place % stream]
    assert Streams().sequential
    assert not Streams().wrapped


@pytest.mark.parametrize(("tokens", "rows", "room"), [(100, 4, 6), (103, 2, 24), (1000, 14, 16)])
def test_each_stream_is_read_both_ways(store_of: Any, tokens: int, rows: int, room: int) -> None:
    plan = Streams(backward=True).plan(store_of([[tokens - 1]]), room=room, rows=rows, generator=generator(0))
    streams = rows // 2
    start, end = plan.start.reshape(-1, rows), plan.end.reshape(-1, rows)
    assert plan.backward is not None
    assert plan.backward.reshape(-1, rows).tolist() == [[False] * streams + [True] * streams] * len(start)
    onward = Streams().plan(store_of([[tokens - 1]]), room=room, rows=streams, generator=generator(0))
    assert start[:, :streams].tolist() == onward.start.reshape(-1, streams).tolist()
    assert (end[1:, streams:] == start[:-1, streams:] + 1).all()  # a row read backwards goes on before the one before
    size = tokens // streams
    back = [
        place
        for a, b in zip(start[:, streams:].T, end[:, streams:].T, strict=True)
        for i, j in zip(a, b, strict=True)
        for place in range(i, j - 1)
    ]
    assert sorted(back) == [place for place in range(size * streams) if place % size != size - 1]


def test_too_few_tokens_for_so_many_streams(store_of: Any) -> None:
    with pytest.raises(PlumeError, match="20 tokens in 16 parallel streams are 1 each, where a row needs 2"):
        Streams().plan(store_of([[19]]), room=8, rows=16, generator=generator(0))


def split_by_loop(bounds: set[int], begin: int, size: int, rest: int, source: random.Random) -> tuple[int, int, int, int, int]:
    """_split_a_and_b: places in a stream of `size` tokens, in which sentences begin at `bounds`."""
    end, cut_points = begin + 1, []
    while end < size:
        if end in bounds:
            if end - begin >= rest:
                break
            cut_points.append(end)
        end += 1
    if not cut_points or source.random() < 0.5:
        label, a_end = 1, source.choice(cut_points) if cut_points else end
        wanted = max(1, rest - (a_end - begin))
        b_begin = source.randint(0, size - 1 - wanted)
        b_end = b_begin + wanted
        while b_begin > 0 and b_begin not in bounds:
            b_begin -= 1
        while b_end < size - 1 and b_end not in bounds:
            b_end += 1
    else:
        label, a_end = 0, source.choice(cut_points)
        b_begin, b_end = a_end, end
    while a_end - begin + b_end - b_begin > rest:
        if a_end - begin > b_end - b_begin:
            a_end -= 1
        else:
            b_end -= 1
    return label, a_end - begin, b_end - b_begin, b_begin, b_end


def sentence_lengths(seed: int, count: int, longest: int) -> list[int]:
    source = random.Random(seed)
    return [source.randint(1, longest) for _ in range(count)]


@pytest.mark.parametrize("longest", [8, 30, 80])
def test_pairs_have_the_statistics_of_the_original(store_of: Any, longest: int) -> None:
    store = store_of([sentence_lengths(seed, 30, longest) for seed in range(12)])
    size, room, reuse = len(store.tokens), 61, 32
    bounds = set(store.sentence_start.tolist()) | set(store.sentence_end.tolist())
    layout = StreamsWithPairs()
    plans = [layout.plan(store, room=room, rows=1, generator=generator(seed)) for seed in range(60)]
    length = np.concatenate([plan.end - plan.start for plan in plans])
    labels = np.concatenate([plan.label for plan in plans if plan.label is not None])
    starts = np.concatenate([plan.start for plan in plans])
    assert (length[:, 0] == reuse).all()
    assert (length.sum(1) == room).all()
    source = random.Random(1)
    places = [int(place) for place in plans[0].start[:, 1]]
    theirs = np.array([split_by_loop(bounds, place, size, room - reuse, source) for _ in range(60) for place in places])
    ours = np.column_stack([labels, length[:, 1], length[:, 2], starts[:, 2], length[:, 1] > length[:, 2], labels * length[:, 1]])
    other = np.column_stack(
        [theirs[:, 0], theirs[:, 1], theirs[:, 2], theirs[:, 3], theirs[:, 1] > theirs[:, 2], theirs[:, 0] * theirs[:, 1]]
    )
    noise = np.sqrt(ours.var(0) / len(ours) + other.var(0) / len(other)) + 1e-12
    assert (np.abs(ours.mean(0) - other.mean(0)) < 5 * noise).all(), (ours.mean(0), other.mean(0))


@pytest.mark.parametrize("turned", [None, False, True])
def test_rows_of_a_stream_build_on_one_another(store_of: Any, turned: bool | None) -> None:
    """Turned round, the text is a text like any other: what holds of the rows read onward holds of those read backwards."""
    store = store_of([sentence_lengths(seed, 40, 12) for seed in range(30)])
    rows, room, total = 5, 45, len(store.tokens)
    both = turned is not None
    plan = StreamsWithPairs(backward=both).plan(store, room=room, rows=10 if both else 5, generator=generator(3))
    assert plan.label is not None
    assert (plan.backward is not None) is both
    size, reuse = total // rows, 24
    bounds = set(store.sentence_start.tolist()) | set(store.sentence_end.tolist())
    half = slice(rows, None) if turned else slice(0, rows)
    start, end = (edge.reshape(-1, 10 if both else 5, 3)[:, half] for edge in (plan.start, plan.end))
    label = plan.label.reshape(len(start), -1)[:, half]
    if plan.backward is not None:
        assert (plan.backward.reshape(len(start), -1)[:, half] == turned).all()
    if turned:
        spare = total - size * rows  # tokens after the last stream
        start, end = (total - spare - edge[:, ::-1] for edge in (end, start))
        label, bounds = label[:, ::-1], {total - spare - bound for bound in bounds}
    assert len(start) == (size - room - 1) // reuse + 1
    assert (start[0, :, 0] == size * np.arange(rows)).all()
    assert (start[1:, :, 0] == end[:-1, :, 0]).all()  # the part that is remembered follows on
    assert (start[:, :, 1] == end[:, :, 0]).all()  # B follows A
    goes_on = label == 0
    assert {int(place) for place in start[:, :, 2].ravel()} <= bounds | {size * row for row in range(rows)}
    assert (start[:, :, 2] == end[:, :, 1])[goes_on].mean() > 0.4  # B loses its end where it is the longer
    assert 0.4 < goes_on.mean() < 0.55
    lower = size * np.arange(rows)[None, :, None]
    assert ((start >= lower) & (end <= lower + size)).all()
    assert (end > start).all()


def test_words_begin_with_their_last_token_where_they_are_read_backwards(miniature: Any, reader_for: Any) -> None:
    recipe = miniature("xlnet", rows=4, length=32)
    reader = reader_for(replace(recipe, layout=replace(recipe.layout, backward=True)))
    plan, batches = reader.plan(0)
    rows = reader.rows_of(plan, batches[1])
    assert rows.backward.tolist() == [False, False, True, True]
    store, begin, end = reader.store, plan.start[batches[1], 0], plan.end[batches[1], 0]
    for row in range(4):
        places = range(end[row] - 1, begin[row] - 1, -1) if row > 1 else range(begin[row], end[row])
        assert rows.tokens[row, : len(places)].tolist() == [int(store.tokens[place]) for place in places]
        assert rows.word_start[row, : len(places)].tolist() == [bool(store.word_start[place + (row > 1)]) for place in places]
    assert (plan.start[batches[0], 0] == plan.end[batches[1], 0])[2:].all()  # the next row of a stream goes on towards its start


def test_the_share_that_is_reused(store_of: Any) -> None:
    store = store_of([[5] * 200])
    plan = StreamsWithPairs(reuse=0.25).plan(store, room=61, rows=2, generator=generator(0))
    assert (plan.end - plan.start)[:, 0].tolist() == [16] * len(plan)
    assert StreamsWithPairs().texts == 3
    with pytest.raises(PlumeError, match="below 1"):
        StreamsWithPairs(reuse=1.0)
    with pytest.raises(PlumeError, match="a row needs 62"):
        StreamsWithPairs().plan(store, room=61, rows=20, generator=generator(0))
    with pytest.raises(PlumeError, match="cannot hold three texts"):
        StreamsWithPairs().plan(store, room=2, rows=1, generator=generator(0))
