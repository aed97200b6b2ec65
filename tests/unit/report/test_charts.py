"""Charts by where things are: scales, labels that keep clear of each other, fronts that are stairs."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from plume.report.charts.dots import DotRow, dot_plot
from plume.report.charts.drawing import NARROW, WIDE, Shape, text_width
from plume.report.charts.labels import Box, place_labels
from plume.report.charts.panels import Panel, PanelFrame, panels
from plume.report.charts.scales import LinearScale, Logarithmic, spread
from plume.report.charts.scatter import Point, scatter


@pytest.mark.parametrize(("low", "high"), [(0, 1), (59.2, 61.7), (-3, 3), (12, 99), (0.001, 0.0042)])
def test_ticks_are_round_few_and_inside(low: float, high: float) -> None:
    ticks = LinearScale(low=low, high=high, start=0, end=100).ticks(6)
    assert 2 <= len(ticks) <= 7 and all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    steps = {round(after - before, 9) for before, after in itertools.pairwise(ticks)}
    assert len(steps) == 1 and f"{steps.pop():e}"[:3] in ("1.0", "2.0", "2.5", "5.0")


@pytest.mark.parametrize(("low", "high"), [(100, 8000), (290, 640), (1, 1e6), (500, 520)])
def test_logarithmic_ticks(low: float, high: float) -> None:
    scale = Logarithmic(low=low, high=high, start=0, end=100)
    ticks = scale.ticks(8)
    assert 2 <= len(ticks) <= 9 and all(scale.inside(tick) for tick in ticks)
    assert scale(low) == 0 and scale(high) == pytest.approx(100) and scale((low * high) ** 0.5) == pytest.approx(50)


def test_equal_values_still_have_a_range() -> None:
    low, high = spread([5.0, 5.0])
    assert low < 5 < high


def boxes(points: list[tuple[float, float]], names: list[str], area: Box) -> list[Box]:
    made = []
    for name, label in zip(names, place_labels(points, names, area), strict=True):
        width = text_width(name)
        left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        made.append(Box(left, label.y - 10, left + width, label.y + 2))
    return made


@pytest.mark.parametrize("seed", range(20))
def test_labels_do_not_overlap_nor_leave_the_picture(seed: int) -> None:
    draw, area = random.Random(seed), Box(40, 20, 350, 340)
    points = [(draw.uniform(60, 330), draw.uniform(40, 320)) for _ in range(14)]
    names = [draw.choice(["bert", "roberta", "transformer-xl", "word2vec", "t5"]) for _ in points]
    found = boxes(points, names, area)
    assert not [pair for i, one in enumerate(found) for pair in found[i + 1 :] if one.meets(pair)]
    assert all(box.within(area) for box in found)


def test_a_crowd_is_labelled_without_overlap() -> None:
    points = [(300 + n % 4, 100 + 4.0 * n) for n in range(12)]
    found = boxes(points, [f"model-{n}" for n in range(12)], Box(40, 20, 715, 350))
    assert not [pair for i, one in enumerate(found) for pair in found[i + 1 :] if one.meets(pair)]


def test_the_front_is_a_stair_that_no_point_is_above() -> None:
    values = [("slow", 100, 80.0, True), ("mid", 400, 70.0, True), ("bad", 300, 60.0, False), ("fast", 1000, 50.0, True)]
    points = [Point(name=n, cost=c, quality=q, shape=Shape.MODEL, front=f, chosen=n == "mid") for n, c, q, f in values]
    made = scatter(points, width=WIDE, title="t", about="a", across="x", upwards="y", more_is_better=True)
    stair = [tuple(map(float, pair.split(","))) for pair in re.search(r'points="([^"]+)" class="front"', made).group(1).split()]  # type: ignore[union-attr]
    assert len(stair) == 5
    for before, after in itertools.pairwise(stair):
        assert before[0] == after[0] or before[1] == after[1]
    assert stair[1] == (stair[0][0], stair[2][1])  # from the better straight down, then across to the faster
    assert made.count('class="ring"') == 1 and made.count("mark filled") == 3 and made.count("mark hollow") == 1


def row(label: str, mean: float, half: float | None, *, best: bool = False) -> DotRow:
    ends = (None, None) if half is None else (mean - half, mean + half)
    return DotRow(label=label, mean=mean, low=ends[0], high=ends[1], seeds=(mean - 1, mean, mean + 1), shape=Shape.MODEL, best=best)


def test_dots_stand_in_the_order_of_their_means() -> None:
    made = dot_plot([row("a", 70, 2, best=True), row("b", 65, 2), row("c", 40, 2)], width=WIDE, title="t", about="a", axis="f1")
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', made)]
    assert places[0] > places[1] > places[2]
    assert (places[0] - places[1]) / (places[1] - places[2]) == pytest.approx(5 / 25, abs=0.01)
    assert made.count('class="seed"') == 9 and made.count("mark filled") == 1


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_very_wide_interval_does_not_push_the_dots_together(width: int) -> None:
    rows = [row("good", 70, 1), row("wild", 65, 400), row("a-name-that-is-much-too-long-for-a-phone-and-for-a-desk", 60, None)]
    made = dot_plot(rows, width=width, title="t", about="a", axis="f1")
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', made)]
    assert places[0] - places[2] > 0.2 * (width - 48)
    assert all(-1 <= float(x) <= width for x in re.findall(r' x[12]?="([-\d.]+)"', made))
    assert "…</text>" in made


def test_the_axis_ends_where_scores_end() -> None:
    high = DotRow(label="a", mean=99.5, low=90.0, high=109.0, seeds=(99.0, 100.0), shape=Shape.MODEL, best=True)
    low = DotRow(label="b", mean=1.0, low=-8.0, high=10.0, seeds=(0.0, 2.0), shape=Shape.CONTROL, best=False)
    made = dot_plot([high, low], width=WIDE, title="t", about="a", axis="f1")
    ticks = {
        int(value): float(x) for x, value in re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle" class="tick">(\d+)<', made)
    }
    assert min(ticks) == 0 and max(ticks) == 100 and ticks[100] == WIDE - 48 and ticks[0] < 30


def test_panels_share_their_axes_where_they_should() -> None:
    two = [Panel(name=name, about="", lines=(), main=[(0.0, low), (1.0, low + 10)]) for name, low in (("a", 10.0), ("b", 50.0))]
    own = panels(two, PanelFrame(across="x", x=(0, 1)))
    shared = panels(two, PanelFrame(across="x", x=(0, 1), y=(0, 100)))
    heights = [[float(point.split(",")[1]) for point in found.split()] for found in re.findall(r'points="([^"]+)" class="main"', own)]
    assert heights[0] == pytest.approx(heights[1], abs=1)
    heights = [[float(point.split(",")[1]) for point in found.split()] for found in re.findall(r'points="([^"]+)" class="main"', shared)]
    assert heights[0][0] - heights[1][0] == pytest.approx(0.4 * 84, abs=0.5)
