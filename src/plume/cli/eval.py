"""plume eval"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plume.static.evaluation import AnalogyResult, SimilarityResult


def run(
    model: Annotated[Path, typer.Argument(help="A run of word vectors, or a file of them: word2vec, GloVe, fastText .bin.")],
    similarity: Annotated[list[Path] | None, typer.Option(help="A file of `word word score` lines. May be given again.")] = None,
    analogy: Annotated[
        list[Path] | None, typer.Option(help="A file of four words a line under `: section` lines. May be given again.")
    ] = None,
    most: Annotated[int, typer.Option(help="Look for an analogy's answer among so many of the most frequent words; 0 for all.")] = 50_000,
    unseen: Annotated[bool, typer.Option("--unseen", help="fastText: make words that were never seen from their n-grams.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure word vectors: correlation with people's judgements of similarity, and accuracy on analogies."""
    from plume.core.errors import PlumeError
    from plume.static import evaluation
    from plume.static.load import load_vectors

    if not similarity and not analogy:
        raise PlumeError("Nothing to measure: name a file with --similarity or --analogy.")
    vectors = load_vectors(model)
    for note in vectors.notes:
        print(f"plume: {note}", file=sys.stderr)
    pairs = [evaluation.similarity(vectors, file, unseen=unseen) for file in similarity or ()]
    questions = [evaluation.analogy(vectors, file, most=most or None, unseen=unseen) for file in analogy or ()]
    if as_json:
        _json(pairs, questions)
    else:
        _tables(pairs, questions)


def _json(pairs: list[SimilarityResult], questions: list[AnalogyResult]) -> None:
    import json

    def number(value: Any) -> Any:
        return None if isinstance(value, float) and value != value else value  # JSON has no NaN

    similarities = [{name: number(value) for name, value in asdict(result).items()} for result in pairs]
    analogies = [asdict(result) | {"accuracy": result.total.accuracy} for result in questions]
    print(json.dumps({"similarity": similarities, "analogy": analogies}, ensure_ascii=False, indent=2))


def _tables(pairs: list[SimilarityResult], questions: list[AnalogyResult]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if pairs:
        table = Table("similarity", box=None, pad_edge=False, header_style="bold")
        for column in ("Spearman", "Pearson", "pairs used", "left out"):
            table.add_column(column, justify="right")
        for pair in pairs:
            table.add_row(pair.name, f"{pair.spearman:.4f}", f"{pair.pearson:.4f}", f"{pair.used:,}", f"{pair.pairs - pair.used:,}")
        console.print(table)
    for result in questions:
        table = Table(f"analogy: {result.name}", box=None, pad_edge=False, header_style="bold")
        for column in ("accuracy", "correct", "questions used", "left out"):
            table.add_column(column, justify="right")
        for section in (*result.sections, result.total):
            share = "–" if section.accuracy is None else f"{section.accuracy:.1%}"
            style = "bold" if section is result.total else None
            table.add_row(section.name, share, f"{section.correct:,}", f"{section.used:,}", f"{section.left_out:,}", style=style)
        console.print(table)
    for name, unknown in [(result.name, result.unknown) for result in pairs] + [(result.name, result.unknown) for result in questions]:
        if unknown:
            console.print(f"{name}: without a vector are, among others, {', '.join(unknown)}", markup=False, soft_wrap=True)
