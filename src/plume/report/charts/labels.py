"""Names beside points, so that none covers another: greedily, the nearest free place of a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from plume.report.charts.drawing import SIZE, text_width


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Do they overlap?"""
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def within(self, other: Box) -> bool:
        """Does it lie inside the other?"""
        return self.left >= other.left and self.right <= other.right and self.top >= other.top and self.bottom <= other.bottom


class Label(NamedTuple):
    """Where a name is written."""

    x: float
    y: float  # its baseline
    anchor: str  # which end of the text is at x
    away: bool  # so far from its point that a thin line should join them


_WAYS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_REACHES = (10.0, 16.0, 26.0, 38.0, 52.0, 68.0, 86.0)


def place_labels(points: Sequence[tuple[float, float]], names: Sequence[str], area: Box, lines: Sequence[Box] = ()) -> list[Label]:
    """A label for each point, clear of marks and of `lines` where it can be. Points in a crowd choose first: they have the fewest free places."""
    marks = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    taken: list[Box] = []
    found: dict[int, Label] = {}
    for i in sorted(range(len(points)), key=lambda i: (-_crowd(points, i), i)):
        label, box = _best(points[i], names[i], area, taken, [*lines, *(other for j, other in enumerate(marks) if j != i)])
        taken.append(box)
        found[i] = label
    return [found[i] for i in range(len(points))]


def _crowd(points: Sequence[tuple[float, float]], i: int) -> int:
    x, y = points[i]
    return sum(abs(x - other) < 70 and abs(y - height) < 30 for other, height in points)


def _best(point: tuple[float, float], name: str, area: Box, taken: list[Box], marks: list[Box]) -> tuple[Label, Box]:
    choices = [_choice(point, name, way, reach) for reach in _REACHES for way in _WAYS]
    inside = [choice for choice in choices if choice[1].within(area)] or choices
    free = [choice for choice in inside if not any(choice[1].meets(box) for box in taken)]
    clear = [choice for choice in free if not any(choice[1].meets(box) for box in marks)]
    return (clear or free or inside)[0]


def _choice(point: tuple[float, float], name: str, way: tuple[int, int], reach: float) -> tuple[Label, Box]:
    width, half = text_width(name), SIZE * 0.55
    across, down = way
    x = point[0] + across * reach
    left = x - {1: 0.0, 0: width / 2, -1: width}[across]
    middle = point[1] + down * (reach + 3 if across == 0 else reach * 0.8)
    anchor = {1: "start", 0: "middle", -1: "end"}[across]
    return Label(x, middle + 4, anchor, reach > 16), Box(left - 2, middle - half - 1, left + width + 2, middle + half + 1)
