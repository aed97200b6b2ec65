"""plume import"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    folder: Annotated[Path, typer.Argument(help="A Hugging Face directory: config.json, tokeniser files, weights.")],
    out: Annotated[Path, typer.Option(help="The model directory to make.")],
) -> None:
    """Make a plume model of a Hugging Face directory."""
    from plume.hf.importing import import_folder

    imported = import_folder(folder, out)
    recipe = imported.model.recipe
    parameters = sum(parameter.numel() for parameter in imported.model.parameters())
    for note in imported.notes:
        print(note)
    print(f"{out}: {recipe.name}, {parameters:,} parameters, {imported.tokenizer.size:,} tokens")
