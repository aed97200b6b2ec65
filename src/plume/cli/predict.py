"""plume predict"""

from __future__ import annotations

import functools
import json
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plume.cli._options import Device, Each, Languages, Model, NoCalibrate, Runtime, Template, TunedTask, Way

if TYPE_CHECKING:
    from plume.readers.example import Example
    from plume.tuning.asking import Answerer, Asked

_FILES = (".txt", ".tsv", ".csv", ".json", ".jsonl", ".conll", ".conllu", ".bio", ".bmes", ".gz")


def run(
    model: Model,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Texts (the two of a pair separated by a tab), or a file in one of the task's formats.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the answers to a file of inputs here, as JSON lines.  [default: print them]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue --out after its last answer.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite --out.")] = False,
    task: TunedTask = None,
    pair: Annotated[tuple[str, str] | None, typer.Option(help="A pair of texts.")] = None,
    question: Annotated[str | None, typer.Option(help="A question about --context.")] = None,
    context: Annotated[str | None, typer.Option(help="Text that contains the answer to --question.")] = None,
    labels: Annotated[str | None, typer.Option(help="Zero-shot: candidate labels, comma-separated.")] = None,
    template: Template = None,
    each: Each = False,
    way: Way = None,
    no_calibrate: NoCalibrate = False,
    text: Annotated[str | None, typer.Option(help="Zero-shot: text column of a table, by name or number.")] = None,
    language: Languages = None,
    runtime: Runtime = None,
    device: Device = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines even in a terminal.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print neither progress nor a summary of the input.")] = False,
) -> None:
    """Predict for texts, or for a file of any length, in constant memory. After Ctrl-C, --resume continues."""
    from plume import api
    from plume.cli._direct import direct_task, options_for, zero_shot
    from plume.core.errors import PlumeError
    from plume.tuning import asking
    from plume.tuning.tuned import TunedModel

    items = _items(inputs or [], pair, question, context)
    files = [] if items else _files(inputs or [])
    if items and (out is not None or resume or overwrite):
        raise PlumeError("--out, --resume and --overwrite are for a file of inputs; answers to texts on the command line are printed.")
    if out is None and (resume or overwrite):
        raise PlumeError("--resume and --overwrite need --out FILE.")
    direct = direct_task(model, task)
    asking_for = zero_shot(labels, template, each=each, way=way, no_calibrate=no_calibrate)
    if direct is None and (asking_for or text is not None):
        raise PlumeError("--labels, --template, --text … are for --task zero-shot: a fine-tuned model has its own labels and columns.")
    if direct is not None and language is not None:
        asking_for["language"] = language
    options = {} if direct is None else options_for(direct.predict, direct, **asking_for)
    loaded = api.load(model, device=device, runtime=runtime)
    if direct is None:
        assert isinstance(loaded, TunedModel), "it has the task"
        chosen = loaded.task(task)
        if items:
            pairs = getattr(getattr(chosen, "task", chosen), "texts", None) == 2  # also where the answers are written
            _answer_items(
                list(loaded.told((chosen.example(_split(item) if pairs else item) for item in items), language)),
                lambda examples: loaded.answers(chosen, examples),
                as_json,
                quiet,
            )
            return
        asked = asking.ask(loaded, chosen, files, language=language)
    else:
        answer = functools.partial(direct.respond, loaded, **options)
        if items:
            _answer_items([_example(item) for item in items], answer, as_json, quiet)
            return
        asked = asking.ask_texts(files, answer, column=text)
    if out is None:
        _to_screen(asked, as_json=as_json, quiet=quiet)
    else:
        _to_file(asked, out, resume=resume, overwrite=overwrite, quiet=quiet)


def _items(inputs: list[str], pair: tuple[str, str] | None, question: str | None, context: str | None) -> list[Any]:
    """Inputs on the command line; none if files are named."""
    from plume.core.errors import PlumeError
    from plume.data.documents import clean

    if (question is None) != (context is None):
        raise PlumeError("--question and --context go together.")
    given: list[Any] = [] if pair is None else [tuple(map(clean, pair))]
    if question is not None and context is not None:
        given.append({"question": clean(question), "context": clean(context)})
    if given and inputs:
        raise PlumeError("Give one of: texts, --pair, or --question with --context.")
    if not given and not inputs:
        raise PlumeError("No input: give texts or a file.")
    if given or any(_is_file(text) for text in inputs):
        return given
    if empty := next((place for place, text in enumerate(inputs, 1) if not text.strip()), 0):
        raise PlumeError(f"Text {empty} is empty.")
    return [_item(clean(text)) for text in inputs]


def _item(text: str) -> Any:
    """A text; or, for tasks that read more than that, an object with a context, as a line of their files would have it."""
    if text.startswith("{") and '"context"' in text:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            pass
    return text


def _split(item: Any) -> Any:
    """The two texts of a pair, from one argument."""
    return tuple(item.split("\t")) if isinstance(item, str) else item


def _example(item: Any) -> Example:
    """Of a task that reads texts."""
    from plume.readers.example import Example

    return Example(texts=(item,) if isinstance(item, str) else tuple(item.values() if isinstance(item, dict) else item))


def _files(inputs: list[str]) -> list[Path]:
    from plume.core.errors import PlumeError

    if texts := [text for text in inputs if not _is_file(text)]:
        raise PlumeError(
            f"'{texts[0][:60]}' is not a file, but {next(text for text in inputs if _is_file(text))} is: give either files or texts."
        )
    return [Path(text) for text in inputs]


def _is_file(text: str) -> bool:
    """A name of a file, and of one that is there: a slip in a name must not be answered as if it were a text."""
    from plume.core.errors import PlumeError

    try:
        if Path(text).is_file():
            return True
    except (OSError, ValueError):  # too long for a name, or a zero character
        return False
    if not any(sign.isspace() for sign in text) and text.lower().endswith(_FILES):
        raise PlumeError(f"There is no file {text}. (If this is a text, add a space after it.)")
    return False


def _answer_items(examples: list[Example], answer: Answerer, as_json: bool, quiet: bool) -> None:
    from plume.tuning.asking import with_texts

    predictions, notes = answer(examples)
    _print([with_texts(example, found) for example, found in zip(examples, predictions, strict=True)], as_json)
    if not quiet:
        _account(f"{count:,} {what}" for what, count in notes.items() if count)


def _to_screen(asked: Asked, *, as_json: bool, quiet: bool) -> None:
    from plume.tuning.asking import answers

    for records in answers(asked):
        _print(records, as_json)
    if not quiet:
        _account(asked.account())


def _to_file(asked: Asked, out: Path, *, resume: bool, overwrite: bool, quiet: bool) -> None:
    from plume.tuning.stream import write_answers

    done = write_answers(asked, out, resume=resume, overwrite=overwrite, quiet=quiet)
    if not quiet:
        _account(done.account)
    there = done.before + done.written
    if done.stopped_by is not None:
        how = f"{out} holds {there:,} complete answers. To resume: the same command with --resume" if there else "nothing was written"
        print(f"stopped by {done.stopped_by}; {how}", file=sys.stderr)
        raise SystemExit(128 + getattr(signal, done.stopped_by))
    if not quiet:
        before = f", after {done.before:,} that were there" if done.before else ""
        _account([f"{done.written:,} answers{before} → {out}"])


def _print(records: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    from plume.cli._answers import in_short
    from plume.tuning.stream import json_line

    short = sys.stdout.isatty() and not as_json
    for record in records:
        print(in_short(record) if short else json_line(record))


def _account(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)
