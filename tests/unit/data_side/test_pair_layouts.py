"""Both sides of a pair in a row, and rows of one side."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.corpus import CorpusKind
from plume.data.layouts.pairs import Direction, Fit, OneSide, Translations


def pairs_store(lengths: list[tuple[int, int]], languages: tuple[int, int] = (1, 0)) -> Any:
    """Each token's id is its own place; a separator after each side."""
    sizes = np.array(lengths).ravel()
    end = np.cumsum(sizes + 1) - 1
    return SimpleNamespace(
        tokens=np.arange(int(end[-1]) + 1),
        sentence_start=end - sizes,
        sentence_end=end,
        sentence_language=np.tile(languages, len(lengths)),
        document_start=np.arange(0, len(sizes) + 1, 2),
    )


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng([seed, 0])


LENGTHS = [(5, 6), (3, 9), (10, 10), (1, 2)]


def test_sides_in_their_order_with_their_languages() -> None:
    store = pairs_store(LENGTHS)
    plan = Translations().plan(store, room=100, generator=generator())
    assert (plan.end - plan.start).tolist() == [list(pair) for pair in LENGTHS]
    assert plan.start.tolist() == store.sentence_start.reshape(-1, 2).tolist()
    assert plan.language is not None
    assert plan.language.tolist() == [[1, 0]] * 4


@pytest.mark.parametrize(
    ("fit", "room", "kept"),
    [(Fit.TOGETHER, 12, [0, 1, 3]), (Fit.TOGETHER, 11, [0, 3]), (Fit.APART, 9, [0, 1, 3]), (Fit.APART, 10, [0, 1, 2, 3])],
)
def test_pairs_that_do_not_fit_are_left_out(fit: Fit, room: int, kept: list[int]) -> None:
    layout, store = Translations(fit=fit), pairs_store(LENGTHS)
    plan = layout.plan(store, room=room, generator=generator())
    assert (plan.end - plan.start).tolist() == [list(LENGTHS[number]) for number in kept]
    note = layout.check(store, room=room)
    assert note is None if len(kept) == 4 else note is not None and note.startswith(f"{4 - len(kept)} of 4 pairs ({1 - len(kept) / 4:.0%})")


def test_one_long_pair_in_a_hundred_is_not_worth_a_word() -> None:
    assert Translations().check(pairs_store([(2, 2)] * 99 + [(50, 50)]), room=20) is None


def test_nothing_fits() -> None:
    store = pairs_store([(9, 5), (6, 6)])
    with pytest.raises(PlumeError, match="None of 2 pairs has room in 8 tokens; the shortest takes 12"):
        Translations().check(store, room=8)
    plan = Translations().plan(store, room=8, generator=generator())  # held-out text: cut, not lost
    assert (plan.end - plan.start).tolist() == [[4, 4], [4, 4]]
    apart = Translations(fit=Fit.APART).plan(store, room=4, generator=generator())
    assert (apart.end - apart.start).tolist() == [[4, 4], [4, 4]]


def test_directions(assert_shares: Any) -> None:
    store = pairs_store([(2, 3)] * 1000)
    forward = Translations().plan(store, room=9, generator=generator())
    backward = Translations(direction=Direction.BACKWARD).plan(store, room=9, generator=generator())
    assert (backward.start == forward.start[:, ::-1]).all()
    assert backward.language is not None
    assert (backward.language == [0, 1]).all()
    both = Translations(direction=Direction.BOTH).plan(store, room=9, generator=generator())
    assert (both.end == np.concatenate([forward.end, backward.end])).all()
    either = Translations(direction=Direction.EITHER).plan(store, room=9, generator=generator(5))
    turned = (either.end - either.start)[:, 0] == 3
    assert either.language is not None
    assert (either.language[:, 0] == np.where(turned, 0, 1)).all()
    assert_shares([turned.sum(), (~turned).sum()])


@pytest.mark.parametrize("room", [4, 10, 13, 100])
def test_rows_of_one_side_hold_each_sentence_once_with_separators_between(room: int) -> None:
    source = np.random.default_rng(3)
    store = pairs_store([tuple(pair) for pair in source.integers(1, 8, (50, 2)).tolist()])
    plan = OneSide().plan(store, room=room, generator=generator())
    assert plan.language is not None
    assert (plan.language == plan.language[:, :1]).all()
    language_of = dict(zip(store.sentence_start.tolist(), store.sentence_language.tolist(), strict=True))
    separators = set(store.sentence_end.tolist())
    seen = []
    rows = []
    for begin, stop, language in zip(plan.start, plan.end, plan.language[:, 0], strict=True):
        used = [(a, b) for a, b in zip(begin.tolist(), stop.tolist(), strict=True) if b > a]
        assert all(language_of[a] == language for a, _ in used)
        row = [place for a, b in used for place in range(a, b)]
        assert len(row) <= room
        assert row[-1] not in separators
        assert sum(place in separators for place in row) == len(used) - 1
        seen += [place for place in row if place not in separators]
        rows.append((int(language), used))
    lost = sum(
        max(0, b - a - room) for a, b in zip(store.sentence_start, store.sentence_end, strict=True)
    )  # ends of sentences over the room
    assert len(seen) == len(set(seen)) == len(store.tokens) - len(separators) - lost
    sizes = dict(zip(store.sentence_start.tolist(), (store.sentence_end - store.sentence_start).tolist(), strict=True))
    for (language, used), (following, after) in itertools.pairwise(rows):  # the next sentence would not have fitted
        if language == following:
            assert sum(b - a for a, b in used) + 1 + sizes[after[0][0]] > room


def test_rows_of_one_side_of_plain_text(store_of: Any) -> None:
    layout = OneSide(made_from=CorpusKind.TEXT)
    plan = layout.plan(store_of([[5, 5], [5], [5]]), room=12, generator=generator())
    assert (plan.start.tolist(), plan.end.tolist()) == ([[0], [11]], [[10], [22]])
    assert plan.language is not None
    assert not plan.language.any()
    assert (layout.corpus, OneSide().corpus, Translations().corpus) == (CorpusKind.TEXT, CorpusKind.PAIRS, CorpusKind.PAIRS)
