"""plume sentences static"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._options import Model


def run(
    model: Model,
    out: Annotated[Path, typer.Option(help="Output model directory, of word vectors.")],
    text: Annotated[list[str], typer.Option(help="Text in which tokens are counted: one per line, JSONL, TSV or CSV; repeatable.")],
    column: Annotated[str | None, typer.Option(help="Field or column that holds the text.  [default: text; found in tables]")] = None,
    dimensions: Annotated[int, typer.Option(help="Principal components that are kept.")] = 256,
    smoothing: Annotated[float | None, typer.Option(help="a of the weights a / (a + p).  [default: 0.001]")] = None,
) -> None:
    """Distil static vectors from an encoder: one per token, so that a text is embedded in microseconds."""
    from plume.sentences.static_distillation import distil_static

    given = {} if smoothing is None else {"smoothing": smoothing}
    made = distil_static(model, text, out, dimensions=dimensions, column=column, **given)
    print(f"{out}: {len(made.vectors):,} tokens × {made.width}")
