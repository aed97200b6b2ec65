"""plume map"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from plume.cli._options import Vectors


def run(
    model: Vectors,
    words: Annotated[list[str] | None, typer.Argument(help="Words to show.")] = None,
    words_file: Annotated[Path | None, typer.Option(help="File with more words to show, one per line.")] = None,
    most_frequent: Annotated[int, typer.Option(help="Without words: show the N most frequent.")] = 300,
    method: Annotated[str, typer.Option(help="pca or tsne.")] = "tsne",
    seed: Annotated[int, typer.Option(help="Random seed of t-SNE.")] = 0,
    out: Annotated[Path, typer.Option(help="Output file: .html (interactive) or .png.")] = Path("map.html"),
) -> None:
    """Draw a 2-D map of word vectors (t-SNE or PCA), as an interactive page or a PNG."""
    from plume.core.errors import PlumeError
    from plume.static import plot
    from plume.static.load import load_vectors

    if out.suffix.lower() not in (".html", ".png"):
        raise PlumeError(f"--out {out}: the output must be .html or .png.")
    vectors = load_vectors(model)
    chosen = plot.chosen_words(vectors, words or (), words_file, most_frequent)
    places = plot.points(vectors, chosen, method=method, seed=seed)
    title = f"{len(chosen)} words of {model.name}"
    notes = [*vectors.notes]
    if out.suffix.lower() == ".png":
        notes += plot.map_png(places, chosen, out, title=title)
    else:
        plot.map_page(vectors, places, chosen, out, title=title)
    for note in notes:
        print(f"plume: {note}", file=sys.stderr)
    print(f"{len(chosen)} words → {out}")
