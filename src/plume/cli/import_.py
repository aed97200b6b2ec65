"""plume import"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    folder: Annotated[
        Path, typer.Argument(help="A Hugging Face directory (config.json, tokeniser files, weights), or a file of word vectors.")
    ],
    out: Annotated[Path, typer.Option(help="The model directory to make.")],
) -> None:
    """Make a plume model of a Hugging Face directory, or of a file of word vectors."""
    if folder.is_file():
        from plume.static.exchange import import_vectors

        made = import_vectors(folder, out)
        for note in made.vectors.notes:
            print(note)
        print(f"{out}: {len(made.vectors):,} words × {made.vectors.dimension}")
        return
    from plume.hf.importing import import_folder

    imported = import_folder(folder, out)
    recipe = imported.model.recipe
    parameters = sum(parameter.numel() for parameter in imported.model.parameters())
    for note in imported.notes:
        print(note)
    print(f"{out}: {recipe.name}, {parameters:,} parameters, {imported.tokenizer.size:,} tokens")
