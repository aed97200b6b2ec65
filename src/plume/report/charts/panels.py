"""Small multiples: one little chart a model, all drawn alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.report.charts.drawing import Shape, clipped, line, mark, polyline, svg, text
from plume.report.charts.scales import LinearScale, spread, tick_text
from plume.report.markup import Child, Markup, element

WIDTH, HEIGHT = 176, 156
_LEFT, _RIGHT, _TOP, _BOTTOM = 30, 12, 40, 32

Line = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One of several little charts."""

    name: str
    about: str
    lines: tuple[Line, ...]  # thin, if there is more than one
    main: Line = ()  # thick, with dots where there are few
    others: tuple[Line, ...] = ()  # faint, to compare with
    level: float | None = None  # a dashed line across
    level_name: str = ""
    note: str = ""  # under the heading


@dataclass(frozen=True, kw_only=True)
class PanelFrame:
    """What the panels of one figure have in common."""

    across: str
    x: tuple[float, float]
    y: tuple[float, float] | None = None  # None: each its own
    whole_numbers: bool = False


def panels(drawn: Sequence[Panel], frame: PanelFrame) -> Markup:
    """All of them, beside and below each other."""
    return element("div", *(_panel(panel, frame) for panel in drawn), class_="panels")


def _panel(panel: Panel, frame: PanelFrame) -> Markup:
    low, high = frame.y or _own_range(panel)
    x = LinearScale(low=frame.x[0], high=frame.x[1], start=_LEFT, end=WIDTH - _RIGHT)
    y = LinearScale(low=low, high=high, start=HEIGHT - _BOTTOM, end=_TOP)
    return svg(
        text(2, 13, clipped(panel.name, WIDTH - 4), class_="name best"),
        text(2, 28, clipped(panel.note, WIDTH, size=10.5), class_="tick"),
        *_axes(x, y, frame),
        *(_path(other, x, y, "other") for other in panel.others),
        *_level(panel, x, y),
        *(_path(one, x, y, f"thin dash{place % 3}") for place, one in enumerate(panel.lines)),
        *_main(panel.main, x, y),
        width=WIDTH,
        height=HEIGHT,
        title=panel.name,
        about=panel.about,
        class_="chart panel",
    )


def _own_range(panel: Panel) -> tuple[float, float]:
    seen = [value for one in (*panel.lines, panel.main) for _, value in one]
    return spread(seen + ([] if panel.level is None else [panel.level]), around=0.12, least=0.01)


def _axes(x: LinearScale, y: LinearScale, frame: PanelFrame) -> list[Child]:
    parts: list[Child] = []
    for value in y.ticks(5):
        parts += [
            line(_LEFT, y(value), x.end, y(value), "grid"),
            text(_LEFT - 4, y(value) + 3.5, tick_text(value), anchor="end", class_="tick"),
        ]
    ticks = [value for value in x.ticks(4) if not frame.whole_numbers or value == int(value)]
    for value in ticks:
        parts.append(text(x(value), y.start + 12, tick_text(value), anchor="middle", class_="tick"))
    parts.append(line(_LEFT, y.start, x.end, y.start, "base"))
    parts.append(text((x.start + x.end) / 2, HEIGHT - 4, frame.across, anchor="middle", class_="tick"))
    return parts


def _path(one: Line, x: LinearScale, y: LinearScale, class_: str) -> Markup:
    return polyline([(x(across), y(value)) for across, value in one], class_)


def _level(panel: Panel, x: LinearScale, y: LinearScale) -> list[Child]:
    if panel.level is None:
        return []
    height = y(panel.level)
    # The name stands where the curve is not: under a line near the top, else over it.
    below = height < _TOP + 14
    name = text(x.end, height + (10 if below else -3), panel.level_name, anchor="end", class_="tick level-name")
    return [line(_LEFT, height, x.end, height, "level"), name]


def _main(main: Line, x: LinearScale, y: LinearScale) -> list[Child]:
    if not main:
        return []
    dots = [mark(x(across), y(value), Shape.MODEL, filled=True, radius=2.6) for across, value in main] if len(main) <= 14 else []
    return [_path(main, x, y, "main"), *dots]
