"""StructBERT: trigrams in a wrong order beside the masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.noise.corrupt import Mask
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet
from plume.noise.select import Tokens
from plume.noise.shuffled import Shuffled

STRUCTBERT = Noise(select=Tokens(), corrupt=Shuffled())


@pytest.mark.parametrize("length", [24, 128, 300])
def test_five_per_cent_of_the_tokens_stand_in_a_trigram(length: int, rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([length] * 3000)
    aim = STRUCTBERT(rows, draws(3000), alphabet)
    moved = aim.others["moved"].where
    assert abs(moved.sum() / (3000 * length) - 0.05) < 0.002
    assert (moved.sum(1) % 3 == 0).all()
    assert not (moved & (aim.where | rows.special)).any()
    assert (aim.where.sum(1) == round(0.15 * length)).all()


def test_trigrams_hold_the_same_tokens_in_an_even_order(
    rows_of: Any, draws: Any, alphabet: Alphabet, unique: Any, assert_shares: Any
) -> None:
    rows = unique(rows_of([34] * 6000))
    corrupt = Shuffled(share=0.05)
    stream = draws(6000)
    chosen = Tokens()(rows, stream)
    shown = corrupt(rows, chosen, stream, alphabet)
    assert shown.moved is not None
    single = np.flatnonzero(shown.moved.sum(1) == 3)  # one trigram in the row
    first = shown.moved[single].argmax(1)
    place = first[:, None] + np.arange(3)
    assert shown.moved[single[:, None], place].all()
    order = shown.tokens[single[:, None], place] - rows.tokens[single, first][:, None]
    assert (np.sort(order, axis=1) == [0, 1, 2]).all()
    assert_shares(np.unique(order @ [9, 3, 1], return_counts=True)[1])
    outside = ~(shown.moved | chosen.tokens)
    assert (shown.tokens[outside] == rows.tokens[outside]).all()


def test_masking_is_as_without(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([60] * 50)
    plain, both = (Noise(select=Tokens(), corrupt=corrupt)(rows, draws(50), alphabet) for corrupt in (Mask(), Shuffled()))
    assert (plain.shown[plain.where] == both.shown[plain.where]).all()
    assert (plain.where == both.where).all()
    assert not plain.others
    assert (both.others["moved"].what == rows.tokens).all()
    assert Shuffled().trivial_loss(7.0) == Mask().trivial_loss(7.0)


def test_rows_with_no_room_for_a_trigram(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([2, 4, 4] * 200)
    shown = Shuffled(share=1.0)(rows, Tokens(rate=0.3)(rows, draws(600)), draws(600), alphabet)
    assert shown.moved is not None
    assert not shown.moved.any()


def test_a_row_by_itself(rows_of: Any, same_alone: Any) -> None:
    same_alone(Noise(select=Tokens(), corrupt=Shuffled(share=0.2)), rows_of([12, 40, 129, 7]))


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"size": 1}])
def test_numbers_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlumeError, match="at least two"):
        Shuffled(**wrong)
