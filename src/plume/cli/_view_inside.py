"""plume view --word, --layers, --view predictions and gradients: their options, and what they write."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plume.view.page import Page

VIEWS = ("predictions", "gradients")

Word = Annotated[str | None, typer.Option(help="Show this word in the sentences of --text: its vectors, layer by layer.")]
TextFile = Annotated[Path | None, typer.Option("--text", help="--word: text, JSONL or table that the word occurs in.")]
Label = Annotated[str | None, typer.Option(help="--word: column of a table that says which sense it is.")]
TextColumn = Annotated[str | None, typer.Option(help="--word: column of a table that holds the text.  [default: found]")]
Most = Annotated[int, typer.Option(help="--word: occurrences to show, sampled over the file.")]
Layers = Annotated[bool, typer.Option("--layers", help="Show what each layer knows: probes and phrases of each --task, agreement.")]
BaselineOption = Annotated[
    str | None, typer.Option(help="--view gradients: start from mask, pad or zero.  [default: mask, if the model has one]")
]


def write_senses(
    model: Path,
    word: str,
    corpus: Path | None,
    *,
    most: int,
    label: str | None,
    text_column: str | None,
    said: str | None,
    language: str,
    out: Path,
) -> None:
    """plume view MODEL --word bank --text corpus.txt"""
    from plume.core.errors import PlumeError
    from plume.view.inside import senses_page

    if corpus is None:
        raise PlumeError(f"Say where '{word}' shall be looked for: --text corpus.txt")
    page = senses_page(
        _opened(model), word, corpus, most=most, label=label, text=text_column, said=said, name=_name(model), language=language
    )  # fmt: skip
    _written(page, out)


def write_layers(model: Path, tasks: list[str], *, most: int, language: str, out: Path) -> None:
    """plume view MODEL --layers --task pos=train.conll,dev.conll"""
    from plume.view.inside import layers_page

    page = layers_page(_opened(model), tasks, most=most, name=_name(model), language=language)
    if why := page.data["layers"]["no_agreement"]:
        print(f"plume: agreement was not measured: {why}", file=sys.stderr)
    _written(page, out)


def write_text_view(
    view: str,
    model: Path,
    text: str,
    *,
    pair: str | None,
    written: str | None,
    task: str | None,
    baseline: str | None,
    said: str | None,
    language: str,
    out: Path,
) -> None:
    """plume view MODEL TEXT --view predictions, or gradients"""
    from plume.view.inside import gradients_page, predictions_page

    opened = _opened(model)
    if view == "predictions":
        page = predictions_page(opened, text, written=written, said=said, name=_name(model), language=language)
    else:
        page = gradients_page(opened, _item(text, pair), task=task, baseline=baseline, name=_name(model), language=language)
    _written(page, out)


def _item(text: str, pair: str | None) -> Any:
    """A text, a pair, or the JSON of what a task reads (choices)."""
    if pair is not None:
        return (text, pair)
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _opened(model: Path) -> Any:
    from plume.view.recording.subject import opened

    return opened(model)


def _name(model: Path) -> str:
    return model.resolve().name


def _written(page: Page, out: Path) -> None:
    page.write(out)
    print(f"{', '.join(panel.name for panel in page.panels)} → {out}")
