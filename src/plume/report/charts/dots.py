"""A leaderboard as dots: the mean, its interval, and each seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.report.charts.drawing import NARROW, Shape, clipped, line, mark, svg, text, text_width, x_axis
from plume.report.charts.scales import LinearScale, spread
from plume.report.formats import points
from plume.report.markup import Child, Markup, element, joined

_ROW, _TOP, _BOTTOM = 23, 6, 40


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """All in points."""

    label: str
    mean: float
    low: float | None
    high: float | None
    seeds: tuple[float, ...]
    shape: Shape
    best: bool


def dot_plot(rows: Sequence[DotRow], *, width: int, title: str, about: str, axis: str) -> Markup:
    """A row a model: its mean, the interval and every seed."""
    room = 120 if width == NARROW else 190
    left = min(max(text_width(row.label) for row in rows), room) + 16
    low, high = _reach(rows)
    scale = LinearScale(low=low, high=high, start=left, end=width - 48)
    bottom = _TOP + _ROW * len(rows)
    drawn = [_row(row, scale, _TOP + _ROW * (place + 0.5), left, width) for place, row in enumerate(rows)]
    stripes = [element("rect", x=0, y=_TOP + _ROW * place, width=width, height=_ROW, class_="stripe") for place in range(0, len(rows), 2)]
    ticks = x_axis(scale, _TOP, bottom, axis, most=5 if width == NARROW else 9)
    return svg(*stripes, ticks, *drawn, width=width, height=bottom + _BOTTOM, title=title, about=about)


def _reach(rows: Sequence[DotRow]) -> tuple[float, float]:
    """All means and seeds; of very wide intervals only so much that the dots still stand apart."""
    seen = [value for row in rows for value in (row.mean, *row.seeds)]
    low, high = min(seen), max(seen)
    most = max(0.5 * (high - low), 2.0)
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    left, right = spread([low, high, *(min(max(end, low - most), high + most) for end in ends)], around=0.03, least=0.2)
    return max(left, 0.0) if low >= 0 else left, min(right, 100.0) if high <= 100 else right


def _row(row: DotRow, scale: LinearScale, y: float, left: float, width: int) -> Markup:
    parts: list[Child] = [text(left - 10, y + 4, clipped(row.label, left - 14), anchor="end", class_="name best" if row.best else "name")]
    if row.low is not None and row.high is not None:
        parts += _interval(row.low, row.high, scale, y)
    parts += [line(scale(seed), y - 6, scale(seed), y + 6, "seed") for seed in row.seeds if len(row.seeds) > 1]
    parts.append(mark(scale(row.mean), y, row.shape, filled=row.best))
    parts.append(text(width - 4, y + 4, points(row.mean, best=100), anchor="end", class_="value best" if row.best else "value"))
    return element("g", *parts)


def _interval(low: float, high: float, scale: LinearScale, y: float) -> list[Child]:
    ends = [min(max(end, scale.low), scale.high) for end in (low, high)]
    drawn: list[Child] = [line(scale(ends[0]), y, scale(ends[1]), y, "interval")]
    for end, shown, way in ((low, ends[0], 1), (high, ends[1], -1)):
        x = scale(shown)
        if scale.inside(end):
            drawn.append(line(x, y - 4, x, y + 4, "interval"))
        else:  # it goes on outside the picture
            drawn.append(joined(line(x, y, x + 5 * way, y - 4, "interval"), line(x, y, x + 5 * way, y + 4, "interval")))
    return drawn
