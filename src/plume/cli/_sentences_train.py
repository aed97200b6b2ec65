"""plume sentences train"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plume.cli._training import (
    Budgeted,
    OutFolder,
    Precision,
    QuietRun,
    Resumed,
    SaveEvery,
    TensorBoard,
    TrainingDevice,
    end_if_stopped,
    given,
)

if TYPE_CHECKING:
    from plume.sentences.training import Trained


def run(
    model: Annotated[Path | None, typer.Argument(help="Model directory: pre-trained, imported, or trained before.")] = None,
    method: Annotated[
        str, typer.Option(help="simcse, simcse-supervised, ranking, cosent, cosine, simbert, or matryoshka (ranking at several widths).")
    ] = "simcse",
    text: Annotated[
        list[Path] | None,
        typer.Option(help="Data: plain text, a sentence a line; or TSV, CSV or JSONL with pairs, scored pairs, or triples; repeatable."),
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="Data: scored pairs; the checkpoint with the best Spearman correlation is kept.")] = None,
    out: OutFolder = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Data: text column, by name or number; twice for pairs, three times for triples.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="Data: score column, by name or number.")] = None,
    dimensions: Annotated[str | None, typer.Option(help="Matryoshka: train these cuts of the vectors too, such as 128,64.")] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            help="mean, first (or cls), last, max or weighted.  [default: the model's own; first for SimCSE on models wider than 512]"
        ),
    ] = None,
    language: Annotated[str | None, typer.Option(help="Multilingual models (xlm): language of the texts.  [default: detected]")] = None,
    epochs: Annotated[float | None, typer.Option(help="Training: epochs.  [default: the method's, 1 to 5]")] = None,
    batch: Annotated[
        int | None, typer.Option(help="Training: batch size, which is also how many negatives there are.  [default: 32 to 128]")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Training: peak learning rate.  [default: by model width and method]")] = None,
    length: Annotated[int | None, typer.Option(help="Training: maximum sequence length in tokens.  [default: 32 or 64]")] = None,
    dropout: Annotated[float | None, typer.Option(help="Training: dropout probability.  [default: 0.1]")] = None,
    budget: Budgeted = None,
    seed: Annotated[int, typer.Option(help="Training: random seed of data order and dropout.")] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", help='Training: a setting: "schedule=Constant()"; repeatable.')] = None,
    accumulate: Annotated[
        int | None, typer.Option(help="Machine: read a batch in so many parts, to save memory; negatives are still the whole batch's.")
    ] = None,
    precision: Precision = None,
    device: TrainingDevice = None,
    save_every: SaveEvery = None,
    tensorboard: TensorBoard = False,
    quiet: QuietRun = False,
    resume: Resumed = None,
) -> None:
    """Train a model's sentence vectors. Ctrl-C saves and exits; --resume continues."""
    from plume.core.errors import PlumeError
    from plume.sentences.options import start_from_options
    from plume.sentences.training import resume as go_on

    options: dict[str, Any] = given(
        epochs=epochs, batch=batch, rate=rate, length=length, budget=budget, accumulate=accumulate, precision=precision, device=device,
        save_every=save_every, pooling=pooling, language=language, dropout=dropout, dimensions=dimensions, score=score,
        tensorboard=tensorboard or None, seed=seed or None, dev=dev, columns=column, overrides=set_,
    )  # fmt: skip
    if resume is not None:
        if model is not None or out is not None or text or options:
            raise PlumeError("--resume uses the model, files and settings of the run: give no other option with it.")
        _finish(go_on(resume, quiet=quiet), quiet=quiet)
        return
    if model is None or not text or out is None:
        raise PlumeError(
            "A model, a file of texts and an output directory are needed: plume sentences train runs/bert --method simcse --text corpus.txt "
            "--out runs/simcse"
        )
    _finish(start_from_options(model, method=method, text=text, out=out, quiet=quiet, **options), quiet=quiet)


def _finish(made: Trained, *, quiet: bool) -> None:
    """Print the scores, the model's place and next steps; a run ended by a signal exits with the signal's usual code."""
    from plume.cli._scores import print_scores

    end_if_stopped(made.outcome.stopped_by, "sentences train", made.folder, quiet=quiet)
    if quiet:
        return
    if made.scores:
        print_scores(made.scores, title="best on dev")
    print(
        f"\n{made.folder} (model card: {made.folder / 'card.md'}). Next:\n"
        f'  plume embed {made.folder} "…"\n'
        f"  plume eval {made.folder} --sts FILE"
    )
