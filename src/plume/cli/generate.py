"""plume generate"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from plume.cli._options import Language, Model


def run(
    model: Model,
    prompt: Annotated[str, typer.Argument(help="Text to continue.")] = "",
    max_tokens: Annotated[int, typer.Option(help="Maximum number of new tokens.")] = 50,
    temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Sample from the k most likely tokens; 0 for all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Nucleus sampling: sample from the most likely tokens with this total probability.")] = 1.0,
    greedy: Annotated[bool, typer.Option("--greedy", help="Greedy decoding instead of sampling.")] = False,
    beams: Annotated[int, typer.Option(help="Beam search with this many beams.")] = 1,
    repetition_penalty: Annotated[float, typer.Option(help="Penalty for tokens that already occur; 1 for none, CTRL uses 1.2.")] = 1.0,
    samples: Annotated[int, typer.Option(help="Number of texts to generate.")] = 1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    source: Annotated[
        str | None, typer.Option(help="Source text of an encoder–decoder or UniLM; the prompt is then the beginning of the output.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="Control code (CTRL): a label of the training corpus.")] = None,
    language: Language = None,
) -> None:
    """Generate text: continue a prompt, or answer --source."""
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
