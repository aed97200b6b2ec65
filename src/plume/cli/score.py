"""plume score"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    texts: Annotated[list[str], typer.Argument(help="One or more texts.")],
) -> None:
    """How likely the model finds each text: log-probability (pseudo-log-likelihood for masked models) and perplexity."""
    import plume

    print("log p\ttokens\tperplexity\ttext")
    for text, score in zip(texts, plume.load(model).score(texts), strict=True):
        print(f"{score.log_probability:.2f}\t{score.tokens}\t{score.perplexity:.2f}\t{text}")
