"""plume compare"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plume.comparing.compare import PreparedStudy
    from plume.comparing.results import Results, Summary
    from plume.comparing.study import Study

_RECIPES = ("bert", "electra", "xlnet", "gpt2")


def run(
    study: Annotated[
        Path | None,
        typer.Argument(help="A study.toml, or the directory of an existing study.  [default: built-in text and tasks]"),
    ] = None,
    corpus: Annotated[list[Path] | None, typer.Option(help="Text to pre-train on; repeatable.")] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Task to evaluate on, with its files; repeatable: ner=train.conll,test.conll, topic:classification=train.tsv,dev.tsv,test.tsv"
        ),
    ] = None,
    recipes: Annotated[
        str | None,
        typer.Option(
            help="Models to compare, comma-separated: families (see 'plume recipes'), recipe files, model directories (./my-bert, ./hf-roberta), "
            "or continue:./hf-roberta for continued pre-training.  [default: bert,electra,xlnet,gpt2]"
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="Model directories to compare with, comma-separated, plume's or Hugging Face's, named if you like: minilm=./hf-minilm,./runs/x"
        ),
    ] = None,
    continue_: Annotated[
        str | None, typer.Option("--continue", help="Of --models, those that also enter with pre-training continued at the budget: minilm")
    ] = None,
    continue_on: Annotated[
        str | None,
        typer.Option(help="Continue on: corpus, or tasks (the training examples' texts, unlabelled).  [default: corpus]"),
    ] = None,
    compress: Annotated[
        str | None,
        typer.Option(
            help="Also make each tuned network small, comma-separated: METHOD (see 'plume compress --list'), METHOD:STUDENT, "
            "METHOD:setting=value; @MODEL for one of them only: distil:bert/tiny,int8@minilm"
        ),
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Pre-training budget of each run: 20m, 5e6tokens, 1e14flops.  [default: 10m]")] = None,
    seeds: Annotated[int | None, typer.Option(help="Random seeds; each run is repeated once per seed.  [default: 3]")] = None,
    size: Annotated[str | None, typer.Option(help="Model size of families named without one: tiny, mini, small …  [default: tiny]")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the study.  [default: study]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the study in that directory.")] = False,
    again: Annotated[
        list[str] | None, typer.Option(help="Discard and rerun MODEL:SEED and everything derived from it; repeatable.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only print the plan: runs, time, memory and disk.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation for studies of more than an hour.")] = False,
    language: Annotated[str, typer.Option(help="Language of the report and of the built-in data: en or zh.")] = "en",
    tokenizer: Annotated[
        str | None, typer.Option(help="shared: one subword tokenizer for all families; own: each paper's own.  [default: shared]")
    ] = None,
    static: Annotated[str | None, typer.Option(help="Word vectors that serve as a baseline.  [default: fasttext]")] = None,
    tfidf: Annotated[bool | None, typer.Option(help="TF-IDF + linear as a baseline that needs no pre-training.  [default: yes]")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a pre-training setting of all networks: training.length=64; repeatable.")
    ] = None,
    tune: Annotated[
        list[str] | None, typer.Option(help="Override a fine-tuning setting of all runs: epochs=3, batch=16, rate=5e-4; repeatable.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads per run; runs go in parallel while cores are free.  [default: all cores]")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Points of quality that a faster or smaller model may lose and still be recommended.  [default: 1]"),
    ] = None,
    probes: Annotated[bool | None, typer.Option(help="Probe every layer of every pre-trained model.  [default: yes]")] = None,
    engine: Annotated[str, typer.Option(help="Where to run: local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Address of a running Ray cluster: auto, or host:port.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Compare families at an equal budget on your own text and tasks, and recommend one. Ctrl-C saves and exits; --resume continues.

    Without --corpus and --task it uses built-in text and tasks: bert, xlnet and elmo, one minute each, two seeds; ten minutes on two cores.
    """
    from plume.comparing.forks import fork_server

    fork_server()
    from plume.comparing.compare import compare, decided, finished, prepare
    from plume.comparing.running.engines import make_engine
    from plume.comparing.running.run import read_states
    from plume.core.errors import PlumeError
    from plume.report.words import Wording

    Wording(language)  # refuses an unknown language at once
    resume = resume or again is not None
    given = {
        "corpus": corpus, "recipes": _listed(recipes), "models": _listed(models), "continued": _listed(continue_),
        "continue_on": continue_on, "compress": _listed(compress), "budget": budget, "seeds": seeds, "size": size,
        "tokenizer": tokenizer, "static": static, "tfidf": tfidf, "overrides": set_, "tune": tune,
        "threads": threads, "probes": probes, "margin": margin,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value is not None}
    folder = out or (study if study is not None and study.is_dir() else Path("study"))
    if plan:
        with tempfile.TemporaryDirectory() as scratch:  # for the files that plume brings: a plan leaves nothing behind
            found = _study(study, task, chosen, folder if resume else Path(scratch), language=language, resume=resume)
            where = make_engine(engine, address, threads=found.threads)
            where.close()
            prepared = prepare(found, slots=where.slots, again=again or (), modes=decided(folder) if resume else None, quiet=quiet)
            _print_plan(prepared, read_states(folder, [cell for cell in prepared.cells if cell not in prepared.anew]) if resume else ())
        return
    found = _study(study, task, chosen, folder, language=language, resume=resume)

    def agree(prepared: PreparedStudy, seconds: float) -> bool:
        return yes or _agree(prepared, seconds)

    if study is not None and study.is_dir() and not resume and (results := finished(study, margin=margin)) is not None:
        _finish(results, study, language=language, quiet=quiet)
        return
    where = make_engine(engine, address, threads=found.threads)
    made = compare(found, folder, resume=resume, again=again or (), engine=where, agree=agree, quiet=quiet)
    if made is None:
        raise PlumeError("Nothing was run.")
    _finish(made.results, folder, language=language, quiet=quiet)
    if made.stopped_by is not None:
        print(f"stopped by {made.stopped_by}; progress is saved. To resume: {_again(folder, language)}", file=sys.stderr)
        raise SystemExit(128 + getattr(signal, made.stopped_by, signal.SIGTERM))


def _listed(text: str | None) -> list[str] | None:
    return [one.strip() for one in text.split(",") if one.strip()] if text else None


def _study(path: Path | None, tasks: list[str] | None, chosen: dict[str, Any], folder: Path, *, language: str, resume: bool) -> Study:
    """The study that the options describe: an existing directory, a file, options, or built-in data."""
    from dataclasses import replace

    from rich.console import Console

    from plume.comparing.embedded_study import embedded_study
    from plume.comparing.running.work import STUDY, read_study
    from plume.comparing.study import make_study, parse_task
    from plume.comparing.study_file import read_study_file
    from plume.core.errors import PlumeError

    if tasks:
        chosen["tasks"] = [parse_task(text) for text in tasks]
    if path is not None and (path.is_dir() or (resume and path.suffix != ".toml")):
        if chosen.keys() - {"margin"}:
            raise PlumeError(
                f"{path} is an existing study with its own settings: use only --resume, --again, --margin, --language or --engine with it."
            )
        return replace(read_study(path), **chosen)  # no run depends on the margin
    if path is not None:
        return read_study_file(path, **chosen)
    if "corpus" not in chosen and "tasks" not in chosen:
        if resume and not (folder / STUDY).exists():
            raise PlumeError(f"{folder} holds no study to resume: leave out --resume to start one there.")
        if resume and not chosen:
            return read_study(folder)
        with Console(stderr=True).status("reading built-in data …"):
            return embedded_study(folder, language=language, **chosen)
    for name, option in (("corpus", "--corpus my.txt"), ("tasks", "--task ner=train.conll,test.conll")):
        if name not in chosen:
            raise PlumeError(f"A study on your own data also needs {option}.")
    return make_study(**({"budget": "10m", "recipes": _RECIPES} | chosen))


def _again(folder: Path, language: str) -> str:
    import shlex

    return shlex.join(["plume", "compare", str(folder), "--resume", *(["--language", language] if language != "en" else [])])


def _print_plan(prepared: PreparedStudy, ended: Container[str] = ()) -> None:
    from rich.console import Console
    from rich.table import Table

    from plume.train.progress import duration

    plan = prepared.plan
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("model", "parameters", "tokens/s", "tuning", "time", "memory", "disk"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for line in plan.lines:
        speed = f"{line.tokens_per_second:,.0f}" if line.tokens_per_second else "–"
        sizes = [f"{line.memory / 2**20:,.0f} MB" if line.memory else "–", f"{line.disk / 2**20:,.0f} MB" if line.disk else "–"]
        table.add_row(
            line.entrant, f"{line.parameters:,}" if line.parameters else "–", speed, duration(line.tuning), duration(line.seconds), *sizes
        )
    console = Console(highlight=False, markup=False)
    console.print(table)
    small = {one.name for one in prepared.entrants if one.made_from}
    for line in plan.lines:
        if line.mode:
            console.print(f"{line.entrant} is too large to be fine-tuned within reason: its frozen features are used (--mode {line.mode}).")
        for task, reason in line.cannot.items():
            console.print(f"{line.entrant} cannot {f'do {task}' if task else _making(line.entrant in small)}: {reason}")
    study = prepared.study
    left = "remaining" if ended else "in total"
    seeds = f"{study.seeds} seeds" if study.seeds > 1 else "one seed"
    several = f", {plan.slots} in parallel" if plan.slots > 1 else ""
    console.print(
        f"{_runs(prepared)}{several}: {len(plan.lines)} models × {seeds}, {study.budget} of pre-training each, tasks "
        f"{', '.join(task.name for task in study.tasks)}.\n"
        f"About {duration(plan.left(ended))} {left}, {plan.memory / 2**20:,.0f} MB of memory, "
        f"{plan.disk / 2**20:,.0f} MB on disk (not counting word vectors)."
    )


def _making(small: bool) -> str:
    return "be made" if small else "be pre-trained"


def _runs(prepared: PreparedStudy) -> str:
    """How many, and what they do: a model is pre-trained once a seed, and tuned once a seed and task."""
    cells = [cell for cell in prepared.cells if cell.key in prepared.plan.seconds]
    kinds = ["derive" if cell.kind.makes and cell.line is not None and cell.line.from_scratch else cell.kind.value for cell in cells]
    words = {"pretrain": "pre-training", "derive": "preparation", "tune": "fine-tuning", "probe": "probing", "speed": "timing"}
    parts = [f"{kinds.count(kind)} of {word}" for kind, word in words.items() if kind in kinds]
    return f"{prepared.plan.cells} runs ({', '.join(parts)})"


def _agree(prepared: PreparedStudy, total: float) -> bool:
    """Ask before a study of more than an hour."""
    from plume.comparing.planning.plan import ASK_ABOVE
    from plume.core.errors import PlumeError
    from plume.train.progress import duration

    if total <= ASK_ABOVE:
        return True
    if not sys.stdin.isatty():
        raise PlumeError(f"This study will take about {duration(total)}: confirm with --yes, or see --plan for the details.")
    _print_plan(prepared)
    return typer.confirm(f"This will take about {duration(total)}. Continue?")


def _finish(results: Results, folder: Path, *, language: str, quiet: bool) -> None:
    """Write the report; print its table and recommendation."""
    from rich.console import Console
    from rich.table import Table

    from plume.report import gains_of, verdict_of, write_report

    page = write_report(results, folder, language=language)
    if quiet:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model")
    for task in results.tasks:
        table.add_column(f"{task.name} ({task.metric})", justify="right")
    for model in results.models:
        found = {one.task: one for one in results.summaries if one.model == model.name}
        table.add_row(model.name, *(_score(found.get(task.name), task.best) for task in results.tasks))
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(f"\n{verdict_of(results, language=language)}")
    for sentence in gains_of(results, language=language):
        console.print(sentence)
    console.print(f"\n{page} (also report.md, results.json, scores.csv, models.csv)", soft_wrap=True)
    for line in _next(results, folder):
        console.print(line, soft_wrap=True)


def _next(results: Results, folder: Path) -> list[str]:
    """What one does next with the model that is recommended: use it, look at its scores, ask the same of one's own files."""
    import shlex

    from plume.comparing.naming import folder_name
    from plume.comparing.results import Status

    chosen = results.recommendation.model if results.recommendation is not None else ""
    done = [one for one in results.scores if one.model == chosen and one.status is Status.DONE]
    if not done:
        return []
    tuned = str(folder / "tuned" / folder_name(chosen) / str(done[0].seed) / done[0].task)
    return [
        "\nNext:",
        f"  plume predict {shlex.quote(tuned)} 'a text of yours'",
        f"  plume eval {shlex.quote(tuned)} --data your-labelled-file",
        "  plume compare --corpus your.txt --task ner=train.conll,test.conll --out study",
    ]


def _score(found: Summary | None, best: float) -> str:
    """In percent, with half of its confidence interval; * where it is not significantly below the best."""
    if found is None:
        return "–"
    half = "" if found.low is None or found.high is None else f" ± {50 * (found.high - found.low) / best:.1f}"
    return f"{100 * found.mean / best:.1f}{half}{' *' if found.best_group else '  '}"
