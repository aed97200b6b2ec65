"""plume score"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._language import LANGUAGE


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    texts: Annotated[list[str], typer.Argument(help="One or more texts.")],
    memory: Annotated[
        int | None, typer.Option(help="Look back so many tokens, where the family has a memory (default: as in training).")
    ] = None,
    source: Annotated[str | None, typer.Option(help="What an encoder–decoder or UniLM reads before it writes the texts.")] = None,
    language: Annotated[str | None, typer.Option(help=LANGUAGE)] = None,
) -> None:
    """How likely the model finds each text: log-probability (pseudo-log-likelihood for masked models) and perplexity."""
    import plume

    scores = plume.load(model).score(texts, source=source, memory=memory, language=language)
    print("log p\ttokens\tperplexity\ttext")
    for text, score in zip(texts, scores, strict=True):
        print(f"{score.log_probability:.2f}\t{score.tokens}\t{score.perplexity:.2f}\t{text}")
