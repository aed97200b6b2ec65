"""GLM: blanks, and the spans that fill them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.noise.appended import AppendedSpans
from plume.noise.blanks import LongBlank, PoissonBlanks, SentenceBlanks
from plume.noise.corrupt import Mask
from plume.noise.infilling import OneMask
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Select

GLM = Noise(select=PoissonBlanks(), corrupt=OneMask(), target=AppendedSpans(), order=Order.RANKED)
START, END = 900, 901


@pytest.fixture
def letters(alphabet: Alphabet) -> Alphabet:
    return replace(alphabet, start=START, end=END)


def sentences(rows: Rows, size: int) -> Rows:
    """The same rows in sentences of so many tokens."""
    return replace(rows, sentence=np.where(rows.special, -1, (np.arange(rows.tokens.shape[1]) - 1) // size))


def lengths(chosen: Chosen) -> np.ndarray:
    return np.bincount(np.cumsum(chosen.start[chosen.tokens]) - 1)


def test_lengths_are_poisson_without_zero(rows_of: Any, draws: Any) -> None:
    chosen = PoissonBlanks()(rows_of([2000] * 400), draws(400))
    size = lengths(chosen)
    assert abs(size.mean() - 3 / (1 - np.exp(-3))) < 0.03
    share = np.exp(-3) * np.cumprod(3 / np.arange(1, 13)) / (1 - np.exp(-3))
    assert (abs(np.bincount(size, minlength=13)[1:13] / len(size) - share) < 0.008).all()
    over = chosen.tokens.sum(1) - 300
    assert over.min() >= 0
    assert 0.7 < over.mean() < 1.7  # the last span is not cut: half of E[n²] / E[n], less a half


def test_a_token_stands_between_blanks(rows_of: Any, draws: Any) -> None:
    rows = rows_of([7, 12, 40, 128, 300] * 100, pairs=True)
    for select in (PoissonBlanks(), PoissonBlanks(rate=0.6)):
        chosen = select(rows, draws(500))
        assert not (chosen.tokens & rows.special).any()
        assert (chosen.start == Chosen.runs(chosen.tokens).start).all()
        assert (chosen.tokens.sum(1) >= np.minimum(np.maximum((rows.length * select.rate).astype(int), 1), (rows.length - 3) // 2)).all()


def test_one_blank_lies_anywhere(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    chosen = PoissonBlanks(rate=0.01)(rows_of([22] * 20000), draws(20000))
    assert (chosen.start.sum(1) == 1).all()
    size, first = chosen.tokens.sum(1), chosen.start.argmax(1)
    for length in (1, 3, 5):
        assert_shares(np.bincount(first[size == length])[1:])
        assert first[size == length].max() == 21 - length


def test_blanks_are_spread_as_the_authors_place_them(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    """Two spans of one token among eight: sorted pairs of six gaps, drawn with replacement, so equal gaps are half as likely."""
    rows = rows_of([10] * 12000)
    chosen = PoissonBlanks(rate=0.2, mean=1e-6)(rows, draws(12000))
    assert (chosen.tokens.sum(1) == 2).all()
    place = np.nonzero(chosen.tokens)[1].reshape(-1, 2) - 1
    gap = place - [0, 2]
    counts = np.zeros((6, 6))
    np.add.at(counts, (gap[:, 0], gap[:, 1]), 1)
    share = np.triu(np.full((6, 6), 2 / 36)) - np.diag([1 / 36] * 6)
    assert_shares(counts.ravel(), share.ravel())


def test_no_place_has_longer_blanks(rows_of: Any, draws: Any) -> None:
    """The span drawn last, which is the longest on average, stands anywhere among the others."""
    chosen = PoissonBlanks()(rows_of([62] * 20000), draws(20000))
    four = chosen.start.sum(1) == 4
    size = lengths(Chosen(tokens=chosen.tokens[four], start=chosen.start[four])).reshape(-1, 4)
    assert len(size) > 2000
    assert np.ptp(size.mean(0)) < 0.15


def test_document_level(rows_of: Any, draws: Any) -> None:
    chosen = LongBlank()(rows_of([102] * 8000), draws(8000))
    size = chosen.tokens.sum(1)
    assert (chosen.start.sum(1) == 1).all()
    assert (size.min(), size.max()) == (50, 100)
    assert abs(size.mean() - 75) < 0.6
    at_end = chosen.tokens[:, 100]
    assert abs(at_end[size < 60].mean() - (0.5 + 0.5 / 46)) < 0.04
    loose = (size < 60) & ~at_end
    assert abs(chosen.start[loose].argmax(1).mean() - 23.6) < 1.5


def test_sentence_level(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    rows = sentences(rows_of([102] * 4000), 10)
    chosen = SentenceBlanks()(rows, draws(4000))
    assert (chosen.tokens.sum(1) == 20).all()  # 15 tokens asked for, in sentences of ten
    assert (chosen.start.sum(1) == 2).all()  # also where two neighbours were chosen
    assert set(chosen.tokens[:, 1:101].reshape(-1, 10).sum(1).tolist()) == {0, 10}
    assert_shares(chosen.start.sum(0)[1:101:10])
    with pytest.raises(PlumeError, match="know their sentences"):
        SentenceBlanks()(rows_of([9]), draws(1))
    assert replace(GLM, select=SentenceBlanks()).needs_sentences
    assert not GLM.needs_sentences


def test_the_paper_s_example(letters: Alphabet, draws: Any) -> None:
    """Figure 2: x3 and x5 x6 are blanks; in the order drawn there B begins with the second. Positions there count from 1."""
    text = np.array([[11, 12, 13, 14, 15, 16]])
    rows = Rows(tokens=text, length=np.array([6]), special=np.zeros((1, 6), bool), word_start=np.ones((1, 6), bool))
    chosen = Chosen(tokens=np.array([[0, 0, 1, 0, 1, 1]], bool), start=np.array([[0, 0, 1, 0, 1, 0]], bool))
    seen = set()
    for seed in range(20):
        aim = AppendedSpans()(rows, chosen, OneMask()(rows, chosen, draws(1), letters), draws(1, seed=seed), letters)
        assert aim.position is not None
        assert aim.within is not None
        assert aim.rank is not None
        assert aim.shown[0, :5].tolist() == [11, 12, letters.mask, 14, letters.mask]
        assert aim.rank[0].tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]
        assert aim.where[0].tolist() == [False] * 5 + [True] * 5
        seen.add(tuple(aim.shown[0, 5:].tolist()))
        if aim.shown[0, 6] == 15:
            assert aim.shown[0, 5:].tolist() == [START, 15, 16, START, 13]
            assert aim.what[0, 5:].tolist() == [15, 16, END, 13, END]
            assert (aim.position[0] + 1).tolist() == [1, 2, 3, 4, 5, 5, 5, 5, 3, 3]
            assert aim.within[0].tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 1, 2]
        else:
            assert aim.shown[0, 5:].tolist() == [START, 13, START, 15, 16]
            assert aim.what[0, 5:].tolist() == [13, END, 15, 16, END]
            assert (aim.position[0] + 1).tolist() == [1, 2, 3, 4, 5, 3, 3, 5, 5, 5]
            assert aim.within[0].tolist() == [0, 0, 0, 0, 0, 1, 2, 1, 2, 3]
    assert len(seen) == 2


def test_spans_come_in_any_order(rows_of: Any, letters: Alphabet, draws: Any, assert_shares: Any) -> None:
    rows = rows_of([10] * 6000)
    tokens = np.broadcast_to(np.isin(np.arange(10), [2, 4, 5, 7]), rows.tokens.shape)
    chosen = Chosen.runs(tokens)
    aim = AppendedSpans()(rows, chosen, OneMask()(rows, chosen, draws(6000), letters), draws(6000), letters)
    assert aim.position is not None
    starts = np.nonzero(aim.shown == START)
    order = aim.position[starts].reshape(6000, 3)
    assert_shares(np.unique(order @ [81, 9, 1], return_counts=True)[1])


SELECTS = [PoissonBlanks(), PoissonBlanks(rate=0.5), LongBlank(), SentenceBlanks(rate=0.4)]


@pytest.mark.parametrize("select", SELECTS)
def test_every_blank_can_be_filled_again(select: Select, rows_of: Any, letters: Alphabet, unique: Any, draws: Any) -> None:
    """Put each span of part B in the place of its mask: the text is back."""
    rows = sentences(unique(rows_of([7, 40, 129, 64] * 5, pairs=True)), 9)
    aim = replace(GLM, select=select)(rows, draws(20), letters)
    assert aim.position is not None
    assert aim.within is not None
    for row in range(20):
        text: list[Any] = aim.shown[row, : int(aim.length[row])].tolist()
        cut = int(aim.where[row].argmax())
        part, length = text[:cut], int(aim.length[row])
        place = cut
        while place < length:
            assert aim.shown[row, place] == START
            stop = place + int((aim.what[row, place:length] == END).argmax())
            assert (aim.shown[row, place + 1 : stop + 1] == aim.what[row, place:stop]).all()
            assert (aim.within[row, place : stop + 1] == np.arange(1, stop - place + 2)).all()
            assert len(set(aim.position[row, place : stop + 1].tolist())) == 1
            mask = int(aim.position[row, place])
            assert part[mask] == letters.mask
            part[mask] = aim.what[row, place:stop].tolist()
            place = stop + 1
        whole = [token for item in part for token in (item if isinstance(item, list) else [item])]
        assert whole == rows.tokens[row, : int(rows.length[row])].tolist()


@pytest.mark.parametrize("select", SELECTS)
def test_nothing_leaks(select: Select, rows_of: Any, letters: Alphabet, unique: Any, draws: Any, assert_no_leak: Any) -> None:
    rows = sentences(unique(rows_of([60, 40, 128], pairs=True)), 9)
    aim = replace(GLM, select=select)(rows, draws(3), letters)
    assert_no_leak(replace(aim, where=aim.where & (aim.what != END)), strict=False)


@pytest.mark.parametrize("select", SELECTS)
def test_a_row_by_itself(select: Select, rows_of: Any, same_alone: Any) -> None:
    rows = sentences(rows_of([12, 40, 129, 7], pairs=True), 5)
    same_alone(replace(GLM, select=select), replace(rows, segment=np.tile(np.arange(129) // 20, (4, 1))))


def test_segments_follow_the_tokens(rows_of: Any, letters: Alphabet, unique: Any, draws: Any) -> None:
    rows = unique(rows_of([60] * 10, pairs=True))
    aim = GLM(replace(rows, segment=np.tile(np.arange(60) // 30, (10, 1))), draws(10), letters)
    assert aim.segment is not None
    text = aim.shown >= 1000
    assert (aim.segment[text] == (aim.shown[text] - 1000) // 30).all()


def test_what_cannot_work_is_refused(rows_of: Any, alphabet: Alphabet, letters: Alphabet, draws: Any) -> None:
    with pytest.raises(PlumeError, match="names none"):
        GLM(rows_of([40]), draws(1), alphabet)
    with pytest.raises(PlumeError, match="one mask for each span"):
        replace(GLM, corrupt=Mask())(rows_of([40]), draws(1), letters)
    for wrong in (lambda: PoissonBlanks(rate=1.0), lambda: LongBlank(least=0.0), lambda: SentenceBlanks(rate=0.0)):
        with pytest.raises(PlumeError):
            wrong()
