"""plume embed"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from plume.cli._language import LANGUAGE


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    texts: Annotated[list[str], typer.Argument(help="One or more texts.")],
    pooling: Annotated[
        str | None,
        typer.Option(help="mean, first, last, max or weighted; of word vectors mean or sif.  [default: as the family is meant to be]"),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Of a network: -1 the last, 0 the embeddings.  [default: -1]")] = None,
    language: Annotated[str | None, typer.Option(help=LANGUAGE)] = None,
) -> None:
    """One vector a text, as JSON lines."""
    import plume

    given: dict[str, Any] = {
        name: value for name, value in (("pooling", pooling), ("layer", layer), ("language", language)) if value is not None
    }
    for text, vector in zip(texts, plume.load(model).embed(texts, **given), strict=True):
        print(json.dumps({"text": text, "vector": [round(float(value), 6) for value in vector]}, ensure_ascii=False))
