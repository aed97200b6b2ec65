"""Quality against cost, with the front of those that no other beats in both."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from plume.report.charts.drawing import NARROW, Shape, line, mark, polyline, ring, svg, text, x_axis, y_axis
from plume.report.charts.labels import Box, place_labels
from plume.report.charts.scales import LinearScale, Logarithmic, spread
from plume.report.markup import Child, Markup

_TOP, _LEFT, _BOTTOM = 26, 42, 44

Place = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A model in the chart."""

    name: str
    cost: float  # across; > 0
    quality: float  # upwards, in points
    shape: Shape
    front: bool
    chosen: bool


def scatter(points: Sequence[Point], *, width: int, title: str, about: str, across: str, upwards: str, more_is_better: bool) -> Markup:
    """The chart: a point a model, the front as a stair."""
    height = 380 if width == NARROW else 400
    low, high = min(point.cost for point in points), max(point.cost for point in points)
    room = max((high / low) ** 0.12, 1.25)
    x = Logarithmic(low=low / room, high=high * room, start=_LEFT, end=width - 10)
    bottom, top = spread([point.quality for point in points], around=0.1, least=0.5)
    y = LinearScale(low=bottom, high=top, start=height - _BOTTOM, end=_TOP)
    axes = [x_axis(x, _TOP, y.start, across, most=4 if width == NARROW else 8), y_axis(y, _LEFT, x.end, most=6)]
    places = [(x(point.cost), y(point.quality)) for point in points]
    area = Box(_LEFT + 2, _TOP, width - 2, y.start - 2)
    front = _steps([place for place, point in zip(places, points, strict=True) if point.front], more_is_better)
    ends = _ends(front, area, more_is_better)
    return svg(
        text(4, 14, upwards, class_="axis"),
        *axes,
        polyline(front, "front"),
        *(line(*here, *there, "front") for here, there in ends),
        *_names(points, places, area, [*itertools.pairwise(front), *ends]),
        *(ring(*place) for place, point in zip(places, points, strict=True) if point.chosen),
        *(mark(*place, point.shape, filled=point.front) for place, point in zip(places, points, strict=True)),
        width=width,
        height=height,
        title=title,
        about=about,
    )


def _steps(front: list[Place], more_is_better: bool) -> list[Place]:
    """Between two of the front one can only have the worse of both: a stair, not a slope."""
    places = sorted(front)
    stair: list[Place] = []
    for here, after in itertools.pairwise(places):
        stair += [here, (after[0], here[1]) if not more_is_better else (here[0], after[1])]
    return stair + places[-1:]


def _ends(front: list[Place], area: Box, more_is_better: bool) -> list[tuple[Place, Place]]:
    """Where the front goes on to the frame: for less quality nothing is cheaper than its cheapest, at any cost nothing is better than its best."""
    if not front:
        return []
    best, cheapest = (front[0], front[-1]) if more_is_better else (front[-1], front[0])
    side = area.left if more_is_better else area.right
    return [(best, (side, best[1])), (cheapest, (cheapest[0], area.bottom))]


def _names(points: Sequence[Point], places: Sequence[Place], area: Box, front: Sequence[tuple[Place, Place]]) -> list[Child]:
    drawn: list[Child] = []
    lines = [Box(min(a, c) - 1, min(b, d) - 1, max(a, c) + 1, max(b, d) + 1) for (a, b), (c, d) in front]
    labels = place_labels(places, [point.name for point in points], area, lines)
    for point, place, label in zip(points, places, labels, strict=True):
        if label.away:
            drawn.append(line(place[0], place[1], label.x, label.y - 4, "leader"))
        drawn.append(text(label.x, label.y, point.name, anchor=label.anchor, class_="name best" if point.chosen else "name"))
    return drawn
