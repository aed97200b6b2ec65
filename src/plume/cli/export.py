"""plume export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="A model directory.")],
    out: Annotated[Path, typer.Option(help="The directory to make; of word vectors the file.")],
    to: Annotated[
        str | None,
        typer.Option(
            help="hf, a directory that transformers loads; of word vectors word2vec (text), word2vec-binary, fasttext.  "
            "[default: hf; of word vectors by the file's name]"
        ),
    ] = None,
    task: Annotated[str | None, typer.Option(help="Of a model tuned for several tasks, the one whose head goes along.")] = None,
) -> None:
    """Write a model for other tools."""
    import plume
    from plume.core.errors import PlumeError, suggest
    from plume.static.model import is_word_model
    from plume.tuning.declared import is_tuned

    if is_word_model(model) and not is_tuned(model):
        from plume.static.exchange import export_vectors

        print(f"{out}: {export_vectors(model, out, to=to)}")
        return
    if to not in (None, "hf"):
        assert to is not None
        raise PlumeError(f"There is no export format '{to}': {suggest(to, ['hf'])}.")
    plume.export_hf(model, out=out, task=task)
    print(f"{out}: load it with transformers.AutoModel.from_pretrained('{out}')")
