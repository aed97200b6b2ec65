"""Which tokens are selected, against the papers' numbers and against plain loops written from the papers' code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.rows import Rows
from plume.noise.select import Chosen, NGrams, Nothing, Rate, Rounding, Select, Tokens, WholeWords
from plume.noise.words import Unit

LENGTHS = [2, 3, 4, 7, 10, 30, 33, 50, 90, 128, 129]
SELECTS = [Tokens(), Tokens(rounding=Rounding.PROBABILISTIC), Tokens(replacement=True), WholeWords(), NGrams(longest=3)]


@pytest.mark.parametrize("select", SELECTS)
def test_never_specials_or_padding_and_never_over_budget(select: Rate, rows_of: Any, draws: Any) -> None:
    rows = rows_of(LENGTHS * 20, pieces=3, pairs=True)
    chosen = select(rows, draws(len(rows.length))).tokens
    assert not (chosen & rows.special).any()
    ceiling = np.maximum(1, np.ceil(rows.length * 0.15)) if select.rounding is Rounding.PROBABILISTIC else bert_budget(rows)
    assert (chosen.sum(1) <= ceiling).all()
    assert chosen.any(1)[rows.length > 30].all()


def bert_budget(rows: Rows) -> np.ndarray:
    """max(1, int(round(0.15 · len))), special tokens counted in, and no more than there are."""
    return np.array(
        [min(max(1, round(0.15 * int(length))), open_) for length, open_ in zip(rows.length, (~rows.special).sum(1), strict=True)]
    )


def test_bert_selects_exactly_its_share(rows_of: Any, draws: Any) -> None:
    rows = rows_of(LENGTHS * 20)
    assert Tokens()(rows, draws(len(rows.length))).tokens.sum(1).tolist() == bert_budget(rows).tolist()


def test_bert_selects_evenly_over_positions(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    rows = rows_of([32] * 8000, pairs=True)
    assert_shares(Tokens()(rows, draws(8000)).tokens.sum(0)[~rows.special[0]])


def test_selected_positions_are_not_tied_to_each_other(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    """Every pair of positions is selected together equally often."""
    rows = rows_of([13] * 12000)  # 11 ordinary tokens, 2 of them selected
    chosen = Tokens()(rows, draws(12000)).tokens[:, 1:-1].astype(int)
    assert_shares((chosen.T @ chosen)[np.triu_indices(11, 1)])


def test_roberta_rounds_by_chance(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    rows = rows_of([50] * 20000)  # 7.5 tokens
    counts = np.bincount(Tokens(rounding=Rounding.PROBABILISTIC)(rows, draws(20000)).tokens.sum(1))
    assert_shares(counts, [0] * 7 + [0.5, 0.5])
    rows = rows_of([62] * 20000)  # 9.3
    counts = np.bincount(Tokens(rounding=Rounding.PROBABILISTIC)(rows, draws(20000)).tokens.sum(1))
    assert_shares(counts, [0] * 9 + [0.7, 0.3])


def test_electra_draws_with_replacement(rows_of: Any, draws: Any) -> None:
    rows = rows_of([60] * 20000, pairs=True)
    distinct = Tokens(replacement=True)(rows, draws(20000)).tokens.sum(1)
    places, drawn = 57, 9
    expected = places * (1 - (1 - 1 / places) ** drawn)
    assert abs(distinct.mean() - expected) < 5 * distinct.std() / np.sqrt(len(distinct))
    assert distinct.max() == drawn
    assert distinct.min() < drawn


def test_electra_draws_evenly_over_positions(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    rows = rows_of([60] * 8000, pairs=True)
    assert_shares(Tokens(replacement=True)(rows, draws(8000)).tokens.sum(0)[~rows.special[0]])


def words_of(rows: Rows, row: int) -> list[list[int]]:
    """The words of one row, a special token being one for itself: BERT's cand_indexes, but with the specials kept as barriers."""
    words: list[list[int]] = []
    for place in range(rows.tokens.shape[1]):
        alone = rows.special[row, place] or place == 0 or rows.special[row, place - 1]
        if alone or rows.word_start[row, place]:
            words.append([place])
        else:
            words[-1].append(place)
    return words


@pytest.mark.parametrize("select", [WholeWords(), NGrams(longest=2), NGrams(longest=3), NGrams(longest=3, rate=0.5)])
def test_words_are_selected_whole(select: NGrams, rows_of: Any, draws: Any) -> None:
    rows = rows_of([20, 60, 61, 62, 100] * 10, pieces=3, pairs=True)
    chosen = select(rows, draws(50)).tokens
    shares = [chosen[row, word].mean() for row in range(50) for word in words_of(rows, row)]
    assert set(shares) == {0.0, 1.0}


def whole_words_by_loop(words: list[list[int]], usable: list[int], order: np.ndarray, budget: int) -> set[int]:
    """create_pretraining_data.py of BERT, do_whole_word_mask: shuffled words; one that would exceed the budget is passed over."""
    covered: set[int] = set()
    for word in sorted(usable, key=lambda number: order[number]):
        if len(covered) >= budget:
            break
        if len(covered) + len(words[word]) > budget:
            continue
        covered |= set(words[word])
    return covered


def n_grams_by_loop(
    words: list[list[int]], usable: list[int], order: np.ndarray, lot: np.ndarray, *, budget: int, longest: int
) -> set[int]:
    """create_pretraining_data.py of ALBERT: n with p(n) ∝ 1/n of what is left of the run, shorter if over the budget, skipped if covered."""
    covered: set[int] = set()
    for turn, first in enumerate(sorted(usable, key=lambda number: order[number])):
        if len(covered) >= budget:
            break
        run = list(_run(words, set(usable), first, longest))
        share = np.array([1 / n for n in range(1, len(run) + 1)])
        n = int(np.searchsorted(np.cumsum(share / share.sum())[:-1], lot[turn], side="right")) + 1
        while n > 0 and len(covered) + sum(map(len, run[:n])) > budget:
            n -= 1
        span = {place for word in run[:n] for place in word}
        if not span & covered:
            covered |= span
    return covered


def _run(words: list[list[int]], usable: set[int], first: int, longest: int) -> Iterator[list[int]]:
    for number in range(first, first + longest):
        if number not in usable:
            return
        yield words[number]


Loop = Callable[[list[list[int]], list[int], np.ndarray, np.ndarray, int], set[int]]


def check_against_loop(select: NGrams, loop: Loop, rows: Rows) -> None:
    index = np.arange(len(rows.length)) + 1000
    chosen = select(rows, Draws(seed=3, epoch=2, index=index)).tokens
    budget = bert_budget(rows) if select.rate == 0.15 else np.maximum(1, np.rint(rows.length * select.rate).astype(int))
    for row in range(len(rows.length)):
        words = words_of(rows, row)
        usable = [number for number, word in enumerate(words) if not rows.special[row, word].any()]
        own = Draws(seed=3, epoch=2, index=index[row : row + 1])
        order, lot = own.uniform(len(words))[0], own.uniform(len(words))[0]
        assert set(np.flatnonzero(chosen[row])) == loop(words, usable, order, lot, int(budget[row])), f"row {row}"


def test_whole_words_are_bert_s_loop(rows_of: Any) -> None:
    rows = rows_of(LENGTHS * 15, pieces=4, pairs=True)
    check_against_loop(WholeWords(), lambda words, usable, order, lot, budget: whole_words_by_loop(words, usable, order, budget), rows)


@pytest.mark.parametrize("select", [NGrams(longest=3), NGrams(longest=2), NGrams(longest=5, rate=0.4), NGrams(longest=1)])
def test_n_grams_are_albert_s_loop(select: NGrams, rows_of: Any) -> None:
    rows = rows_of([length for length in LENGTHS if length > 4] * 12, pieces=3, pairs=True)
    check_against_loop(
        select,
        lambda words, usable, order, lot, budget: n_grams_by_loop(words, usable, order, lot, budget=budget, longest=select.longest),
        rows,
    )


def runs_of(chosen: np.ndarray) -> list[int]:
    """Lengths of the stretches of selected tokens of one row, longest first."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(int), [0]])))
    return sorted((edges[1::2] - edges[0::2]).tolist(), reverse=True)


def test_n_gram_lengths_follow_one_over_n(rows_of: Any, draws: Any) -> None:
    """Three tokens of a row of a thousand: p(1), p(2), p(3) = 6/11, 3/11, 2/11 give the patterns 3, 2+1 and 1+1+1 these shares."""
    chosen = NGrams(longest=3, rate=0.003)(rows_of([1000] * 3000), draws(3000)).tokens
    patterns = [tuple(runs_of(row)) for row in chosen]
    expected = {(3,): 2 / 11, (2, 1): 3 / 11 + 6 / 11 * 5 / 11, (1, 1, 1): 6 / 11 * 6 / 11}
    for pattern, share in expected.items():
        assert abs(patterns.count(pattern) / 3000 - share) < 0.03, pattern
    assert set(patterns) == set(expected)


def test_n_grams_begin_evenly_over_the_row(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    chosen = NGrams(longest=1)(rows_of([40] * 6000, pairs=True), draws(6000)).tokens
    assert_shares(chosen.sum(0)[~rows_of([40], pairs=True).special[0]])


@pytest.mark.parametrize("select", [Nothing(), *SELECTS])
def test_a_row_s_selection_does_not_depend_on_its_batch(select: Select, rows_of: Any) -> None:
    rows = rows_of([12, 40, 129, 7], pieces=3)
    index = np.array([5, 900, 17, 3])
    together = select(rows, Draws(seed=1, epoch=4, index=index))
    for row, length in enumerate(rows.length):
        alone = Rows(
            tokens=rows.tokens[row : row + 1, :length],
            length=rows.length[row : row + 1],
            special=rows.special[row : row + 1, :length],
            word_start=rows.word_start[row : row + 1, :length],
        )
        chosen = select(alone, Draws(seed=1, epoch=4, index=index[row : row + 1]))
        assert (chosen.tokens[0] == together.tokens[row, :length]).all()
        assert (chosen.start[0] == together.start[row, :length]).all()


def test_selecting_leaves_the_rows_as_they_were(rows_of: Any, draws: Any) -> None:
    rows = rows_of([12, 40], pieces=3)
    before = rows.word_start.copy(), rows.special.copy(), rows.tokens.copy()
    for select in SELECTS:
        select(rows, draws(2))
    assert all((now == was).all() for now, was in zip((rows.word_start, rows.special, rows.tokens), before, strict=True))


def test_a_row_without_ordinary_tokens_selects_nothing(rows_of: Any, draws: Any) -> None:
    rows = rows_of([2, 12])
    for select in SELECTS:
        assert not select(rows, draws(2)).tokens[0].any()


def test_a_unit_begins_where_its_n_gram_does(rows_of: Any, draws: Any) -> None:
    rows = rows_of([200] * 30, pieces=3, pairs=True)
    chosen = NGrams(longest=3)(rows, draws(30))
    assert not (chosen.start & ~chosen.tokens).any()
    for row in range(30):
        assert set(np.flatnonzero(chosen.start[row])) <= {word[0] for word in words_of(rows, row)}
    runs = Chosen.runs(chosen.tokens).start
    assert (chosen.start & runs == runs).all()
    assert chosen.start.sum() > runs.sum()  # two n-grams that touch stay two


@pytest.mark.parametrize("unit", [Unit.PHRASE, Unit.ENTITY])
def test_ernie_selects_the_lexicon_s_units_whole_and_words_elsewhere(unit: Unit, rows_of: Any, draws: Any) -> None:
    rows = rows_of([102] * 200)
    place = np.arange(102)
    starts = np.broadcast_to(
        (place >= 40) | (place % 4 == 1), rows.tokens.shape
    ).copy()  # units of four tokens 1-4 … 37-40, then single words
    rows.units[unit.value] = starts
    chosen = NGrams(longest=1, unit=unit)(rows, draws(200))
    in_units = chosen.tokens[:, 1:37].reshape(200, 9, 4)
    assert set(in_units.sum(2).ravel().tolist()) == {0, 4}
    assert (chosen.start[:, 1:37].reshape(200, 9, 4).sum(2) == in_units[..., 0]).all()
    assert (chosen.start[:, 41:] == chosen.tokens[:, 41:]).all()
    assert (chosen.tokens.sum(1) == 15).all()


def test_a_unit_without_a_lexicon_is_refused(rows_of: Any, draws: Any) -> None:
    with pytest.raises(PlumeError, match="give it a lexicon"):
        NGrams(unit=Unit.PHRASE)(rows_of([9]), draws(1))
