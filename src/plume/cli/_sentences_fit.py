"""plume sentences fit"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plume.cli._options import Device, Model

if TYPE_CHECKING:
    from plume.core.part import Part
    from plume.vectors.transform import Transform


def run(
    model: Model,
    out: Annotated[Path, typer.Option(help="Output model directory.")],
    text: Annotated[
        list[str] | None, typer.Option(help="Text to fit to: one sentence per line, JSONL, TSV or CSV; repeatable; - for stdin.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Field or column that holds the text.  [default: text; found in tables]")] = None,
    pooling: Annotated[
        str | None, typer.Option(help="mean, first, last, max or weighted.  [default: as the model's sentence.json, or by family]")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Layers that are pooled: 1,-1 is the first-last average; 0 is the embedding.")] = None,
    joined: Annotated[bool, typer.Option("--joined", help="Concatenate --layers instead of averaging them.")] = False,
    sif: Annotated[bool, typer.Option("--sif", help="Word vectors: smooth inverse frequency, less the first component.")] = False,
    centre: Annotated[bool, typer.Option("--centre", help="Subtract the mean.")] = False,
    whiten: Annotated[int | None, typer.Option(help="Whiten to N dimensions; 0 keeps all. For models that were only pre-trained.")] = None,
    pca: Annotated[int | None, typer.Option(help="Reduce to N principal components. For models trained by contrast.")] = None,
    flow: Annotated[bool, typer.Option("--flow", help="Fit a normalising flow (BERT-flow).")] = False,
    cut: Annotated[int | None, typer.Option(help="Keep the first N dimensions (Matryoshka).")] = None,
    normalise: Annotated[bool, typer.Option("--normalise/--no-normalise", help="Scale vectors to length one.")] = True,
    prompt: Annotated[str | None, typer.Option(help="Put this before every text.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of --flow.")] = 0,
    device: Device = "cpu",
) -> None:
    """Fit pooling and transforms to a corpus. They are saved with a copy of the model, and every embed uses them.

    Transforms are applied in this order: sif, centre, whiten or pca or flow, cut, normalise.
    """
    from plume.sentences.fitting import fit_sentences

    transforms = _transforms(sif=sif, centre=centre, whiten=whiten, pca=pca, flow=flow, cut=cut, normalise=normalise, seed=seed)
    made = fit_sentences(
        model,
        text or [],
        out,
        pooling=_pooling(pooling, layers, joined=joined, sif=sif),
        transforms=transforms,
        prompt=prompt,
        column=column,
        device=device,
        told=lambda line: print(f"plume: {line}", file=sys.stderr),
    )
    from plume.core.part import describe

    steps = ", ".join(describe(one) for one in made.transforms) or "none"
    print(
        f"{out}: pooling {'by family' if made.pooling is None else describe(made.pooling)}; {steps}; fitted to {made.sentences:,} sentences"
    )


def _pooling(word: str | None, layers: str | None, *, joined: bool, sif: bool) -> Part | None:
    from plume.core.errors import PlumeError

    if sif:
        if word is not None or layers is not None:
            raise PlumeError("--sif is a pooling of word vectors: leave out --pooling and --layers.")
        from plume.static.sif import SIF

        return SIF()
    if joined and layers is None:
        raise PlumeError("--joined concatenates several layers: name them with --layers.")
    if word is None and layers is None:
        return None
    from plume.cli._pooling import layer_numbers
    from plume.nn.pooling import pooling_of

    return pooling_of(word or "mean", layers=None if layers is None else layer_numbers(layers), joined=joined)


def _transforms(
    *, sif: bool, centre: bool, whiten: int | None, pca: int | None, flow: bool, cut: int | None, normalise: bool, seed: int
) -> list[Transform]:
    from plume.core.errors import PlumeError
    from plume.vectors.transforms.centre import Centre
    from plume.vectors.transforms.cut import Cut
    from plume.vectors.transforms.flow import Flow
    from plume.vectors.transforms.normalise import Normalise
    from plume.vectors.transforms.principal_components import PrincipalComponents
    from plume.vectors.transforms.whiten import Whiten
    from plume.vectors.transforms.without_component import WithoutComponent

    if (whiten is not None) + (pca is not None) + flow > 1:
        raise PlumeError("--whiten, --pca and --flow each give the vectors another space: choose one.")
    found: list[Transform | None] = [
        WithoutComponent() if sif else None,
        Centre() if centre else None,
        Whiten(dimensions=whiten or None) if whiten is not None else None,
        PrincipalComponents(dimensions=pca) if pca is not None else None,
        Flow(seed=seed) if flow else None,
        Cut(dimensions=cut) if cut is not None else None,
        Normalise() if normalise else None,
    ]
    return [one for one in found if one is not None]
