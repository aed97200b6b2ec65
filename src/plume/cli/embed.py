"""plume embed"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from plume.cli._options import Language, Model, Texts


def run(
    model: Model,
    texts: Texts,
    pooling: Annotated[
        str | None, typer.Option(help="mean, first, last, max or weighted; word vectors: mean or sif.  [default: by family]")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer of a network: -1 is the last, 0 the embedding.  [default: -1]")] = None,
    language: Language = None,
) -> None:
    """Embed texts: one vector per text, as JSON lines."""
    import plume

    given: dict[str, Any] = {
        name: value for name, value in (("pooling", pooling), ("layer", layer), ("language", language)) if value is not None
    }
    for text, vector in zip(texts, plume.load(model).embed(texts, **given), strict=True):
        print(json.dumps({"text": text, "vector": [round(float(value), 6) for value in vector]}, ensure_ascii=False))
