"""Scores of sentence vectors, as tables or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plume.vectors.sts import STSResult


def print_sts(result: STSResult, *, as_json: bool) -> None:
    """A table of files, and one of the ways to average them."""
    if as_json:
        print(json.dumps(asdict(result), ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    table = Table("STS", box=None, pad_edge=False, header_style="bold")
    for column in ("Spearman", "pairs"):
        table.add_column(column, justify="right")
    for one in result.subsets:
        table.add_row(one.name, f"{one.spearman:.4f}", f"{one.pairs:,}")
    console.print(table)
    if not result.together:
        return
    table = Table("together", box=None, pad_edge=False, header_style="bold")
    for column in ("joined", "mean", "weighted mean", "pairs"):
        table.add_column(column, justify="right")
    for group in result.together:
        table.add_row(group.name, f"{group.joined:.4f}", f"{group.mean:.4f}", f"{group.weighted:.4f}", f"{group.pairs:,}")
    console.print()
    console.print(table)
