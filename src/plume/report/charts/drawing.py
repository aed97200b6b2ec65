"""The strokes that all charts share."""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Callable, Sequence

from plume.report.charts.scales import LinearScale, tick_text
from plume.report.markup import Child, Markup, element, joined

WIDE, NARROW = 720, 352  # a desk and a phone: each is drawn for its own width, so that text keeps its size
SIZE = 12  # of text


class Shape(enum.StrEnum):
    """What a model is, by shape; filled or hollow says the rest, so that no meaning rests on colour."""

    MODEL = "model"
    CONTROL = "control"


def svg(*children: Child, width: float, height: float, title: str, about: str, class_: str = "chart") -> Markup:
    """A chart, with a title and a description for those who listen."""
    return element(
        "svg",
        element("title", title),
        element("desc", about),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        class_=class_,
    )


def text(x: float, y: float, content: str, *, anchor: str = "start", class_: str | None = None) -> Markup:
    """A word at its baseline."""
    return element("text", content, x=round(x, 1), y=round(y, 1), text_anchor=None if anchor == "start" else anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """From one point to another."""
    return element("line", x1=round(x1, 1), y1=round(y1, 1), x2=round(x2, 1), y2=round(y2, 1), class_=class_)


def polyline(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """Through all points."""
    return element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def mark(x: float, y: float, shape: Shape, *, filled: bool, radius: float = 4.5) -> Markup:
    """The sign of a model or a control, filled or hollow."""
    class_ = "mark filled" if filled else "mark hollow"
    if shape is Shape.CONTROL:
        side = 1.8 * radius
        return element("rect", x=round(x - side / 2, 1), y=round(y - side / 2, 1), width=side, height=side, class_=class_)
    return element("circle", cx=round(x, 1), cy=round(y, 1), r=radius, class_=class_)


def ring(x: float, y: float) -> Markup:
    """Around the mark of the model that is recommended."""
    return element("circle", cx=round(x, 1), cy=round(y, 1), r=8.5, class_="ring")


def text_width(content: str, size: float = SIZE) -> float:
    """About how wide a text will be: no font is known beforehand, so a little too wide rather than too narrow."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in content)
    return size * (wide + 0.62 * (len(content) - wide))


def clipped(content: str, width: float, size: float = SIZE) -> str:
    """As much of a text as fits.

    >>> clipped("bert", 100), clipped("a-very-long-name-of-a-model", 60)
    ('bert', 'a-very-…')
    """
    if text_width(content, size) <= width:
        return content
    while content and text_width(content + "…", size) > width:
        content = content[:-1]
    return content + "…"


def x_axis(scale: LinearScale, top: float, bottom: float, label: str, *, most: int) -> Markup:
    """Ticks, grid and name below a chart."""
    parts: list[Child] = []
    for value in scale.ticks(most):
        parts += [
            line(scale(value), top, scale(value), bottom, "grid"),
            text(scale(value), bottom + 15, tick_text(value), anchor="middle", class_="tick"),
        ]
    parts.append(text((scale.start + scale.end) / 2, bottom + 32, label, anchor="middle", class_="axis"))
    return joined(*parts)


def y_axis(scale: LinearScale, left: float, right: float, *, most: int) -> Markup:
    """Ticks and grid beside it."""
    parts: list[Child] = []
    for value in scale.ticks(most):
        parts += [
            line(left, scale(value), right, scale(value), "grid"),
            text(left - 5, scale(value) + 4, tick_text(value), anchor="end", class_="tick"),
        ]
    return joined(*parts)


def for_desk_and_phone(draw: Callable[[int], Markup]) -> Markup:
    """The chart twice; the page's style shows the one that fits."""
    return joined(element("div", draw(WIDE), class_="wide"), element("div", draw(NARROW), class_="narrow"))
