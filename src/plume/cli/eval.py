"""plume eval"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plume.cli._options import Device, Each, Languages, NoCalibrate, Template, TunedTask, Way

if TYPE_CHECKING:
    from plume.tuning.tuned import Measured


def run(
    model: Annotated[Path, typer.Argument(help="Model directory, or a file of word vectors: word2vec, GloVe, fastText .bin.")],
    data: Annotated[list[Path] | None, typer.Option(help="Labelled file; repeat for aligned files, one per column.")] = None,
    task: TunedTask = None,
    documents: Annotated[
        list[Path] | None, typer.Option(help="Tasks retrieval and rag: documents to search.  [default: those of training, or of the file]")
    ] = None,
    predictions: Annotated[Path | None, typer.Option(help="Write predictions and gold answers to this file, as JSON lines.")] = None,
    labels: Annotated[str | None, typer.Option(help="Zero-shot: candidate labels, comma-separated.  [default: those of the file]")] = None,
    template: Template = None,
    each: Each = False,
    way: Way = None,
    no_calibrate: NoCalibrate = False,
    text: Annotated[str | None, typer.Option(help="Zero-shot: text column, by name or number; --sts: the two, a,b.")] = None,
    label: Annotated[str | None, typer.Option(help="Zero-shot: label column, by name or number; --sts: the score.")] = None,
    language: Languages = None,
    sts: Annotated[
        list[Path] | None,
        typer.Option(help="Sentence vectors: pairs of texts with scores (STS-B, SICK, LCQMC …), or a folder of such files; repeatable."),
    ] = None,
    similarity: Annotated[
        list[Path] | None, typer.Option(help="Word vectors: similarity file, `word word score` per line; repeatable.")
    ] = None,
    analogy: Annotated[
        list[Path] | None, typer.Option(help="Word vectors: analogy file, four words per line under `: section` lines; repeatable.")
    ] = None,
    most: Annotated[int, typer.Option(help="Analogies: search the N most frequent words; 0 for all.")] = 50_000,
    unseen: Annotated[
        bool, typer.Option("--unseen", help="fastText: compose vectors of out-of-vocabulary words from their n-grams.")
    ] = False,
    device: Device = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Evaluate a fine-tuned model on a labelled file, sentence vectors on STS files, or word vectors on similarity and analogy benchmarks."""
    from plume.cli import _own_runs
    from plume.cli._direct import zero_shot
    from plume.core.errors import PlumeError

    columns = {name: value for name, value in (("text", text), ("label", label)) if value is not None}
    options = zero_shot(labels, template, each=each, way=way, no_calibrate=no_calibrate) | columns
    if sts:
        if data or similarity or analogy or task or predictions or language or options.keys() - {"text", "label"}:
            raise PlumeError("--sts evaluates sentence vectors: leave out the other kinds of data, and the options of a task.")
        _sts(model, sts, text, label, device=device, as_json=as_json)
        return
    if data and (similarity or analogy):
        raise PlumeError("--data evaluates a task, --similarity and --analogy evaluate word vectors: use one or the other.")
    if similarity or analogy:
        if task or predictions or options or language:
            raise PlumeError("--similarity and --analogy evaluate word vectors: leave out the options of a task.")
        _word_vectors(model, similarity or [], analogy or [], most=most, unseen=unseen, as_json=as_json)
    elif not data:
        raise PlumeError(
            "Nothing to evaluate: give a labelled file with --data, pairs with scores with --sts, or for word vectors a file with --similarity "
            "or --analogy."
        )
    elif _own_runs.measures(model, task):
        scores, notes = _own_runs.measured(model, task, data, documents or [], device=device)
        _show(scores, task or "rag", as_json=as_json, account=notes)
    elif documents:
        raise PlumeError("--documents are what --task retrieval and --task rag search: leave it out.")
    else:
        _task(model, data, task, predictions, options, language=language, device=device, as_json=as_json)


def _sts(model: Path, files: list[Path], text: str | None, label: str | None, *, device: str, as_json: bool) -> None:
    from plume import api
    from plume.cli._sts_scores import print_sts
    from plume.vectors.sts import sts

    columns = tuple(text.split(",")) if text else ()
    print_sts(sts(api.load(model, device=device), files, text_columns=columns, score_column=label), as_json=as_json)


def _word_vectors(model: Path, similarity: list[Path], analogy: list[Path], *, most: int, unseen: bool, as_json: bool) -> None:
    from plume.cli._word_vector_scores import print_json, print_tables
    from plume.core.errors import PlumeError
    from plume.static import evaluation
    from plume.static.load import load_vectors
    from plume.tuning.declared import is_tuned

    if is_tuned(model):
        raise PlumeError(
            f"{model} is fine-tuned for a task: evaluate it with --data FILE. --similarity and --analogy are for word vectors."
        )
    vectors = load_vectors(model)
    for note in vectors.notes:
        print(f"plume: {note}", file=sys.stderr)
    pairs = [evaluation.similarity(vectors, file, unseen=unseen) for file in similarity]
    questions = [evaluation.analogy(vectors, file, most=most or None, unseen=unseen) for file in analogy]
    (print_json if as_json else print_tables)(pairs, questions)


def _task(
    model: Path,
    data: list[Path],
    task: str | None,
    predictions: Path | None,
    options: dict[str, Any],
    *,
    language: str | None,
    device: str,
    as_json: bool,
) -> None:
    from plume import api
    from plume.cli._direct import direct_task, options_for
    from plume.core.errors import PlumeError
    from plume.tuning.loaded import load_tuned

    direct = direct_task(model, task)
    if direct is not None:
        if predictions is not None:
            raise PlumeError(f"--task {direct.kind} has no --predictions: write them with 'plume predict'.")
        said = {} if language is None else {"language": language}
        chosen = options_for(direct.evaluate, direct, **options, **said)
        _show(direct.evaluate(api.load(model, device=device), data, **chosen), direct.kind, as_json=as_json)
        return
    if options:
        raise PlumeError(
            "--labels, --template, --text, --label … are for --task zero-shot: a fine-tuned model has its own labels and columns."
        )
    if predictions is not None and predictions.exists():
        raise PlumeError(f"{predictions} exists already: choose another file for --predictions.")
    tuned = load_tuned(model, device=device)
    measured = tuned.evaluate(data, task=task, language=language)
    account = [*measured.reading.lines(), *(f"{count:,} {what}" for what, count in measured.notes.items() if count)]
    if predictions is not None:
        _write(measured, predictions)
    _show(measured.scores, tuned.task(task).called, as_json=as_json, account=account)


def _show(scores: dict[str, float], name: str, *, as_json: bool, account: list[str] | None = None) -> None:
    import json

    from plume.cli._scores import print_scores

    if as_json:
        print(json.dumps({"task": name, "scores": scores} | ({} if account is None else {"data": account}), ensure_ascii=False, indent=2))
        return
    for line in account or ():
        print(line, file=sys.stderr)
    print_scores(scores, title=name)


def _write(measured: Measured, path: Path) -> None:
    """Each example with its gold answer and the prediction."""
    from plume.core.files import write_text
    from plume.tuning.asking import record
    from plume.tuning.stream import json_line

    told = enumerate(zip(measured.examples, measured.predictions, strict=True), 1)
    lines = [json_line(record(one, {"gold": _plain(one.answer)} | found, number=number)) for number, (one, found) in told]
    write_text(path, "".join(line + "\n" for line in lines))


def _plain(answer: Any) -> Any:
    """What JSON can hold."""
    from dataclasses import asdict, is_dataclass

    if is_dataclass(answer) and not isinstance(answer, type):
        return asdict(answer)
    return [_plain(one) for one in answer] if isinstance(answer, list | tuple) else answer
