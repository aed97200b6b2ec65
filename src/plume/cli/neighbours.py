"""plume neighbours"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="A run of word vectors, or a file of them: word2vec, GloVe, fastText .bin.")],
    words: Annotated[list[str], typer.Argument(help="One word, or several that are added.")],
    minus: Annotated[list[str] | None, typer.Option(help="A word to take away: king woman --minus man. May be given again.")] = None,
    top: Annotated[int, typer.Option(help="How many neighbours.")] = 10,
) -> None:
    """The words nearest to a word, or to a sum of words (analogies), with their cosine."""
    from plume.static.load import load_vectors

    vectors = load_vectors(model)
    for note in vectors.notes:
        print(f"plume: {note}", file=sys.stderr)
    for neighbour in vectors.most_similar(words, minus or (), top=top):
        print(f"{neighbour.similarity:.4f}\t{neighbour.word}")
