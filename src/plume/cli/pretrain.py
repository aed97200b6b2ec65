"""plume pretrain"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    recipe: Annotated[
        str | None,
        typer.Argument(help="A family or family/size, such as bert/tiny (see 'plume recipes'), or a file of your own: my_recipe.py."),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            help="Text or JSONL (families on pairs: .tsv, or two aligned files), plain or .gz, or a folder, repeatable. It needs no sentence ends."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The model directory to make.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="10m, 2h, 500steps, 5e6tokens or 1e14flops; word vectors: a time or tokens.  [default: 10m; word vectors: their epochs]"
        ),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run; with --budget, up to a new total.")] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="Train on this objective, with a weight: masked_lm=1; may be repeated, and replaces the recipe's own."),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a part: network.depth=4, training.peak=5e-4 …")] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Use this tokenizer.json, vocab.txt or run instead of training one.")] = None,
    init: Annotated[Path | None, typer.Option(help="Start from this model's weights and tokenizer.")] = None,
    lexicon: Annotated[
        Path | None,
        typer.Option(help="Phrases and entities, one a line, for recipes that hide them whole (ernie); without it they are mined."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes first weights, masks, order and dropout.")] = 0,
    accumulate: Annotated[int, typer.Option(help="Compute the batch in so many parts, to save memory.")] = 1,
    precision: Annotated[str, typer.Option(help="auto, fp32, bf16 or fp16.")] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    workers: Annotated[int, typer.Option(help="Threads that prepare batches.")] = 1,
    threads: Annotated[
        int | None, typer.Option(help="Of word vectors; with one, the same seed gives the same bits.  [default: all]")
    ] = None,
    save_every: Annotated[str, typer.Option(help="How often to write a checkpoint, as a budget.")] = "5m",
    log_every: Annotated[int, typer.Option(help="Steps between two lines of train/metrics.jsonl.")] = 10,
    shard: Annotated[bool, typer.Option("--fsdp", help="Under torchrun: spread parameters over the processes (FSDP).")] = False,
    recompute: Annotated[bool, typer.Option("--recompute", help="Gradient checkpointing: less memory, more time.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard files.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while training.")] = False,
) -> None:
    """Pre-train a family on your own text. Ctrl-C saves and leaves; --resume goes on."""
    from plume.core.errors import PlumeError
    from plume.train import runs

    if resume is not None:
        if recipe is not None or corpus or out is not None or set_ or objective or lexicon is not None:
            raise PlumeError("--resume takes the run's own recipe, corpus and settings: give only --budget with it.")
        stopped = runs.go_on(resume, budget=budget, quiet=quiet)
        _say_goodbye(resume, stopped, quiet=quiet)
        return
    if recipe is None or not corpus or out is None:
        raise PlumeError("Say what to train, on what, and where to: plume pretrain bert/tiny --corpus corpus.txt --out runs/bert")
    # What was left as it is, is not passed on: word vectors have no use for most of it, and say so where it is given.
    given = {
        "tokenizer": tokenizer, "init": init, "lexicon": lexicon, "accumulate": accumulate if accumulate != 1 else None,
        "precision": precision if precision != "auto" else None, "device": device if device != "auto" else None,
        "workers": workers if workers != 1 else None, "log_every": log_every if log_every != 10 else None, "shard": shard or None,
        "recompute": recompute or None, "tensorboard": tensorboard or None, "threads": threads,
    }  # fmt: skip
    stopped = runs.start(
        recipe, corpus=corpus, out=out, budget=budget, objectives=objective or [], overrides=set_ or [], seed=seed, save_every=save_every,
        quiet=quiet, **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    _say_goodbye(out, stopped, quiet=quiet)


def _say_goodbye(folder: Path, stopped_by: str | None, *, quiet: bool) -> None:
    """Where the model is and what to do next; a run that a signal ended leaves with the signal's usual code."""
    import signal

    from rich.console import Console

    from plume.train.card import CARD

    console = Console(stderr=True, quiet=quiet, highlight=False)
    if stopped_by is None:
        console.print(f"done: {folder} (read {folder / CARD})")
        return
    console.print(f"stopped by {stopped_by}, and saved. Go on: plume pretrain --resume {folder}")
    raise SystemExit(128 + getattr(signal, stopped_by, signal.SIGTERM))
