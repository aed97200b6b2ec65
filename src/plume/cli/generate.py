"""plume generate"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plume.cli._language import LANGUAGE


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    prompt: Annotated[str, typer.Argument(help="The text to go on from.")] = "",
    max_tokens: Annotated[int, typer.Option(help="Write at most so many tokens.")] = 50,
    temperature: Annotated[float, typer.Option(help="Below 1 safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Choose among the k likeliest only; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Choose among the likeliest that make up this mass.")] = 1.0,
    greedy: Annotated[bool, typer.Option("--greedy", help="Always take the likeliest token.")] = False,
    beams: Annotated[int, typer.Option(help="Beam search with so many beams.")] = 1,
    repetition_penalty: Annotated[
        float, typer.Option(help="Above 1, tokens that stand in the text already are less likely; 1.2 is CTRL's. 1: none.")
    ] = 1.0,
    samples: Annotated[int, typer.Option(help="Write so many texts.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed writes the same text.")] = 0,
    source: Annotated[
        str | None, typer.Option(help="What an encoder–decoder or UniLM reads before it writes; the prompt is how its answer begins.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="A control code (CTRL): a label of the corpus that the model was trained on.")] = None,
    language: Annotated[str | None, typer.Option(help=LANGUAGE)] = None,
) -> None:
    """Go on with a text."""
    import plume

    loaded = plume.load(model)
    options: dict[str, Any] = {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "greedy": greedy,
        "beams": beams,
        "repetition_penalty": repetition_penalty,
        "code": code,
        "source": source,
        "language": language,
    }
    if samples == 1 and sys.stdout.isatty():
        for piece in loaded.stream(prompt, seed=seed, **options):
            print(piece, end="", flush=True)
        print()
        return
    for text in loaded.generate([prompt] * samples, seed=list(range(seed, seed + samples)), **options):
        print(text)
