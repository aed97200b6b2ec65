"""Scores of word vectors, as tables or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plume.static.evaluation import AnalogyResult, SimilarityResult


def print_json(pairs: list[SimilarityResult], questions: list[AnalogyResult]) -> None:
    """All results as one JSON object."""

    def number(value: Any) -> Any:
        return None if isinstance(value, float) and value != value else value  # JSON has no NaN

    similarities = [{name: number(value) for name, value in asdict(result).items()} for result in pairs]
    analogies = [asdict(result) | {"accuracy": result.total.accuracy} for result in questions]
    print(json.dumps({"similarity": similarities, "analogy": analogies}, ensure_ascii=False, indent=2))


def print_tables(pairs: list[SimilarityResult], questions: list[AnalogyResult]) -> None:
    """A table of similarity files, and one per analogy file."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if pairs:
        table = Table("similarity", box=None, pad_edge=False, header_style="bold")
        for column in ("Spearman", "Pearson", "pairs used", "skipped"):
            table.add_column(column, justify="right")
        for pair in pairs:
            table.add_row(pair.name, f"{pair.spearman:.4f}", f"{pair.pearson:.4f}", f"{pair.used:,}", f"{pair.pairs - pair.used:,}")
        console.print(table)
    for result in questions:
        table = Table(f"analogy: {result.name}", box=None, pad_edge=False, header_style="bold")
        for column in ("accuracy", "correct", "questions used", "skipped"):
            table.add_column(column, justify="right")
        for section in (*result.sections, result.total):
            share = "–" if section.accuracy is None else f"{section.accuracy:.1%}"
            style = "bold" if section is result.total else None
            table.add_row(section.name, share, f"{section.correct:,}", f"{section.used:,}", f"{section.left_out:,}", style=style)
        console.print(table)
    for name, unknown in [(result.name, result.unknown) for result in pairs] + [(result.name, result.unknown) for result in questions]:
        if unknown:
            console.print(f"{name}: words without a vector include {', '.join(unknown)}", markup=False, soft_wrap=True)
