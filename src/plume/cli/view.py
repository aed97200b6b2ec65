"""plume view"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from plume.cli import _view_inside as inside


def run(
    model: Annotated[Path, typer.Argument(help="Model directory: plume's, fine-tuned or not, or a Hugging Face directory.")],
    text: Annotated[str | None, typer.Argument(help="Text to read. ___ is a blank, for models that fill blanks.")] = None,
    pair: Annotated[str | None, typer.Option(help="Second text, read together with the first.")] = None,
    target: Annotated[str | None, typer.Option(help="Encoder–decoders: what the decoder writes.  [default: its own answer]")] = None,
    before: Annotated[str | None, typer.Option(help="Transformer-XL, XLNet: text read before, kept in memory.")] = None,
    against: Annotated[Path | None, typer.Option(help="Second model, shown beside the first.")] = None,
    view: Annotated[str, typer.Option(help="head, model, neuron, switch or all (of these); predictions or gradients.")] = "all",
    heads: Annotated[bool, typer.Option("--heads", help="Which heads matter for the file of --task.")] = False,
    word: inside.Word = None,
    corpus: inside.TextFile = None,
    label: inside.Label = None,
    text_column: inside.TextColumn = None,
    most: inside.Most = 300,
    layers: inside.Layers = False,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="--heads: labelled file, or NAME=FILE. --layers: pos=train.conll,dev.conll; repeatable. "
            "Otherwise: task of a model fine-tuned for several."
        ),
    ] = None,
    examples: Annotated[
        int | None, typer.Option(help="--heads, --layers: examples to use.  [default: 256 for --heads, 1000 for --layers]")
    ] = None,
    baseline: inside.BaselineOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="--heads: gradients only; do not switch each head off.")] = False,
    text_language: Annotated[str | None, typer.Option(help="Multilingual models (xlm): language of the text.  [default: detected]")] = None,
    language: Annotated[str, typer.Option(help="Language of the page: en or zh.")] = "en",
    out: Annotated[Path, typer.Option(help="Output page.")] = Path("view.html"),
) -> None:
    """Look inside a model: attention, predictions by layer, what a word means in its sentences, what each layer knows."""
    from plume.core.errors import PlumeError
    from plume.view.attending import attention_page
    from plume.view.recording.subject import open_subject

    if word is not None:
        inside.write_senses(
            model, word, corpus, most=most, label=label, text_column=text_column, said=text_language, language=language, out=out
        )  # fmt: skip
        return
    if layers:
        inside.write_layers(model, task or [], most=examples or 1000, language=language, out=out)
        return
    if heads:
        if task is None or text is not None:
            raise PlumeError("--heads needs a labelled file and no text: plume view MODEL --heads --task FILE")
        _heads(model, _only(task), examples=examples or 256, quick=quick, language=language, out=out)
        return
    if text is None:
        raise PlumeError(
            'Say what to look at: a text (plume view MODEL "The cat sat on the mat."), a word in a file (--word bank --text corpus.txt), '
            "or --layers."
        )
    named = None if task is None else _only(task)
    if view in inside.VIEWS:
        if against is not None:
            raise PlumeError(f"--view {view} shows one model: leave out --against (head, model, neuron and switch show two).")
        inside.write_text_view(
            view, model, text, pair=pair, written=target, task=named, baseline=baseline, said=text_language, language=language, out=out
        )  # fmt: skip
        return
    subjects = [open_subject(model)] + ([] if against is None else [open_subject(against)])
    page = attention_page(
        subjects, text, pair=pair, target=target, before=before, view=view, task=named, said=text_language, language=language
    )
    page.write(out)
    if view == "all" and "switch" not in [panel.name for panel in page.panels]:
        print("plume: heads were not switched off one by one, which takes long for so many tokens; ask with --view switch", file=sys.stderr)
    print(f"{', '.join(panel.name for panel in page.panels)} → {out}")


def _only(task: list[str]) -> str:
    from plume.core.errors import PlumeError

    if len(task) > 1:
        raise PlumeError(f"One --task is looked at here, not {len(task)}: {', '.join(task)}.")
    return task[0]


def _heads(model: Path, task: str, *, examples: int, quick: bool, language: str, out: Path) -> None:
    from plume.view.attending import importance_page
    from plume.view.recording.importance import TaskHeads, ranked
    from plume.view.recording.subject import open_subject

    name, _, file = task.rpartition("=")
    found = TaskHeads(open_subject(model), file, task=name or None, examples=examples).importance(without_each=not quick)
    importance_page(found, language=language).write(out)
    for suffix in (".json", ".csv"):
        found.write(out.with_suffix(suffix))
    for row in ranked(found)[:5]:
        print(f"{row['place']} layer {row['layer'] + 1} head {row['head'] + 1}: {row['importance']:.4g}")
    if found.correlation is not None:
        print(f"Spearman's correlation with how much the loss changes without the head: {found.correlation:.2f}")
    print(f"{found.examples} examples → {out}, {out.with_suffix('.json').name}, {out.with_suffix('.csv').name}")
