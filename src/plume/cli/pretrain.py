"""plume pretrain"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._training import end_if_stopped


def run(
    recipe: Annotated[
        str | None,
        typer.Argument(help="Family or family/size, such as bert/tiny (see 'plume recipes'), or a recipe file of your own: my_recipe.py."),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(help="Text or JSONL (translation families: .tsv or two aligned files), plain or .gz, or a folder; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output model directory.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="10m, 2h, 500steps, 5e6tokens or 1e14flops; word vectors: time or tokens.  [default: 10m; word vectors: the epochs of the recipe]"
        ),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Resume this run; with --budget, up to a new total.")] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="Training objective with its weight, such as masked_lm=1; repeatable; replaces those of the recipe."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting: network.depth=4, training.peak=5e-4; repeatable.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Use this tokenizer.json, vocab.txt or model directory instead of training a tokenizer.")
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            help="Start from the weights and tokenizer of this model, plume's or a Hugging Face directory. Without a recipe it goes on with its "
            "family's objective: rows of up to 128 tokens, 8 a step (32 where it was trained so), a learning rate of up to 0.128/width after a "
            "warm-up of 6%, its own dropout; a head that it lacks is made."
        ),
    ] = None,
    add_words: Annotated[
        int,
        typer.Option(help="With --init: add so many words of the corpus that its tokenizer cuts into pieces, each started as their mean."),
    ] = 0,
    kb: Annotated[
        Path | None,
        typer.Option(
            help="Knowledge base (plume kb build), for families that are built for one; the corpus is linked to it (plume kb link)."
        ),
    ] = None,
    lexicon: Annotated[
        Path | None,
        typer.Option(
            help="Phrases and entities, one per line, for families that mask them whole (ernie).  [default: mined from the corpus]"
        ),
    ] = None,
    documents: Annotated[
        list[Path] | None,
        typer.Option(
            help="Documents to look things up in (realm): JSONL with title and text, or plain text; repeatable.  [default: the corpus itself]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of initial weights, masking, data order and dropout.")] = 0,
    accumulate: Annotated[int, typer.Option(help="Gradient accumulation steps per batch, to save memory.")] = 1,
    precision: Annotated[str, typer.Option(help="auto, fp32, bf16 or fp16.")] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    workers: Annotated[int, typer.Option(help="Threads that prepare batches.")] = 1,
    threads: Annotated[
        int | None, typer.Option(help="Word vectors: training threads; with one thread runs are reproducible bit for bit.  [default: all]")
    ] = None,
    save_every: Annotated[str, typer.Option(help="Checkpoint interval, as a budget.")] = "5m",
    log_every: Annotated[int, typer.Option(help="Logging interval in steps (train/metrics.jsonl).")] = 10,
    shard: Annotated[bool, typer.Option("--fsdp", help="Under torchrun: shard the model over the processes (FSDP).")] = False,
    recompute: Annotated[bool, typer.Option("--recompute", help="Gradient checkpointing: less memory, more time.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard logs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing while training.")] = False,
) -> None:
    """Pre-train a family on your own text. Ctrl-C saves and exits; --resume continues."""
    from plume.core.errors import PlumeError
    from plume.train import runs

    if resume is not None:
        if recipe is not None or corpus or out is not None or set_ or objective or lexicon is not None or documents or kb is not None:
            raise PlumeError("--resume uses the recipe, corpus and settings of the run: only --budget can be given with it.")
        stopped = runs.go_on(resume, budget=budget, quiet=quiet)
        _say_what_next(resume, stopped, quiet=quiet)
        return
    if (recipe is None and init is None) or not corpus or out is None:
        missing = [what for what, value in (("a recipe", recipe or init), ("--corpus", corpus), ("--out", out)) if not value]
        raise PlumeError(f"{' and '.join(missing)} missing: plume pretrain bert/tiny --corpus corpus.txt --out runs/bert")
    # What was left as it is, is not passed on: word vectors have no use for most of it, and say so where it is given.
    given = {
        "tokenizer": tokenizer, "init": init, "add_words": add_words or None, "lexicon": lexicon, "documents": documents, "kb": kb,
        "accumulate": accumulate if accumulate != 1 else None,
        "precision": precision if precision != "auto" else None, "device": device if device != "auto" else None,
        "workers": workers if workers != 1 else None, "log_every": log_every if log_every != 10 else None, "shard": shard or None,
        "recompute": recompute or None, "tensorboard": tensorboard or None, "threads": threads,
    }  # fmt: skip
    stopped = runs.start(
        recipe, corpus=corpus, out=out, budget=budget, objectives=objective or [], overrides=set_ or [], seed=seed, save_every=save_every,
        quiet=quiet, **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    _say_what_next(out, stopped, quiet=quiet)


def _say_what_next(folder: Path, stopped_by: str | None, *, quiet: bool) -> None:
    """Where the model is and what to do next; a run that a signal ended leaves with the signal's usual code."""
    from rich.console import Console

    from plume.train.card import CARD

    console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)  # a command must stay one line
    if stopped_by is None:
        console.print(f"saved to {folder} (model card: {folder / CARD})")
    end_if_stopped(stopped_by, "pretrain", folder, quiet=quiet)
