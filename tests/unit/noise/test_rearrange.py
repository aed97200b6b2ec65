"""The text in another order: nothing lost, every order as likely, the special tokens around it in place."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.noise.padded import text_bounds
from plume.noise.rearrange import PermutedSentences, RotatedDocument
from plume.noise.rows import Rows

BEGIN, END, PAD = 2, 3, 0


def row_of(*sentences: list[int], width: int = 0) -> Rows:
    """begin, sentences, end, padding; every token says where it comes from in all of its bounds."""
    text = [token for sentence in sentences for token in sentence]
    length = len(text) + 2
    tokens = np.array([[BEGIN, *text, END, *[PAD] * (width - length)]])
    number = [at for at, sentence in enumerate(sentences) for _ in sentence]
    sentence = np.array([[-1, *number, -1, *[-1] * (width - length)]])
    odd = tokens % 2 == 1
    special = sentence < 0
    return Rows(
        tokens=tokens,
        length=np.array([length]),
        special=special,
        word_start=odd,
        segment=tokens * 10,
        sentence=sentence,
        units={"phrase": ~odd},
    )


def repeated(rows: Rows, times: int) -> Rows:
    arrays = {
        name: np.repeat(getattr(rows, name), times, axis=0) for name in ("tokens", "length", "special", "word_start", "segment", "sentence")
    }
    return replace(rows, **arrays, units={kind: np.repeat(starts, times, axis=0) for kind, starts in rows.units.items()})


def assert_bounds_moved_with(rows: Rows) -> None:
    assert rows.segment is not None
    ordinary = ~rows.special
    assert (rows.segment == rows.tokens * 10).all()
    assert (rows.word_start == (rows.tokens % 2 == 1)).all()
    assert (rows.units["phrase"] == (rows.tokens % 2 == 0)).all()
    assert (ordinary == (rows.tokens >= 10)).all()


def test_sentences_change_places_and_stay_whole(draws: Any) -> None:
    sentences = [[10, 11, 12], [20], [30, 31]]
    rows = repeated(row_of(*sentences, width=11), 6000)
    moved = PermutedSentences()(rows, draws(6000))
    orders = {tuple(itertools.chain(*order)): at for at, order in enumerate(itertools.permutations(sentences))}
    found = np.bincount([orders[tuple(row[1:7])] for row in moved.tokens.tolist()], minlength=6)
    assert found.min() > 900  # each of the 6 orders one time in 6
    assert (moved.tokens[:, 0] == BEGIN).all() and (moved.tokens[:, 7] == END).all() and (moved.tokens[:, 8:] == PAD).all()
    assert (moved.sentence == np.where(moved.special, -1, moved.tokens // 10 - 1)).all()
    assert_bounds_moved_with(moved)


def test_a_single_sentence_stays(draws: Any) -> None:
    rows = row_of([10, 11, 12], width=7)
    assert PermutedSentences()(rows, draws(1)).tokens.tolist() == rows.tokens.tolist()


def test_a_separator_between_sentences_goes_with_the_one_before_it(draws: Any) -> None:
    rows = row_of([10, 11], [20, 21])
    inner = replace(rows, tokens=np.insert(rows.tokens, 3, END, 1), length=rows.length + 1)
    inner = replace(
        inner,
        **{
            name: np.insert(getattr(rows, name), 3, value, 1)
            for name, value in (("special", True), ("word_start", True), ("segment", END * 10), ("sentence", -1))
        },
        units={},
    )
    seen = {tuple(PermutedSentences()(inner, draws(1, seed=seed)).tokens[0].tolist()) for seed in range(20)}
    assert seen == {(BEGIN, 10, 11, END, 20, 21, END), (BEGIN, 20, 21, 10, 11, END, END)}


def test_every_token_comes_first_as_often(draws: Any, assert_shares: Any) -> None:
    rows = repeated(row_of([10, 11, 12], [23, 24], width=9), 5000)
    moved = RotatedDocument()(rows, draws(5000))
    text = [10, 11, 12, 23, 24]
    turns = {tuple(text[at:] + text[:at]): at for at in range(5)}
    assert_shares(np.bincount([turns[tuple(row[1:6])] for row in moved.tokens.tolist()]))
    assert (moved.tokens[:, 0] == BEGIN).all() and (moved.tokens[:, 6] == END).all()
    assert_bounds_moved_with(moved)


@pytest.mark.parametrize("rearrange", [PermutedSentences(), RotatedDocument()])
def test_a_row_is_the_same_in_any_batch_and_width(rearrange: Any, draws: Any) -> None:
    one = row_of([10, 11, 12], [20], [30, 31])
    wide = repeated(row_of([10, 11, 12], [20], [30, 31], width=14), 3)
    alone, among = rearrange(one, draws(1)), rearrange(wide, draws(3))
    assert among.tokens[0, :8].tolist() == alone.tokens[0].tolist()
    assert (among.tokens[1:] != among.tokens[0]).any()


def test_rows_without_text_or_without_sentences(draws: Any) -> None:
    empty = Rows(tokens=np.array([[BEGIN, END]]), length=np.array([2]), special=np.ones((1, 2), bool), word_start=np.ones((1, 2), bool))
    assert [bound.tolist() for bound in text_bounds(empty)] == [[[0]], [[0]]]
    assert RotatedDocument()(empty, draws(1)).tokens.tolist() == [[BEGIN, END]]
    assert PermutedSentences()(replace(empty, sentence=np.full((1, 2), -1)), draws(1)).tokens.tolist() == [[BEGIN, END]]
    with pytest.raises(PlumeError, match="sentences"):
        PermutedSentences()(empty, draws(1))
