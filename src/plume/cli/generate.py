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
    samples: Annotated[
        int | None, typer.Option("--samples", "-n", help="Number of texts to generate.  [default: 1; 5 paraphrases]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    source: Annotated[
        str | None, typer.Option(help="Source text of an encoder–decoder or UniLM; the prompt is then the beginning of the output.")
    ] = None,
    paraphrase: Annotated[
        str | None,
        typer.Option(help="Text to paraphrase, with a model trained by 'plume sentences train --method simbert'; the nearest first."),
    ] = None,
    code: Annotated[str | None, typer.Option(help="Control code (CTRL): a label of the training corpus.")] = None,
    language: Language = None,
) -> None:
    """Generate text: continue a prompt, answer --source, or --paraphrase a text."""
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
    }
    if paraphrase is not None:
        _paraphrase(loaded, paraphrase, samples or 5, seed=seed, options=options)
        return
    options |= {"code": code, "source": source, "language": language}
    samples = samples or 1
    if samples == 1 and sys.stdout.isatty():
        for piece in loaded.stream(prompt, seed=seed, **options):
            print(piece, end="", flush=True)
        print()
        return
    for text in loaded.generate([prompt] * samples, seed=list(range(seed, seed + samples)), **options):
        print(text)


def _paraphrase(loaded: Any, text: str, count: int, *, seed: int, options: dict[str, Any]) -> None:
    from plume.core.errors import PlumeError
    from plume.model.use.language_model import LanguageModel
    from plume.sentences.paraphrasing import TOP_P, paraphrase

    if not isinstance(loaded, LanguageModel):
        raise PlumeError("--paraphrase is for a model of 'plume sentences train --method simbert', and this is none.")
    options |= {"top_p": TOP_P} if options["top_p"] == 1.0 else {}
    for written, cosine in paraphrase(loaded, text, count=count, seed=seed, **options):
        print(f"{cosine:.3f}\t{written}")
