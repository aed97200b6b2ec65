"""plume ask"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plume.cli._options import Device, Model

if TYPE_CHECKING:
    from plume.tuning.asked import Reply

_AT_ONCE = 32  # questions


def run(
    model: Model,
    questions: Annotated[list[str] | None, typer.Argument(help="Questions; - or none: lines of standard input.")] = None,
    task: Annotated[str | None, typer.Option(help="Task to ask, where the model has several.")] = None,
    kb: Annotated[Path | None, typer.Option(help="Knowledge base directory.  [default: the one it was trained with]")] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            help="File of documents to read: JSONL of title and text; a long text (qa) may be plain.  [default: those of training]"
        ),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Setting of the answering, such as beam=5; repeatable.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also draw how each question was answered: a page, such as graph.html.")] = None,
    device: Device = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the answers only, a line a question.")] = False,
) -> None:
    """Ask a model that looks its answers up, in a knowledge base or in documents. Each step is printed with its score."""
    from plume import api
    from plume.core.errors import PlumeError

    loaded: Any = api.load(model, device=device)
    if not hasattr(loaded, "ask"):
        raise PlumeError(
            f"{model} has no task that looks anything up: tune it first, as in plume tune {model} --task kbqa --kb kb/ --train FILE."
        )
    options: dict[str, Any] = {"kb": None if kb is None else str(kb), "documents": None if documents is None else str(documents)}
    options |= {"task": task} if task is not None else {}
    drawn: list[Reply] = []
    for some in _questions(questions or []):
        for reply in loaded.ask(some, **options, **_settings(set_ or [])):
            drawn += [reply] if out is not None else []
            print(
                json.dumps(reply.as_json(), ensure_ascii=False) if as_json else ", ".join(reply.answers) if quiet else _shown(reply),
                flush=True,
            )

    if out is not None:
        from plume.view.asked import write_asked_page

        write_asked_page(drawn, out)
        print(f"{out} is written", file=sys.stderr)


def _questions(given: list[str]) -> Iterator[list[str]]:
    """Those of the command line, or what comes in, line by line where somebody types."""
    from plume.core.errors import PlumeError

    if given and given != ["-"]:
        if not all(one.strip() for one in given):
            raise PlumeError("A question is a text that is not empty.")
        yield given
        return
    at_once = 1 if sys.stdin.isatty() else _AT_ONCE
    held, some = [], False
    for line in sys.stdin:
        if line.strip():
            held.append(line.strip())
            some = True
        if len(held) == at_once:
            yield held
            held = []
    if held:
        yield held
    if not some:
        raise PlumeError("No question was given: write one in quotes, or send lines to standard input.")


def _settings(given: list[str]) -> dict[str, Any]:
    from plume.core.errors import PlumeError

    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise PlumeError(f"--set {one}: write name=value, as in beam=5.")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def _shown(reply: Reply) -> str:
    """The answer, then how it was found."""
    lines = [f"{', '.join(reply.answers)}  ({reply.score:.3f})" if reply.answers else "no answer"]
    for step in reply.steps:
        others = "".join(f"; {said} {score:.3f}" for said, score in step.others[:3])
        lines.append(f"  {step.name:<10} {step.said}  {step.score:.3f}{others}")
    lines += [f"  {edge.source}  —{edge.label}→  {edge.target}" for edge in reply.graph[:10]]
    return "\n".join(lines)
