"""Windows, and the best answer over them, held against a search through every span."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.core.errors import PlumeError
from plume.tuning.rows import windows as answers
from plume.tuning.rows.windows import BESIDE, Answered, best_answers, drawn_windows, owner_window, windows


@given(length=st.integers(0, 60), room=st.integers(1, 20), data=st.data())
def test_windows_cover_the_text_and_overlap_by_the_stride(length, room, data):
    stride = data.draw(st.integers(0, room - 1))
    bounds = windows(length, room=room, stride=stride)
    assert bounds[0][0] == 0 and bounds[-1][1] == length
    assert all(end - start == room for start, end in bounds[:-1]) and bounds[-1][1] - bounds[-1][0] <= room
    assert all(before[1] - after[0] == stride for before, after in itertools.pairwise(bounds))
    assert len(bounds) == 1 or bounds[-1][1] - bounds[-1][0] > stride  # none that only repeats


def test_windows_by_hand():
    assert windows(10, room=6, stride=2) == [(0, 6), (4, 10)]
    assert windows(6, room=6, stride=2) == [(0, 6)]
    assert windows(0, room=6, stride=2) == [(0, 0)]
    with pytest.raises(PlumeError, match="cannot overlap by 6"):
        windows(10, room=6, stride=6)


def test_an_epoch_reads_every_window_with_an_answer_and_few_others():
    example = np.repeat([0, 1, 2, 3], [40, 1, 9, 2])  # of a long text, of two short ones, and of one between them that has no answer
    holds = np.isin(np.arange(52), [17, 18, 40, 50])
    epochs = [drawn_windows(example, holds, np.random.default_rng(epoch)) for epoch in range(60)]
    for drawn in epochs:
        assert np.isin(np.flatnonzero(holds), drawn).all() and (np.diff(drawn) > 0).all()
        assert np.bincount(example[drawn]).tolist() == [2 + 2 * BESIDE, 1, BESIDE, 2]
    assert np.unique(np.concatenate(epochs)).tolist() == list(range(52))  # in the end each was read
    assert len(drawn_windows(example[:0], holds[:0], np.random.default_rng(0))) == 0


def test_owner_window_by_hand():
    # Tokens 2 to 4 are in both. Min(left, right) in (0, 5): 2 1 0; in (2, 9): 0 1 2; a hundredth of the lengths, 5 and 7, decides token 3.
    assert owner_window([(0, 5), (2, 9)], 9).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    # equal lengths: token 3 has 1 on its poorer side in both, and stays with the first
    assert owner_window([(0, 5), (2, 7)], 7).tolist() == [0, 0, 0, 0, 1, 1, 1]
    # the last, short window: token 8 has 1 left in (4, 10), 0 in (8, 11); token 9 has 0, 1
    assert owner_window(windows(11, room=6, stride=2), 11).tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert owner_window([(1, 3)], 4).tolist() == [-1, 0, 0, -1]


def by_search(case: dict[str, Any], *, threshold: float = 0.0) -> list[Answered]:
    """Every span of every window, one after the other."""
    answers = []
    for example in range(int(case["window_example"].max()) + 1):
        spans: dict[tuple[int, int], float] = {}
        nulls = []
        for window in np.flatnonzero(case["window_example"] == example):
            start, end, allowed = case["start"][window], case["end"][window], case["allowed"][window]
            if (null := case["null"][window]) >= 0:
                nulls.append(start[null] + end[null])
            for first in range(len(start)):
                for last in range(first, min(first + case["longest"], len(start))):
                    if allowed[first] and allowed[last]:
                        place = int(case["character_start"][window, first]), int(case["character_end"][window, last])
                        spans[place] = max(spans.get(place, -math.inf), start[first] + end[last])
        best = sorted(spans.items(), key=lambda item: -item[1])[: case["top"]]
        nothing = min(nulls, default=-math.inf)
        logits = [value for _, value in best] + [nothing]
        highest = max(logits)
        chances = [math.exp(value - highest) for value in logits] if highest > -math.inf else [0.0] * len(logits)
        chances = [chance / (sum(chances) or 1) for chance in chances]
        span = best[0][1] if best else -math.inf
        none = not best or nothing > span + threshold
        place, score = ((0, 0), chances[-1]) if none else (best[0][0], chances[0])
        answers.append(Answered(start=place[0], end=place[1], score=score, no_answer=nothing, span=span))
    return answers


def a_case(seed: int, *, count: int, width: int, longest: int, top: int) -> dict[str, Any]:
    """Windows over texts of which neighbours overlap; every example has one. All sums of logits differ."""
    draws = np.random.default_rng(seed)
    example = draws.permutation(np.concatenate([np.arange(count), draws.integers(0, count, draws.integers(0, 4))]))
    shape = len(example), width
    offset = draws.integers(0, 4, (len(example), 1))
    character = (np.arange(width) + offset) * 3
    return {
        "start": draws.normal(size=shape) * 3,
        "end": draws.normal(size=shape) * 3,
        "allowed": draws.random(shape) < draws.random(),
        "window_example": example,
        "null": np.where(draws.random(len(example)) < 0.6, draws.integers(0, width, len(example)), -1),
        "character_start": character,
        "character_end": character + 2,
        "longest": longest,
        "top": top,
    }


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 4),
    width=st.integers(1, 12),
    longest=st.integers(1, 14),
    top=st.integers(1, 25),
    threshold=st.sampled_from([0.0, -2.0, 3.0, math.inf, -math.inf]),
    together=st.sampled_from([1, 100, 1 << 21]),
)
def test_best_answers_are_those_of_a_search(seed, count, width, longest, top, threshold, together):
    case = a_case(seed, count=count, width=width, longest=longest, top=top)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "LARGEST", together)
        found = best_answers(**case, threshold=threshold)
    expected = by_search(case, threshold=threshold)
    assert [(one.start, one.end) for one in found] == [(one.start, one.end) for one in expected]
    for name in ("score", "no_answer", "span"):
        assert [getattr(one, name) for one in found] == pytest.approx([getattr(one, name) for one in expected], abs=1e-12)


@pytest.mark.parametrize("width", range(1, 11))
def test_the_maximum_ahead(width):
    values = np.random.default_rng(width).normal(size=(3, 10))
    expected = [[row[place : place + width].max() for place in range(10)] for row in values]
    assert answers._maximum_ahead(values, width).tolist() == expected


def a_row(**changed: Any) -> dict[str, Any]:
    """Two windows of one text: tokens 1 to 4 of the first are those of characters 0, 2, 4, 6; the second begins at character 4."""
    first, second = np.array([0, 0, 2, 4, 6]), np.array([0, 4, 6, 8, 10])
    case = {
        "start": np.zeros((2, 5), np.float32),
        "end": np.zeros((2, 5), np.float32),
        "allowed": np.array([[False, True, True, True, True]] * 2),
        "window_example": np.array([0, 0]),
        "null": np.array([0, 0]),
        "character_start": np.stack([first, second]),
        "character_end": np.stack([first, second]) + 2,
        "longest": 2,
    }
    return case | changed


def test_the_best_window_answers():
    start, end = np.zeros((2, 5), np.float32), np.zeros((2, 5), np.float32)
    start[1, 2], end[1, 3], end[1, 1] = 5, 4, 9  # an end before its start is no span; 1 to 1 has 0 + 9
    start[1, 1] = -1
    (answer,) = best_answers(**a_row(start=start, end=end))
    assert (answer.start, answer.end, answer.span, answer.no_answer) == (6, 10, 9.0, 0.0)


def test_no_answer_is_the_least_of_the_windows():
    """9 in one window and 1 in the other is 1, which a span of 2 beats, but not with a threshold of -1.5."""
    start, end = np.zeros((2, 5), np.float32), np.zeros((2, 5), np.float32)
    start[:, 0], start[0, 1] = (9, 1), 2
    case = a_row(start=start, end=end)
    (answer,) = best_answers(**case)
    assert (answer.start, answer.end, answer.no_answer) == (0, 2, 1.0)
    (answer,) = best_answers(**case, threshold=-1.5)
    assert (answer.start, answer.end, answer.span) == (0, 0, 2.0)
    # Spans as characters: from the first window 0-2 and 0-4 (2), 2-4, 2-6, 4-6, 4-8, 6-8 (0), from the second also 6-10, 8-10, 8-12, 10-12
    assert answer.score == pytest.approx(math.e / (2 * math.e**2 + 9 + math.e))


def test_of_equals_the_first_and_shortest_and_padding_changes_nothing():
    case = a_row(null=np.array([-1, -1]))
    (answer,) = best_answers(**case, top=1)
    assert (answer.start, answer.end, answer.no_answer, answer.score) == (0, 2, -math.inf, 1.0)
    wider = {name: np.pad(value, ((0, 0), (0, 3))) if np.ndim(value) == 2 else value for name, value in case.items()}
    assert best_answers(**wider, top=1) == [answer]


def test_examples_without_a_place_for_an_answer():
    nowhere = np.zeros((2, 5), bool)
    case = a_row(allowed=nowhere, window_example=np.array([0, 2]), null=np.array([0, -1]))
    found = best_answers(**case)
    assert [(one.start, one.end, one.score) for one in found] == [(0, 0, 1.0), (0, 0, 0.0), (0, 0, 0.0)]
    assert best_answers(**{name: value[:0] if np.ndim(value) else value for name, value in case.items()}) == []
