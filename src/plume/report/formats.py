"""Numbers as a reader wants them: few digits, units, and the same everywhere."""

from __future__ import annotations

import math

from plume.comparing.results import TaskRecord

NONE = "–"
_MINUS = "−"
_SPACE = "\N{NO-BREAK SPACE}"  # a number and its unit stay on one line


def points(value: float | None, best: float = 1.0, *, digits: int = 1) -> str:
    """A score as it is spoken of: of 100, with one decimal.

    >>> points(0.6031), points(27.44, best=100)
    ('60.3', '27.4')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return _tidy(f"{in_points(value, best):.{digits}f}")


def in_points(value: float, best: float = 1.0) -> float:
    """Of 100, whatever the highest score is."""
    return value * 100 if best == 1 else value


def signed(value: float, best: float = 1.0) -> str:
    """
    >>> signed(0.031), signed(-0.031)
    ('+3.1', '−3.1')
    """
    return _tidy(f"{in_points(value, best):+.1f}")


def margin(low: float | None, high: float | None, best: float = 1.0) -> str:
    """Half of an interval, to stand after ±; empty if there is none."""
    if low is None or high is None or not math.isfinite(high - low):
        return ""
    return f"{in_points(high - low, best) / 2:.1f}"


def count(value: float) -> str:
    r"""
    >>> count(950), count(4_400_000), count(0)
    ('950', '4.40\xa0M', '–')
    """
    if not value or not math.isfinite(value):
        return NONE
    for size, name in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            scaled = value / (1e3 if name == "k" else size)
            return f"{_three(scaled)}{_SPACE}{name}"
    return f"{value:,.0f}"


def size(value: float) -> str:
    r"""Bytes.

    >>> size(17_300_000)
    '17.3\xa0MB'
    """
    if not value:
        return NONE
    for step, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= step:
            return f"{_three(value / step)}{_SPACE}{name}"
    return f"{value:.0f}{_SPACE}B"


def rate(value: float) -> str:
    """Things a second.

    >>> rate(1234.5), rate(12.34)
    ('1,234', '12.3')
    """
    if not value or not math.isfinite(value):
        return NONE
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def milliseconds(value: float | None) -> str:
    """With as many digits as one can use."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """
    >>> duration(42.4), duration(128), duration(7500)
    ('42 s', '2 min 8 s', '2 h 5 min')
    """
    if not math.isfinite(seconds):
        return NONE
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def share(value: float) -> str:
    """
    >>> share(0.034)
    '3.4%'
    """
    return f"{100 * value:.1f}%"


def chance(value: float | None) -> str:
    """How probable something is: never quite sure.

    >>> chance(0.997), chance(0.314), chance(0.0), chance(None)
    ('> 99%', '31%', '< 1%', '–')
    """
    if value is None:
        return NONE
    return "> 99%" if value > 0.99 else "< 1%" if value < 0.01 else f"{value:.0%}"


def probability(value: float) -> str:
    """A p value."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def task_points(value: float | None, task: TaskRecord) -> str:
    """A score of this task, of 100."""
    return points(value, task.best)


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _tidy(text: str) -> str:
    """A true minus sign, and no minus before zero."""
    bare = text.replace("-", "")
    if text.startswith("-") and float(bare) == 0:
        return bare
    return text.replace("-", _MINUS)
