"""plume tune"""

from __future__ import annotations

import sys
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
    from plume.tuning.tune import Tuned


def run(
    model: Annotated[
        Path | None,
        typer.Argument(help="Model directory: pre-trained, imported, word vectors, or fine-tuned before; or tfidf, which needs none."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Task, such as ner (see 'plume tasks'). Several with a shared encoder: --task ner=train.conll,dev.conll "
            "--task topic:classification=train.tsv,dev.tsv"
        ),
    ] = None,
    train: Annotated[list[Path] | None, typer.Option(help="Training file; repeat for aligned files, one per column.")] = None,
    dev: Annotated[
        list[Path] | None, typer.Option(help="Development file, for model selection.  [default: a tenth of the training examples]")
    ] = None,
    documents: Annotated[
        list[Path] | None, typer.Option(help="Tasks retrieval, rag and multihop: documents to search (JSONL: id, title, text); repeatable.")
    ] = None,
    retriever: Annotated[
        Path | None, typer.Option(help="Task rag: model directory that finds passages, as of --task retrieval.  [default: BM25]")
    ] = None,
    out: OutFolder = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="full: all weights; features: a small network on frozen layers; probe: a linear layer on a frozen layer; "
            "adapters: low-rank adapters (LoRA); prefix: keys and values in front of every layer.  "
            "[default: full; features for word vectors and ELMo]"
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            help="Pooling of a text into the vector that is classified: mean, first, last, max, weighted, or cls for the family's own token.  "
            "[default: by family and mode; mean for tiny and mini with fewer than 4,000 examples]"
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="Data: text column, by name or number; twice for pairs.")] = None,
    label: Annotated[str | None, typer.Option(help="Data: label column, by name or number.")] = None,
    kb: Annotated[Path | None, typer.Option(help="Data: knowledge base directory, for questions to it (see 'plume kb').")] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Data: language of all texts for multilingual models (xlm), or en,de for pairs.  [default: from the rows, or detected]"
        ),
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="Training: epochs.  [default: 3 to 20, by dataset size]")] = None,
    batch: Annotated[int | None, typer.Option(help="Training: batch size.  [default: 8 to 32, by dataset size]")] = None,
    rate: Annotated[float | None, typer.Option(help="Training: peak learning rate.  [default: by model width and mode]")] = None,
    length: Annotated[int | None, typer.Option(help="Training: maximum sequence length in tokens.  [default: as in pre-training]")] = None,
    budget: Budgeted = None,
    seed: Annotated[int, typer.Option(help="Training: random seed of head initialisation, data order and dropout.")] = 0,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Training: discard the pre-trained weights first, as a baseline.")
    ] = False,
    metric: Annotated[str | None, typer.Option(help="Training: dev metric for model selection.  [default: the task's]")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Training: early stopping after this many evaluations without improvement.  [default: 4]")
    ] = None,
    dropout: Annotated[float | None, typer.Option(help="Training: dropout probability.  [default: 0.1 for Transformers]")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help='Training: a setting: layer_decay=0.9, thaw=0.5, "schedule=SlantedTriangular()"; repeatable.'),
    ] = None,
    freeze: Annotated[int | None, typer.Option(help="Mode full: freeze the embedding and the first N layers.")] = None,
    rank: Annotated[int | None, typer.Option(help="Mode adapters: rank of the adapters.")] = None,
    place: Annotated[str | None, typer.Option(help="Mode features: where the mixed layers enter: input, output or both.")] = None,
    layer: Annotated[int | None, typer.Option(help="Mode probe: layer to probe; 0 is the embedding.  [default: the last]")] = None,
    adapt: Annotated[list[str] | None, typer.Option(help="Any mode: a setting of the mode, such as network.width=128; repeatable.")] = None,
    crf: Annotated[
        bool | None,
        typer.Option(
            "--crf/--no-crf",
            help="Tagging: use a CRF output layer.",
            show_default="for entities and words, with tiny and mini models and with features",
        ),
    ] = None,
    long: Annotated[
        str | None,
        typer.Option(
            help="Question answering: how texts longer than a row are read: windows, or recall of the parts that matter (CogLTX).  "
            "[default: windows]"
        ),
    ] = None,
    answer: Annotated[str | None, typer.Option(help="Encoder–decoders: answer by text (generate labels) or by a head.")] = None,
    task_set: Annotated[
        list[str] | None, typer.Option(help="Task: a setting, such as longest_answer=50; with several tasks ner.crf=true; repeatable.")
    ] = None,
    accumulate: Annotated[int | None, typer.Option(help="Machine: gradient accumulation steps per batch, to save memory.")] = None,
    precision: Precision = None,
    device: TrainingDevice = None,
    save_every: SaveEvery = None,
    tensorboard: TensorBoard = False,
    quiet: QuietRun = False,
    resume: Resumed = None,
) -> None:
    """Fine-tune a model for a task, from plain data files. Ctrl-C saves and exits; --resume continues."""
    from plume.cli import _own_runs as _own
    from plume.core.errors import PlumeError
    from plume.tuning.options import start_from_options
    from plume.tuning.tune import resume as go_on

    options: dict[str, Any] = given(
        epochs=epochs, batch=batch, rate=rate, length=length, budget=budget, metric=metric, patience=patience, answer=answer,
        accumulate=accumulate, precision=precision, device=device, save_every=save_every, mode=mode, pooling=pooling, label=label,
        language=language, from_scratch=from_scratch or None, long=long, tensorboard=tensorboard or None, seed=seed or None,
    )  # fmt: skip
    changes = {"frozen_layers": freeze, "adapters.rank": rank, "place": place, "layer": layer, "dropout": dropout}
    adapted = [*(f"{name}={value}" for name, value in changes.items() if value is not None), *(adapt or ())]
    if resume is not None:
        given_too = (model, out, task, train, dev, documents, retriever, text, set_, options, adapted, crf is not None, task_set, kb)
        if any(given_too):
            raise PlumeError("--resume uses the model, task, files and settings of the run: give no other option with it.")
        if not _own.resumed(resume, quiet=quiet):
            _finish(go_on(resume, quiet=quiet), quiet=quiet)
        return
    if model is None or not task or out is None:
        raise PlumeError(
            "A model, a task, its files and an output directory are needed: "
            "plume tune runs/bert --task ner --train train.conll --dev dev.conll --out runs/bert-ner"
        )
    if _own.has_run_of_its_own(task):
        own = options | {
            "dropout": dropout,
            "overrides": set_ or (),
            "task_options": task_set or (),
            "text": text,
            "crf": crf,
            "freeze": freeze,
            "kb": kb,
        }
        _own.begin(model, task, train=train, dev=dev, documents=documents, retriever=retriever, out=out, quiet=quiet, **own)
        return
    if retriever or (documents and len(documents) > 1):
        raise PlumeError("--retriever and several --documents are for --task retrieval and --task rag: leave them out.")
    made = start_from_options(
        model, task=task, train=train or None, dev=dev or None, out=out, text=text or (), adapt=adapted, overrides=set_ or (),
        task_options=task_set or (), crf=crf, kb=kb, documents=documents[0] if documents else None, quiet=quiet, **options,
    )  # fmt: skip
    _finish(made, quiet=quiet)


def _finish(made: Tuned, *, quiet: bool) -> None:
    """Print the best scores, the model's place and next steps; a run ended by a signal exits with the signal's usual code."""
    from plume.cli._scores import print_scores
    from plume.tuning.declared import read_declaration
    from plume.tuning.task import Task
    from plume.tuning.writing.dialogue import Dialogue

    end_if_stopped(made.outcome.stopped_by, "tune", made.folder, quiet=quiet)
    if quiet:
        return
    print(f"ended {made.ended}" if made.ended == "as planned" else f"ended by {made.ended}", file=sys.stderr)
    print_scores(made.scores, title="best on dev" if made.held_out else "on the training examples")
    tasks = read_declaration(made.folder).tasks
    which = f" --task {tasks[0].called}" if len(tasks) > 1 else ""
    chat = f"  plume chat {made.folder}\n" if any(isinstance(task, Dialogue) for task in tasks) else ""
    looks_up = type(tasks[0]).ask is not Task.ask  # a text alone is then no question, or not all that there is to be seen of the answer
    documents = "" if hasattr(tasks[0], "kb") else " --documents FILE"
    one = f"plume ask {made.folder}{which}{documents}" if looks_up else f"plume predict {made.folder}{which}"
    print(
        f"\n{made.folder} (model card: {made.folder / 'card.md'}). Next:\n{chat}"
        f'  {one} "…"\n'
        f"  plume predict {made.folder}{which} input.txt --out out.jsonl\n"
        f"  plume eval {made.folder}{which} --data FILE"
    )
