"""SpanBERT: spans of words with geometric lengths, and the tokens around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Draw, Keep, Mask, Per
from plume.noise.geometric import GeometricSpans
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen
from plume.noise.span_boundary import InPlaceWithBoundaries

SPANBERT = Noise(select=GeometricSpans(), corrupt=Mask(per=Per.UNIT, draw=Draw.CORPUS), target=InPlaceWithBoundaries())


def test_lengths_are_geometric_in_words(rows_of: Any, draws: Any) -> None:
    """p = 0.2 cut at 10: mean 3.8 words, shares falling by 0.8. Words of two tokens; of each row the span that is drawn first, which is whole."""
    count, width = 2500, 2002
    rows = rows_of([width] * count)
    rows.word_start[:, 2::2] = False
    anchor = np.argsort(np.where(rows.special, 2.0, draws(count).uniform(width)), axis=1)[:, 0]
    chosen = GeometricSpans(rate=0.01)(rows, draws(count)).tokens
    begin = anchor - (anchor % 2 == 0)
    reach = np.pad(chosen, ((0, 0), (0, 21)))[np.arange(count)[:, None], begin[:, None] + np.arange(21)]
    words = reach.argmin(1)[~reach.all(1)] / 2
    share = 0.8 ** np.arange(10) / (0.8 ** np.arange(10)).sum()
    assert abs((share * np.arange(1, 11)).sum() - 3.8) < 0.01
    assert (abs(np.bincount(words.astype(int), minlength=11)[1:] / count - share) < 0.025).all()
    assert abs(words.mean() - 3.8) < 0.15


def by_loop(rows: Rows, row: int, select: GeometricSpans, draws: Draws) -> tuple[set[int], list[int]]:
    """data/masking.py, pair_span: a token not yet covered, back to its word's start, n words, stop as soon as the budget is met; merge."""
    width = rows.tokens.shape[1]
    key, lot = draws.uniform(width)[0], draws.uniform(width)[0]
    text = np.flatnonzero(~rows.special[row]).tolist()
    share = np.array([(1 - select.p) ** n for n in range(select.longest)])
    budget = int(np.ceil(select.rate * len(text) - 1e-9))
    covered: set[int] = set()
    for turn, anchor in enumerate(sorted(text, key=lambda place: key[place])):
        if len(covered) >= budget:
            break
        if anchor in covered:
            continue
        n = int(np.searchsorted(np.cumsum(share / share.sum())[:-1], lot[turn], side="right")) + 1
        place = anchor
        while not rows.word_start[row, place] and not rows.special[row, place - 1]:
            place -= 1
        words = 0
        while len(covered) < budget and not rows.special[row, place]:
            words += bool(rows.word_start[row, place]) or words == 0
            if words > n:
                break
            covered.add(place)
            place += 1
    return covered, [place for place in sorted(covered) if place - 1 not in covered]


@pytest.mark.parametrize("select", [GeometricSpans(), GeometricSpans(rate=0.5), GeometricSpans(p=0.6, longest=3)])
def test_spans_are_the_authors_loop(select: GeometricSpans, rows_of: Any) -> None:
    rows = rows_of([3, 7, 10, 30, 50, 90, 128, 129] * 8, pieces=3, pairs=True)
    index = np.arange(64) + 50
    chosen = select(rows, Draws(seed=2, epoch=1, index=index))
    for row in range(64):
        covered, starts = by_loop(rows, row, select, Draws(seed=2, epoch=1, index=index[row : row + 1]))
        assert set(np.flatnonzero(chosen.tokens[row])) == covered
        assert np.flatnonzero(chosen.start[row]).tolist() == starts


def test_the_rate_is_met_exactly(rows_of: Any, draws: Any) -> None:
    rows = rows_of([2, 3, 20, 102, 300] * 10, pieces=3)
    chosen = GeometricSpans()(rows, draws(50)).tokens
    assert chosen.sum(1).tolist() == [0, 1, 3, 15, 45] * 10
    assert not (chosen & rows.special).any()


def test_ends_are_the_tokens_around_the_span(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    """[CLS] a B C d E f G [SEP], capitals selected: G touches the separator and is not asked for; nor is what follows `longest`."""
    rows = rows_of([9])
    tokens = np.array([[0, 0, 1, 1, 0, 1, 0, 1, 0]], bool)
    chosen = Chosen.runs(tokens)
    aim = InPlaceWithBoundaries()(rows, chosen, Keep()(rows, chosen, draws(1), alphabet), draws(1), alphabet)
    ends = aim.others["ends"]
    asked = np.flatnonzero(ends.where[0]).tolist()
    assert asked == [2, 3, 5]
    assert ends.context is not None
    assert ends.feature is not None
    assert ends.context[0, asked].tolist() == [[1, 4], [1, 4], [4, 6]]
    assert ends.feature[0, asked].tolist() == [0, 1, 0]
    assert (ends.what[0, asked] == rows.tokens[0, asked]).all()
    assert np.flatnonzero(aim.where[0]).tolist() == [2, 3, 5, 7]
    short = InPlaceWithBoundaries(longest=1)(rows, chosen, Keep()(rows, chosen, draws(1), alphabet), draws(1), alphabet)
    assert np.flatnonzero(short.others["ends"].where[0]).tolist() == [2, 5]


def test_ends_of_every_drawn_span(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([40, 128, 129, 9] * 10, pieces=2, pairs=True)
    select = GeometricSpans(rate=0.3)
    chosen = select(rows, draws(40))
    aim = InPlaceWithBoundaries()(rows, chosen, Keep()(rows, chosen, draws(40), alphabet), draws(40), alphabet)
    ends = aim.others["ends"]
    assert ends.context is not None
    assert ends.feature is not None
    row, place = np.nonzero(ends.where)
    before, after = ends.context[row, place].T
    assert not chosen.tokens[row, before].any()
    assert not chosen.tokens[row, after].any()
    assert not rows.special[row, before].any()
    assert not rows.special[row, after].any()
    assert (place - before - 1 == ends.feature[row, place]).all()
    assert ends.feature.max() == 14
    covered = np.cumsum(chosen.tokens, axis=1)
    assert (covered[row, after] - covered[row, before] == after - before - 1).all()


def test_a_row_by_itself(rows_of: Any, same_alone: Any) -> None:
    same_alone(SPANBERT, rows_of([12, 40, 129, 7], pieces=3))


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"p": 1.0}, {"longest": 0}])
def test_numbers_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlumeError):
        GeometricSpans(**wrong)
