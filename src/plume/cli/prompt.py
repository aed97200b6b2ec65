"""plume prompt"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plume.cli._training import Budgeted, OutFolder, QuietRun, Resumed, end_if_stopped, given

if TYPE_CHECKING:
    from plume.prompting.prompt import PromptOutcome


def run(
    model: Annotated[Path | None, typer.Argument(help="Model directory: one that fills blanks or reads left to right.")] = None,
    train: Annotated[list[Path] | None, typer.Option(help="Data: labelled examples, few as they may be.")] = None,
    out: OutFolder = None,
    method: Annotated[str | None, typer.Option(help="How: 'plume prompt --list' shows all.  [default: pattern]")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the methods and exit.")] = False,
    task: Annotated[
        str | None, typer.Option(help="Task: classification, paraphrase, nli or multiple-choice.  [default: classification]")
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(
            help="Template with {text}, for pairs {text_b} too, and a blank, ___; or a file with one a line; repeatable.  "
            "[default: by task and language]"
        ),
    ] = None,
    labels: Annotated[str | None, typer.Option(help="Words of the labels: 0=bad|awful,1=good.  [default: the labels themselves]")] = None,
    dev: Annotated[
        list[Path] | None, typer.Option(help="Data: development file.  [default: none; few examples are all trained on]")
    ] = None,
    dev_by_folds: Annotated[
        bool,
        typer.Option(
            "--dev-by-folds",
            help="Data: measure within the examples: each fold is answered by a model trained on the others. auto always does.",
        ),
    ] = False,
    text: Annotated[
        list[Path] | None, typer.Option(help="Data: texts without a label, a line each, for pet, ipet, petal and zero-shot; repeatable.")
    ] = None,
    column: Annotated[list[str] | None, typer.Option(help="Data: text column, by name or number; twice for pairs.")] = None,
    label: Annotated[str | None, typer.Option(help="Data: label column, by name or number.")] = None,
    left_to_right: Annotated[
        bool, typer.Option("--left-to-right", help="Words of several tokens: fill their masks one after the other, not all at once.")
    ] = False,
    tokens: Annotated[int | None, typer.Option(help="p-tuning, soft, prefix: tokens that are learned.")] = None,
    shots: Annotated[int | None, typer.Option(help="in-context: examples that are shown.")] = None,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate", help="zero-shot, in-context: take off what each label is worth for a text that says nothing."
        ),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, such as generations=3; repeatable.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Training: epochs.  [default: 20 for few examples]")] = None,
    batch: Annotated[int | None, typer.Option(help="Training: batch size.  [default: 8 for few examples]")] = None,
    rate: Annotated[float | None, typer.Option(help="Training: peak learning rate.  [default: by model width and method]")] = None,
    length: Annotated[int | None, typer.Option(help="Training: maximum sequence length in tokens.  [default: as in pre-training]")] = None,
    budget: Budgeted = None,
    seed: Annotated[int, typer.Option(help="Training: random seed.")] = 0,
    training: Annotated[list[str] | None, typer.Option(help="Training: a setting, such as layer_decay=0.9; repeatable.")] = None,
    quiet: QuietRun = False,
    resume: Resumed = None,
) -> None:
    """Use a prompt with few labelled examples: a template, words for the labels, the model's own head. The result is an ordinary tuned model."""
    from plume.core.errors import PlumeError
    from plume.prompting.options import prompt_from_options
    from plume.prompting.prompt import go_on

    if list_:
        _list_methods()
        return
    options = given(
        method=method, task=task, labels=labels, label=label, tokens=tokens, shots=shots, calibrate=calibrate, epochs=epochs, batch=batch, rate=rate,
        length=length, budget=budget, seed=seed or None, left_to_right=left_to_right or None,
        dev_by_folds=dev_by_folds or None,
    )  # fmt: skip
    if resume is not None:
        if any((model, out, train, template, dev, text, column, set_, training, options)):
            raise PlumeError("--resume uses the settings of the run: give no other option with it.")
        _finish(go_on(resume, quiet=quiet), quiet=quiet)
        return
    if model is None or not train or out is None:
        raise PlumeError(
            "A model, labelled examples and an output directory are needed: plume prompt runs/bert --train 32.tsv "
            '--template "{text} It was ___." --labels 0=bad,1=good --out runs/few'
        )
    made = prompt_from_options(
        model, train=train, out=out, template=template or (), dev=dev, text=text, columns=column or (), settings=set_ or (),
        overrides=training or (), quiet=quiet, **options,
    )  # fmt: skip
    _finish(made, quiet=quiet)


def _list_methods() -> None:
    """A line each: name, what it does, paper."""
    from rich.console import Console
    from rich.table import Table

    from plume.prompting.method import described

    shown = Table("method", "what it does", "paper", box=None)
    for name, title, paper in described():
        shown.add_row(name, title, paper)
    Console().print(shown)


def _finish(made: PromptOutcome, *, quiet: bool) -> None:
    """Print the scores, where the model is, and next steps."""
    end_if_stopped(made.stopped_by, "prompt", made.folder, quiet=quiet)
    if quiet:
        return
    if made.scores:
        scores = "  ".join(f"{name} {value:.4f}" for name, value in made.scores.items())
        print(f"on {made.on}: {scores}")
    print(f"\n{made.folder} (model card: {made.folder / 'card.md'}). Next:")
    print(f'  plume predict {made.folder} "…"\n  plume eval {made.folder} --data FILE')
