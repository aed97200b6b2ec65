"""What must be predicted, and where."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from plume.core.batch import Order
from plume.noise.corrupt import Keep, Mask
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet
from plume.noise.select import Nothing, Tokens
from plume.noise.target import InPlace, NextToken, PreviousToken


def test_in_place_asks_for_the_original_where_it_was_hidden(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([20, 40])
    aim = Noise(select=Tokens(), corrupt=Mask(mask=1.0, random=0.0), target=InPlace())(rows, draws(2), alphabet)
    assert ((aim.shown == alphabet.mask) == aim.where).all()
    assert (aim.what[aim.where] == rows.tokens[aim.where]).all()
    assert aim.where.sum(1).tolist() == [3, 6]
    assert aim.length.tolist() == [20, 40]


def test_next_token_asks_for_each_following_token_of_the_row(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([5, 9, 2])
    noise = Noise(select=Nothing(), corrupt=Keep(), target=NextToken(), order=Order.CAUSAL)
    aim = noise(rows, draws(3), alphabet)
    for row, length in enumerate([5, 9, 2]):
        text = rows.tokens[row, :length].tolist()
        asked = [(int(aim.shown[row, place]), int(aim.what[row, place])) for place in np.flatnonzero(aim.where[row])]
        assert asked == list(itertools.pairwise(text))
    assert aim.length.tolist() == [4, 8, 1]
    assert aim.shown.shape == (3, 8)


def test_previous_token_mirrors_next_token(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = replace(rows_of([5, 9, 2]), segment=np.tile(np.arange(9), (3, 1)))
    aim = Noise(target=PreviousToken(), order=Order.REVERSED)(rows, draws(3), alphabet)
    for row, length in enumerate([5, 9, 2]):
        text = rows.tokens[row, :length].tolist()
        asked = [(int(aim.shown[row, place]), int(aim.what[row, place])) for place in np.flatnonzero(aim.where[row])]
        assert asked == [(after, before) for before, after in itertools.pairwise(text)]
    assert aim.length.tolist() == [4, 8, 1]
    assert aim.segment is not None
    assert aim.segment[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
