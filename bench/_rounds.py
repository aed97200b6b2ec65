"""What the side-by-side benchmarks of sentence vectors share: their options, and ratios over rounds in which the sides took turns."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path


def options(documentation: str | None, *paths: str, **numbers: int) -> argparse.Namespace:
    """--weights and other `paths`, `numbers` with their defaults, --rounds, --threads, --quick."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weights", *paths):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name, value in {"rounds": 5, "threads": 2, **numbers}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--quick", action="store_true", help="One short round: does it run?")
    return parser.parse_args()


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The median over rounds of speeds, ours to theirs in the same round, with its range."""
    found = [one / other for one, other in zip(ours, theirs, strict=True)]
    return f"× {statistics.median(found):.2f} ({min(found):.2f}–{max(found):.2f})"
