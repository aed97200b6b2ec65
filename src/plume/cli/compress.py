"""plume compress"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plume.cli._training import Budgeted, OutFolder, QuietRun, Resumed, end_if_stopped, given

if TYPE_CHECKING:
    from plume.compressing.compress import Compressed
    from plume.compressing.exploring.explore import Explored


def run(
    models: Annotated[list[Path] | None, typer.Argument(help="Model directory; several teachers for --method ensemble.")] = None,
    method: Annotated[str | None, typer.Option(help="How: 'plume compress --list' shows all; several, with commas, for --explore.")] = None,
    out: OutFolder = None,
    list_: Annotated[bool, typer.Option("--list", help="List the methods and exit.")] = False,
    explore: Annotated[
        bool,
        typer.Option(
            "--explore", help="Try many methods at several strengths, and write a page of quality, latency and size; --budget is for each."
        ),
    ] = False,
    language: Annotated[str | None, typer.Option(help="Language of the page of --explore: en or zh.  [default: en]")] = None,
    student: Annotated[
        str | None,
        typer.Option(
            help="Distillation: a recipe (bert/tiny), which takes the teacher's tokenizer, or a model directory.  "
            "[default: the teacher with half of its layers]"
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="Distillation: how the student starts: random, vectors (the teacher's, cut), layers, layers=0,2,4.  "
            "[default: layers, or vectors for a recipe]"
        ),
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Layers that stay.  [default: half of them]")] = None,
    keep: Annotated[float | None, typer.Option(help="Pruning: share that stays.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Distillation: temperature of the teacher's answers.")] = None,
    augment: Annotated[
        list[str] | None,
        typer.Option(
            help="Distillation: altered copies of each row for the teacher to answer: masking, same-words, ngrams, vectors; "
            "masking=20 makes 20 of each; repeatable.  [default: none; 10 copies]"
        ),
    ] = None,
    control: Annotated[
        bool, typer.Option("--control", help="Distillation: train the same student as long on the labels alone instead, without a teacher.")
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help='A setting of the method, such as "labelling=unlabelled"; repeatable.')
    ] = None,
    train: Annotated[list[Path] | None, typer.Option(help="Data: labelled file.  [default: what the model was tuned on]")] = None,
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="Data: development file; scored pairs for sentence vectors.  [default: what the model was tuned on]"),
    ] = None,
    text: Annotated[list[Path] | None, typer.Option(help="Data: unlabelled text, a row a line; repeatable.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Training: epochs over all rows.  [default: 3 to 20, by their number]")] = None,
    batch: Annotated[int | None, typer.Option(help="Training: batch size.  [default: 8 to 32, by dataset size]")] = None,
    rate: Annotated[float | None, typer.Option(help="Training: peak learning rate.  [default: by model width]")] = None,
    length: Annotated[int | None, typer.Option(help="Training: maximum sequence length in tokens.  [default: as in pre-training]")] = None,
    budget: Budgeted = None,
    seed: Annotated[int, typer.Option(help="Training: random seed.")] = 0,
    training: Annotated[list[str] | None, typer.Option(help="Training: a setting, such as layer_decay=0.9; repeatable.")] = None,
    no_speed: Annotated[bool, typer.Option("--no-speed", help="Do not time the model before and after, which takes some seconds.")] = False,
    quiet: QuietRun = False,
    resume: Resumed = None,
) -> None:
    """Make a model small: distil, replace, prune, quantise. The result is an ordinary model directory with a card of what it cost."""
    from plume.compressing.compress import resume as go_on
    from plume.compressing.exploring.settings import EXPLORE
    from plume.compressing.options import compress_from_options, explore_from_options
    from plume.core.errors import PlumeError
    from plume.view.words import FRAME, in_language

    if list_:
        _list_methods()
        return
    options = given(
        student=student, start=start, depth=depth, keep=keep, temperature=temperature, epochs=epochs, batch=batch, rate=rate, length=length,
        budget=budget, seed=seed or None, timed=False if no_speed else None,
    )  # fmt: skip
    if resume is not None:
        if any((models, method, out, set_, train, dev, text, training, options, augment, control, explore, language)):
            raise PlumeError("--resume uses the settings of the run: give no other option with it.")
        if (resume / EXPLORE).exists():
            _resume_exploring(resume, quiet=quiet)
            return
        _finish(go_on(resume, quiet=quiet), quiet=quiet)
        return
    if explore and models and out is not None:
        _refuse_beside_explore(set=set_, control=control, augment=augment)
        in_language(FRAME, language or "en")  # before hours of work
        found = explore_from_options(
            models, out=out, method=method, train=train, dev=dev, text=text, overrides=training or (), language=language or "en", quiet=quiet,
            **options,
        )  # fmt: skip
        _show_frontier(found, language=language or "en", quiet=quiet)
        return
    if language is not None:
        raise PlumeError("--language is of the page that --explore writes.")
    if not models or out is None or method is None:
        raise PlumeError(
            "A model, a method and an output directory are needed: plume compress runs/ner --method distil --student bert/tiny --out runs/small "
            "('plume compress --list' shows the methods)."
        )
    made = compress_from_options(
        models,
        method=method,
        out=out,
        train=train,
        dev=dev,
        text=text,
        augment=augment or (),
        control=control,
        settings=set_ or (),
        overrides=training or (),
        quiet=quiet,
        **options,
    )
    _finish(made, quiet=quiet)


def _refuse_beside_explore(**options: object) -> None:
    """Options of one method say nothing where many are tried."""
    from plume.core.errors import PlumeError

    for name, value in options.items():
        if value:
            raise PlumeError(
                f"--explore tries several settings of each method itself, with a control beside each student: leave out --{name}."
            )


def _list_methods() -> None:
    """A line each: name, what it does, paper."""
    from rich.console import Console
    from rich.table import Table

    from plume.compressing.method import described

    shown = Table("method", "what it does", "paper", box=None)
    for name, title, paper in described():
        shown.add_row(name, title, paper)
    Console().print(shown)


def _resume_exploring(folder: Path, *, quiet: bool) -> None:
    from plume.compressing.exploring.explore import go_on
    from plume.compressing.exploring.settings import read_explore

    _show_frontier(go_on(folder, quiet=quiet), language=read_explore(folder).language, quiet=quiet)


def _show_frontier(found: Explored, *, language: str, quiet: bool) -> None:
    """Write the page; print a line a model, the best first, and what could not be made."""
    from rich.console import Console
    from rich.table import Table

    from plume.view.frontier import frontier_page

    page = found.folder / "index.html"
    frontier_page(found.frontier, language=language).write(page)
    end_if_stopped(found.stopped_by, "compress", found.folder, quiet=quiet)
    if quiet:
        return
    shown = Table("model", found.frontier.metric, "ms", "texts/s", "MB", "", box=None)
    there = [one for one in found.frontier.models if not one.reason]
    for one in sorted(there, key=lambda one: -(one.quality or 0)):
        latency, rate = (_figure(value) for value in (one.latency, one.per_second))
        marks = [str(one.role.value)] if one.role.value != "variant" else []
        shown.add_row(
            one.name, "–" if one.quality is None else f"{one.quality:.4f}", latency, rate, f"{one.bytes / 1e6:.1f}",
            ", ".join([*marks, *(["on the front"] if one.on_front else [])]),
        )  # fmt: skip
    Console().print(shown)
    for one in found.frontier.models:
        if one.reason:
            print(f"not made: {one.name}: {one.reason}")
    print(f"\n{page}: open it in a browser; a click on a model shows the command that makes it.")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _finish(made: Compressed, *, quiet: bool) -> None:
    """Print the model before and after, its place, and next steps."""
    from plume.compressing.lineage import compared
    from plume.tuning.declared import is_tuned

    end_if_stopped(made.stopped_by, "compress", made.folder, quiet=quiet)
    if quiet or made.before is None or made.after is None:
        return
    for line in compared(made.before, made.after):
        print(line)
    use = "predict" if is_tuned(made.folder) else "embed"
    print(f'\n{made.folder} (model card: {made.folder / "card.md"}). Next:\n  plume {use} {made.folder} "…"\n  plume serve {made.folder}')
