"""Scores as tables."""

from __future__ import annotations

from collections.abc import Mapping


def print_scores(scores: Mapping[str, float], *, title: str) -> None:
    """Overall scores first; per-class scores, such as "f1/PER", in a second table with a row per class."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    table = Table(title, box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right")
    for name, value in scores.items():
        if "/" not in name:
            table.add_row(name, f"{value:,.0f}" if value > 1 and float(value).is_integer() else f"{value:.4f}")
    console.print(table)
    parts = [(*name.partition("/")[::2], value) for name, value in scores.items() if "/" in name]
    if not parts:
        return
    measures = list(dict.fromkeys(measure for measure, _, _ in parts))
    found = {(measure, label): value for measure, label, value in parts}
    table = Table("class", box=None, pad_edge=False, header_style="bold")
    for measure in measures:
        table.add_column(measure, justify="right")
    for label in dict.fromkeys(label for _, label, _ in parts):
        table.add_row(label, *(f"{found[measure, label]:.4f}" if (measure, label) in found else "–" for measure in measures))
    console.print()
    console.print(table)
