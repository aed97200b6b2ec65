"""plume embed"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    texts: Annotated[list[str], typer.Argument(help="One or more texts.")],
    pooling: Annotated[str, typer.Option(help="mean, first, last or max.")] = "mean",
    layer: Annotated[int, typer.Option(help="-1 the last, 0 the embeddings.")] = -1,
) -> None:
    """One vector a text, as JSON lines."""
    import plume

    for text, vector in zip(texts, plume.load(model).embed(texts, pooling=pooling, layer=layer), strict=True):
        print(json.dumps({"text": text, "vector": [round(float(value), 6) for value in vector]}, ensure_ascii=False))
