"""plume neighbours"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from plume.cli._options import Vectors


def run(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="One word, or several whose vectors are added.")],
    minus: Annotated[list[str] | None, typer.Option(help="Word to subtract: king woman --minus man; repeatable.")] = None,
    top: Annotated[int, typer.Option(help="Number of neighbours.")] = 10,
) -> None:
    """Nearest words by cosine similarity, to a word or a sum of words (analogies)."""
    from plume.static.load import load_vectors

    vectors = load_vectors(model)
    for note in vectors.notes:
        print(f"plume: {note}", file=sys.stderr)
    for neighbour in vectors.most_similar(words, minus or (), top=top):
        print(f"{neighbour.similarity:.4f}\t{neighbour.word}")
