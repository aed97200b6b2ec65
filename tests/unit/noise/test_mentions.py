"""Mentions are hidden whole, at their own rate; and every question about them points at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.noise.mentions import InPlaceWithMentions, MaskMentions, Mentions
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.recipes.eae import EAE

MASK, SIZE = 4, 200
ALPHABET = Alphabet(size=SIZE, mask=MASK)
NOISE = Noise(select=Mentions(), corrupt=MaskMentions(), target=InPlaceWithMentions())


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Rows of 60 tokens between two special ones; mentions of one to five tokens, some beside each other."""
    generator = np.random.default_rng(5)
    tokens = generator.integers(10, SIZE, (400, 62))
    ids = np.full(tokens.shape, -1)
    for row in ids:
        place = 1
        while place < 52:
            size = int(generator.integers(1, 6))
            row[place : place + size] = generator.integers(0, 50)
            place += size + int(generator.integers(0, 8))
    special = np.zeros(tokens.shape, bool)
    special[:, [0, -1]] = True
    return Rows(tokens=tokens, length=np.full(400, 62), special=special, word_start=np.ones(tokens.shape, bool), named={"mentions": ids})


def spans(ids: np.ndarray) -> list[tuple[int, int, int]]:
    """First, last and number of each run, slowly."""
    found: list[tuple[int, int, int]] = []
    for place, number in enumerate(ids.tolist()):
        if number >= 0 and found and found[-1][1] == place - 1 and found[-1][2] == number:
            found[-1] = (found[-1][0], place, number)
        elif number >= 0:
            found.append((place, place, number))
    return found


def test_a_fifth_of_the_mentions_is_hidden_whole_and_of_the_rest_single_tokens(rows: Rows, draws: Any) -> None:
    chosen = NOISE.select(rows, draws(400))
    whole = [chosen.tokens[n, a : b + 1] for n, ids in enumerate(rows.named["mentions"]) for a, b, _ in spans(ids)]
    assert all(one.all() or not one.any() for one in whole)
    assert np.mean([one.all() for one in whole]) == pytest.approx(0.2, abs=0.015)
    outside = (rows.named["mentions"] < 0) & ~rows.special
    assert chosen.tokens[outside].mean() == pytest.approx(0.15, abs=0.01)
    assert not chosen.tokens[rows.special].any() and chosen.tokens.any(1).all()
    starts = sum(one.all() for one in whole) + (chosen.tokens & outside).sum()
    assert chosen.start.sum() == starts


def test_a_hidden_mention_shows_masks_only(rows: Rows, draws: Any) -> None:
    aim = NOISE(rows, draws(400), ALPHABET)
    inside = rows.named["mentions"] >= 0
    assert (aim.shown[aim.where & inside] == MASK).all()
    others = aim.shown[aim.where & ~inside]
    assert (others == MASK).mean() == pytest.approx(0.8, abs=0.03)
    assert (aim.shown[~aim.where] == rows.tokens[~aim.where]).all()


def test_questions_point_at_both_ends(rows: Rows, draws: Any) -> None:
    aim = NOISE(rows, draws(400), ALPHABET)
    every, hidden, tags = (aim.others[name] for name in InPlaceWithMentions.questions)
    for number, ids in enumerate(rows.named["mentions"]):
        found = spans(ids)
        assert np.flatnonzero(every.where[number]).tolist() == [first for first, _, _ in found]
        assert np.flatnonzero(hidden.where[number]).tolist() == [first for first, _, _ in found if aim.where[number, first]]
        for first, last, entity in found:
            assert every.context is not None and every.feature is not None
            assert (every.what[number, first], every.context[number, first, 0], every.feature[number, first]) == (
                entity,
                last,
                last - first + 1,
            )
            assert tags.what[number, first : last + 1].tolist() == [1] + [2] * (last - first)
    assert (tags.what[rows.named["mentions"] < 0] == 0).all() and (tags.where == ~rows.special).all()


def test_rows_without_mentions_are_refused() -> None:
    with pytest.raises(PlumeError, match=r"InPlaceWithMentions works on mentions, which the rows do not carry; set layout.carries"):
        replace(EAE, layout=FullSentences())
    with pytest.raises(PlumeError, match=r"entity_linking chooses among the entities of a memory, and the network has none"):
        replace(EAE, network=replace(EAE.transformer, between=()))
    with pytest.raises(PlumeError, match="share of mentions to hide"):
        Mentions(mentions=0.0)
