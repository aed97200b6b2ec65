"""plume fill"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._language import LANGUAGE


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    text: Annotated[str, typer.Argument(help="Text with [MASK] (RoBERTa: <mask>) where a token is missing.")],
    top: Annotated[int, typer.Option(help="How many guesses for each blank.")] = 5,
    language: Annotated[str | None, typer.Option(help=LANGUAGE)] = None,
) -> None:
    """Fill in the blanks of a text."""
    import plume

    for number, guesses in enumerate(plume.load(model).fill(text, top=top, language=language)):
        if number:
            print()
        for guess in guesses:
            print(f"{guess.probability:6.1%}  {guess.token}\t{guess.text}")
