"""plume sentences: how a model's texts become vectors"""

from __future__ import annotations

import typer

from plume.cli import _sentences_fit, _sentences_static, _sentences_train
from plume.cli._own_parts import with_parts

app = typer.Typer(help="Fit or train a model's sentence vectors.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Sentence vectors: fit them to a corpus, or train them."""


app.command("fit")(with_parts(_sentences_fit.run))
app.command("train")(with_parts(_sentences_train.run))
app.command("static")(with_parts(_sentences_static.run))
