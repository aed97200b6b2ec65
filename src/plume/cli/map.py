"""plume map"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="A run of word vectors, or a file of them: word2vec, GloVe, fastText .bin.")],
    words: Annotated[list[str] | None, typer.Argument(help="The words to show.")] = None,
    words_file: Annotated[Path | None, typer.Option(help="A file with one more word to show a line.")] = None,
    most_frequent: Annotated[int, typer.Option(help="Without any words: so many of the most frequent.")] = 300,
    method: Annotated[str, typer.Option(help="pca or tsne.")] = "tsne",
    seed: Annotated[int, typer.Option(help="Where t-SNE starts from.")] = 0,
    out: Annotated[Path, typer.Option(help="map.html (interactive) or map.png.")] = Path("map.html"),
) -> None:
    """Draw a map of words, those used alike near each other, as an interactive page or a picture."""
    from plume.core.errors import PlumeError
    from plume.static import plot
    from plume.static.load import load_vectors

    if out.suffix.lower() not in (".html", ".png"):
        raise PlumeError(f"--out {out}: a map is written as .html or .png.")
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
