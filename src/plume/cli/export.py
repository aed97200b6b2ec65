"""plume export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    out: Annotated[Path, typer.Option(help="The directory to make.")],
    to: Annotated[str, typer.Option(help="The format: hf, a directory that transformers loads.")] = "hf",
) -> None:
    """Write a model for other tools."""
    import plume
    from plume.core.errors import PlumeError, suggest

    if to != "hf":
        raise PlumeError(f"There is no export format '{to}': {suggest(to, ['hf'])}.")
    plume.export_hf(model, out=out)
    print(f"{out}: load it with transformers.AutoModel.from_pretrained('{out}')")
