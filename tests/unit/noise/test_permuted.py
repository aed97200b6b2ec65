"""XLNet and MPNet: what is predicted, in which order, and who sees what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Keep, Mask
from plume.noise.infilling import OneMask
from plume.noise.noise import Noise
from plume.noise.permuted import MaskedPermuted, NGramsInContext, Permuted
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Tokens, WholeWords

XLNET = Noise(select=NGramsInContext(), target=Permuted(blocks=2), order=Order.RANKED)
MPNET = Noise(select=WholeWords(), corrupt=Mask(), target=MaskedPermuted(), order=Order.RANKED)


def test_one_token_in_six(rows_of: Any, draws: Any) -> None:
    rows = rows_of([512, 128, 60, 8, 3, 2] * 20, pieces=2, pairs=True)
    chosen = NGramsInContext()(rows, draws(120)).tokens
    assert chosen.sum(1).tolist() == [85, 21, 10, 1, 0, 0] * 20
    assert not (chosen & rows.special).any()


def test_one_token_in_six_everywhere_in_the_row(rows_of: Any, draws: Any) -> None:
    """A run of n stands in a context of 6 n: away from the row's ends every stretch has its sixth."""
    chosen = NGramsInContext()(rows_of([512] * 4000), draws(4000)).tokens
    stretches = chosen[:, 16:496].mean(0).reshape(10, 48).mean(1)
    assert (abs(stretches - 1 / 6) < 0.012).all()


def test_run_lengths_follow_one_over_n(rows_of: Any, draws: Any) -> None:
    """Runs of two tokens and more, since single tokens also fill what runs leave open; away from the row's end, which long ones must not reach."""
    chosen = NGramsInContext()(rows_of([512] * 2000), draws(2000))
    row, first = np.nonzero(chosen.start[:, :400])
    ends = np.stack([~chosen.tokens[row, first + step] | chosen.start[row, first + step] for step in range(1, 6)], axis=1)
    counts = np.bincount(ends.argmax(1) + 1, minlength=6)[2:]
    odds = 1 / np.arange(2, 6)
    assert (abs(counts / counts.sum() - odds / odds.sum()) < 0.01).all()


def runs_by_loop(rows: Rows, row: int, draws: Draws) -> list[tuple[int, int]]:
    """_sample_mask of the original with its own test of `seg[beg]`, so n tokens; special tokens do not count."""
    width, length = rows.tokens.shape[1], int(rows.length[row])
    n_lot, context_lot = draws.uniform(width)[0], draws.uniform(width)[0]
    share = 1 / np.arange(1, 6)
    goal = min(max(1, round(length / 6)), int((~rows.special[row]).sum()))
    at, predicted, turn, runs = 0, 0, 0, []
    while at < length and predicted < goal:
        n = int(np.searchsorted(np.cumsum(share / share.sum())[:-1], n_lot[turn], side="right")) + 1
        n = min(n, goal - predicted)
        left = int(context_lot[turn] * n * 6)
        turn += 1
        begin = at + left
        while begin < length and (rows.special[row, begin] or not rows.word_start[row, begin]):
            begin += 1
        if begin + n >= length:
            break
        runs.append((begin, begin + n))
        predicted += int((~rows.special[row, begin : begin + n]).sum())
        at = begin + n + n * 6 - left
    return runs


def test_runs_are_the_authors_loop(rows_of: Any) -> None:
    rows = rows_of([8, 30, 61, 128, 200] * 10, pieces=3, pairs=True)
    index = np.arange(50) + 9
    chosen = NGramsInContext()(rows, Draws(seed=3, epoch=0, index=index))
    for row in range(50):
        runs = runs_by_loop(rows, row, Draws(seed=3, epoch=0, index=index[row : row + 1]))
        covered = {place for begin, end in runs for place in range(begin, end) if not rows.special[row, place]}
        found = set(np.flatnonzero(chosen.tokens[row]))
        assert covered <= found
        assert {begin for begin, _ in runs} <= set(np.flatnonzero(chosen.start[row]))
        assert chosen.start[row, sorted(found - covered)].all()  # the rest are single tokens
        assert len(found) == min(max(1, round(int(rows.length[row]) / 6)), int((~rows.special[row]).sum()))


def test_xlnet_s_mask(rows_of: Any, draws: Any, alphabet: Alphabet, sees: Any) -> None:
    """Against the rule of _local_perm, half by half: the second sees all of the first, the first nothing of the second."""
    rows = rows_of([40, 41, 17, 24], pairs=True)
    aim = XLNET(rows, draws(4), alphabet)
    assert aim.rank is not None
    for row, length in enumerate(rows.length.tolist()):
        special, target = rows.special[row, :length], aim.where[row, :length]
        half = -(-length // 2)
        allowed, allowed_query = np.zeros((length, length), bool), np.zeros((length, length), bool)
        allowed[half:, :half] = allowed_query[half:, :half] = True
        for part in (slice(0, half), slice(half, length)):
            functional, predicted = special[part], target[part]
            context = ~functional & ~predicted
            index = np.where(context, -1, np.argsort(np.argsort(aim.rank[row, :length][part])))
            own = np.where(predicted, index, index + 1)
            attend = ~((own[:, None] <= index[None, :]) & ~context[None, :])
            allowed_query[part, part] = attend
            allowed[part, part] = attend | np.eye(len(index), dtype=bool)
        assert (sees(aim, row) == allowed).all()
        assert (sees(aim, row, strict=True)[target] == allowed_query[target]).all()


def test_the_order_is_an_even_permutation(rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any) -> None:
    rows = rows_of([10] * 12000)
    chosen = np.zeros((12000, 10), bool)
    chosen[:, [2, 5, 7]] = True
    for target in (Permuted(), MaskedPermuted()):
        aim = target(rows, Chosen.singly(chosen), Keep()(rows, Chosen.singly(chosen), draws(12000), alphabet), draws(12000), alphabet)
        assert aim.rank is not None
        order = np.argsort(aim.rank[:, [2, 5, 7]], axis=1)
        assert_shares(np.unique(order @ [9, 3, 1], return_counts=True)[1])


def test_nothing_leaks(rows_of: Any, draws: Any, alphabet: Alphabet, unique: Any, assert_no_leak: Any) -> None:
    rows = unique(rows_of([60, 40, 128], pieces=3, pairs=True))
    assert_no_leak(XLNET(rows, draws(3), alphabet), strict=True)
    assert_no_leak(replace(XLNET, target=Permuted())(rows, draws(3), alphabet), strict=True)
    assert_no_leak(replace(MPNET, corrupt=Mask(mask=1.0, random=0.0))(rows, draws(3), alphabet), strict=True)


PICTURE = """
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 0 1 1 1 0 0
    0 0 0 0 0 0 1 1 1 0
    0 0 0 0 0 0 0 1 1 1
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 1 1 1 0 0 0
"""
QUERIES = """
    0 0 0 0 1 1 1 0 0 0
    0 0 0 0 0 1 1 1 0 0
    0 0 0 0 0 0 1 1 1 0
"""


def hidden(picture: str) -> np.ndarray:
    return np.array([[int(word) for word in line.split()] for line in picture.strip().splitlines()], bool)


def test_mpnet_s_published_mask(rows_of: Any, draws: Any, alphabet: Alphabet, sees: Any) -> None:
    """Seven tokens, three of them predicted; sorted as the authors sort them (context, predicted in their order, their copies): 1 is hidden."""
    rows = rows_of([7] * 50)
    chosen = Chosen.singly(np.broadcast_to(np.isin(np.arange(7), [1, 3, 4]), rows.tokens.shape))
    aim = MaskedPermuted()(rows, chosen, Keep()(rows, chosen, draws(50), alphabet), draws(50), alphabet)
    assert aim.rank is not None
    assert aim.until is not None
    for row in range(50):
        predicted = np.array([1, 3, 4])
        order = np.argsort(aim.rank[row, predicted])
        assert (aim.rank[row, predicted[order]] == [1, 2, 3]).all()
        turn = np.concatenate([[0, 2, 5, 6], predicted[order], 7 + order])
        assert (~sees(aim, row)[np.ix_(turn, turn)] == hidden(PICTURE)).all()
        assert (~sees(aim, row, strict=True)[np.ix_(predicted[order], turn)] == hidden(QUERIES)).all()


def test_mpnet_s_copies(rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any) -> None:
    """80/10/10 on the copies, at the positions of what they stand for; the text itself is shown as it is."""
    rows = replace(rows_of([100, 64] * 1500, pieces=2), segment=np.tile(np.arange(100) // 50, (3000, 1)))
    aim = MPNET(rows, draws(3000), alphabet)
    count = aim.where.sum(1)
    assert (aim.length == rows.length + count).all()
    fate = np.zeros(3, int)
    assert aim.position is not None
    assert aim.segment is not None
    for row in range(3000):
        length = rows.length[row]
        places = np.flatnonzero(aim.where[row])
        assert (aim.shown[row, :length] == rows.tokens[row, :length]).all()
        assert (aim.position[row, :length] == np.arange(length)).all()
        assert (aim.position[row, length : aim.length[row]] == places).all()
        assert (aim.segment[row, length : aim.length[row]] == places // 50).all()
        copies, text = aim.shown[row, length : aim.length[row]], rows.tokens[row, places]
        fate += [(copies == alphabet.mask).sum(), ((copies != alphabet.mask) & (copies != text)).sum(), (copies == text).sum()]
        assert aim.query is not None
        assert (aim.query[row, places] == copies).all()
        assert (aim.shown[row, aim.length[row] :] == alphabet.pad).all()
    assert_shares(fate, (0.8 + 0.1 / 50, 0.1 - 0.2 / 50, 0.1 + 0.1 / 50))


@pytest.mark.parametrize("length", [8, 31, 128, 512])
def test_mpnet_s_raw_length_fills_the_input(length: int, rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    noise = replace(MPNET, select=Tokens())
    raw = noise.raw(length)
    assert length - 2 <= noise(rows_of([raw] * 4), draws(4), alphabet).shown.shape[1] <= length


@pytest.mark.parametrize("noise", [XLNET, MPNET, replace(XLNET, target=Permuted(blocks=3))])
def test_a_row_by_itself(noise: Noise, rows_of: Any, same_alone: Any) -> None:
    same_alone(noise, rows_of([12, 40, 129, 7], pieces=3))


def test_what_cannot_work_is_refused(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    with pytest.raises(PlumeError, match="leaves every token its place"):
        replace(MPNET, select=WholeWords(rate=0.5), corrupt=OneMask())(rows_of([40], pieces=3), draws(1), alphabet)
    with pytest.raises(PlumeError, match="at least one block"):
        Permuted(blocks=0)
    with pytest.raises(PlumeError, match="at least 1 and 2"):
        NGramsInContext(context=1)
