"""plume tune"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plume.cli._language import LANGUAGES

if TYPE_CHECKING:
    from plume.tuning.tune import Tuned


def run(
    model: Annotated[
        Path | None, typer.Argument(help="A model directory: pre-trained, imported, of word vectors, or tuned before.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="What for, such as ner (see 'plume tasks'). Several on one body: --task ner=train.conll,dev.conll "
            "--task topic:classification=train.tsv,dev.tsv"
        ),
    ] = None,
    train: Annotated[list[Path] | None, typer.Option(help="The file to learn from; given again: aligned files, one a column.")] = None,
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="The file that says which measurement was best.  [default: a tenth of the training examples]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The model directory to make.")] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="full: all of it learns; features: a network on frozen layers; probe: a linear layer; adapters: low-rank changes.  "
            "[default: full; features for word vectors and ELMo]"
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            help="How a text becomes the one vector that a head labels: mean, first, last, max or weighted.  "
            "[default: as the family and the mode have it]"
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Data: a column of text, by name or number; twice for pairs.")] = None,
    label: Annotated[str | None, typer.Option(help="Data: the column of the answer, by name or number.")] = None,
    language: Annotated[str | None, typer.Option(help=f"Data: {LANGUAGES[0].lower()}{LANGUAGES[1:]}")] = None,
    epochs: Annotated[float | None, typer.Option(help="Training: passes over the data.  [default: 3 to 20, by the data's size]")] = None,
    batch: Annotated[int | None, typer.Option(help="Training: examples a step.  [default: 8 to 32, by the data's size]")] = None,
    rate: Annotated[float | None, typer.Option(help="Training: the largest step.  [default: by the model's width and the mode]")] = None,
    length: Annotated[int | None, typer.Option(help="Training: the longest row in tokens.  [default: as in pre-training]")] = None,
    budget: Annotated[str | None, typer.Option(help="Training: 10m, 500steps … instead of --epochs.")] = None,
    seed: Annotated[int, typer.Option(help="Training: fixes the head's first weights, the order and dropout.")] = 0,
    from_scratch: Annotated[bool, typer.Option("--from-scratch", help="Training: forget the pre-training first, as the control.")] = False,
    metric: Annotated[str | None, typer.Option(help="Training: which dev score chooses the best model.  [default: the task's]")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Training: end after so many measurements without a better one.  [default: 4]")
    ] = None,
    dropout: Annotated[float | None, typer.Option(help="Training: a share of states to drop.  [default: 0.1 for Transformers]")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help='Training: a part: layer_decay=0.9, thaw=0.5, "schedule=SlantedTriangular()". May be given again.'),
    ] = None,
    freeze: Annotated[int | None, typer.Option(help="Mode full: the embedding and the first so many layers do not learn.")] = None,
    rank: Annotated[int | None, typer.Option(help="Mode adapters: the rank.")] = None,
    place: Annotated[str | None, typer.Option(help="Mode features: mixed layers at the network's input, output or both.")] = None,
    layer: Annotated[int | None, typer.Option(help="Mode probe: the layer, 0 is the embedding.  [default: the last]")] = None,
    adapt: Annotated[list[str] | None, typer.Option(help="Any mode: a field, as in network.width=128. May be given again.")] = None,
    crf: Annotated[bool, typer.Option("--crf", help="Tagging: a sentence's labels are chosen together.")] = False,
    answer: Annotated[str | None, typer.Option(help="Encoder–decoders: answer by text, or by a head.")] = None,
    task_set: Annotated[
        list[str] | None,
        typer.Option(help="The task: a field, as in longest_answer=50; of several: ner.crf=true. May be given again."),
    ] = None,
    accumulate: Annotated[int | None, typer.Option(help="Machine: compute the batch in so many parts, to save memory.")] = None,
    precision: Annotated[str | None, typer.Option(help="Machine: auto, fp32, bf16 or fp16.  [default: auto]")] = None,
    device: Annotated[str | None, typer.Option(help="Machine: auto, cpu, cuda, mps.  [default: auto]")] = None,
    save_every: Annotated[str | None, typer.Option(help="Run: how often to write a checkpoint, as a budget.  [default: 5m]")] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Run: also write TensorBoard files.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Run: say nothing.")] = False,
    resume: Annotated[Path | None, typer.Option(help="Run: go on with this one, from its last checkpoint.")] = None,
) -> None:
    """Tune a model for a task, from plain data files. Ctrl-C saves and leaves; --resume goes on."""
    from plume.core.errors import PlumeError
    from plume.tuning.options import start_from_options
    from plume.tuning.tune import resume as go_on

    # What was not given is not passed on: what it is then, is decided where the model and the data are known.
    given = {
        "epochs": epochs, "batch": batch, "rate": rate, "length": length, "budget": budget, "metric": metric, "patience": patience,
        "answer": answer, "accumulate": accumulate, "precision": precision, "device": device, "save_every": save_every, "mode": mode,
        "pooling": pooling, "label": label, "language": language, "from_scratch": from_scratch or None,
        "tensorboard": tensorboard or None, "seed": seed or None,
    }  # fmt: skip
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    changes = {"frozen_layers": freeze, "adapters.rank": rank, "place": place, "layer": layer, "dropout": dropout}
    adapted = [*(f"{name}={value}" for name, value in changes.items() if value is not None), *(adapt or ())]
    if resume is not None:
        if model is not None or out is not None or task or train or dev or text or set_ or options or adapted or crf or task_set:
            raise PlumeError("--resume takes the run's own model, task, files and settings: give nothing else with it.")
        _finish(go_on(resume, quiet=quiet), quiet=quiet)
        return
    if model is None or not task or out is None:
        raise PlumeError(
            "Say which model, for what, from which files, and where to: "
            "plume tune runs/bert --task ner --train train.conll --dev dev.conll --out runs/bert-ner"
        )
    made = start_from_options(
        model, task=task, train=train or None, dev=dev or None, out=out, text=text or (), adapt=adapted, overrides=set_ or (),
        task_options=task_set or (), crf=crf, quiet=quiet, **options,
    )  # fmt: skip
    _finish(made, quiet=quiet)


def _finish(made: Tuned, *, quiet: bool) -> None:
    """The best scores, where the model is, what to do next; a run that a signal ended leaves with the signal's usual code."""
    from plume.cli._scores import print_scores
    from plume.tuning.declared import read_declaration

    stopped = made.outcome.stopped_by
    if stopped is not None:
        if not quiet:
            print(f"stopped by {stopped}, and saved. Go on: plume tune --resume {made.folder}", file=sys.stderr)
        raise SystemExit(128 + getattr(signal, stopped, signal.SIGTERM))
    if quiet:
        return
    print_scores(made.scores, title="on dev, the best")
    tasks = read_declaration(made.folder).tasks
    which = f" --task {tasks[0].called}" if len(tasks) > 1 else ""
    print(
        f"\n{made.folder} (read {made.folder / 'card.md'}). Next:\n"
        f'  plume predict {made.folder}{which} "…"\n'
        f"  plume predict {made.folder}{which} input.txt --out out.jsonl\n"
        f"  plume eval {made.folder}{which} --data FILE"
    )
