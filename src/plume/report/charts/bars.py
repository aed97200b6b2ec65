"""Shares as bars: one a model, from nothing to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.report.charts.drawing import NARROW, Shape, clipped, svg, text, text_width, x_axis
from plume.report.charts.scales import LinearScale
from plume.report.markup import Markup, element

_ROW, _TOP, _BOTTOM, _THICK = 23, 6, 40, 11


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A model's share, in percent."""

    label: str
    value: float
    told: str  # as it is written beside the bar
    shape: Shape
    chosen: bool


def bar_chart(bars: Sequence[Bar], *, width: int, title: str, about: str, axis: str) -> Markup:
    """A row a model, all on the same scale."""
    room = 120 if width == NARROW else 190
    left = min(max(text_width(bar.label) for bar in bars), room) + 16
    scale = LinearScale(low=0, high=100, start=left, end=width - 60)
    bottom = _TOP + _ROW * len(bars)
    return svg(
        x_axis(scale, _TOP, bottom, axis, most=5),
        *(_row(bar, scale, _TOP + _ROW * (place + 0.5), left) for place, bar in enumerate(bars)),
        width=width,
        height=bottom + _BOTTOM,
        title=title,
        about=about,
    )


def bar_sign(x: float, y: float, length: float, shape: Shape) -> Markup:
    """A bar around its middle line; hollow for a control."""
    kind = "bar hollow" if shape is Shape.CONTROL else "bar filled"
    return element("rect", x=round(x, 1), y=round(y - _THICK / 2, 1), width=round(max(length, 1.0), 1), height=_THICK, class_=kind)


def _row(bar: Bar, scale: LinearScale, y: float, left: float) -> Markup:
    end, best = scale(bar.value), " best" if bar.chosen else ""
    return element(
        "g",
        text(left - 10, y + 4, clipped(bar.label, left - 14), anchor="end", class_=f"name{best}"),
        bar_sign(left, y, end - left, bar.shape),
        text(end + 6, y + 4, bar.told, class_=f"value{best}"),
    )
