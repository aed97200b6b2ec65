"""plume score"""

from __future__ import annotations

from typing import Annotated

import typer

from plume.cli._options import Language, Model, Texts


def run(
    model: Model,
    texts: Texts,
    memory: Annotated[
        int | None, typer.Option(help="Memory length in tokens, for families with a memory.  [default: as in training]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source text of an encoder–decoder or UniLM.")] = None,
    language: Language = None,
) -> None:
    """Log-probability (masked models: pseudo-log-likelihood) and perplexity of each text."""
    import plume

    scores = plume.load(model).score(texts, source=source, memory=memory, language=language)
    print("log p\ttokens\tperplexity\ttext")
    for text, score in zip(texts, scores, strict=True):
        print(f"{score.log_probability:.2f}\t{score.tokens}\t{score.perplexity:.2f}\t{text}")
