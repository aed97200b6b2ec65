"""plume fill"""

from __future__ import annotations

from typing import Annotated

import typer

from plume.cli._options import Language, Model


def run(
    model: Model,
    text: Annotated[str, typer.Argument(help="Text with blanks: ___ or the family's mask token ([MASK]; RoBERTa: <mask>).")],
    top: Annotated[int, typer.Option(help="Number of candidates per blank.")] = 5,
    language: Language = None,
) -> None:
    """Fill in the blanks of a text (masked language modelling)."""
    import plume

    for number, guesses in enumerate(plume.load(model).fill(text, top=top, language=language)):
        if number:
            print()
        for guess in guesses:
            print(f"{guess.probability:6.1%}  {guess.token}\t{guess.text}")
