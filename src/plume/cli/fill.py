"""plume fill"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plume.cli._options import Language, Model

if TYPE_CHECKING:
    from plume.model.use.entities import Mention


def run(
    model: Model,
    text: Annotated[str, typer.Argument(help="Text with blanks: ___ or the family's mask token ([MASK]; RoBERTa: <mask>).")],
    top: Annotated[int, typer.Option(help="Number of candidates per blank.")] = 5,
    language: Language = None,
    entities: Annotated[
        bool,
        typer.Option("--entities", help="Fill with entities of the model's knowledge base (eae, fae), and show the facts that were asked."),
    ] = False,
    kb: Annotated[
        Path | None, typer.Option(help="With --entities: the model's knowledge base as it is now, its facts and its names.")
    ] = None,
    documents: Annotated[
        list[Path] | None,
        typer.Option(
            help="Documents to look things up in, for families that do (realm): JSONL with title and text, or plain text; repeatable."
        ),
    ] = None,
) -> None:
    """Fill in the blanks of a text (masked language modelling)."""
    import plume
    from plume.core.errors import PlumeError

    loaded = plume.load(model)
    if entities:
        _show_entities((loaded if kb is None else loaded.know(kb)).entities(text, top=top))
        return
    if kb is not None:
        raise PlumeError("--kb is for entities: add --entities, or leave it out.")
    if documents:
        loaded.consult(documents)
    for number, guesses in enumerate(loaded.fill(text, top=top, language=language)):
        if number:
            print()
        for guess in guesses:
            print(f"{guess.probability:6.1%}  {guess.token}\t{guess.text}")
    for found in loaded.looked_up(text) if documents else ():
        print(f"\n{found.share:6.1%}  {found.title or '(nothing looked up)'}" + (f"\n        {found.text}" if found.text else ""))


def _show_entities(mentions: Sequence[Mention]) -> None:
    """Of the blanks, or of what is mentioned where there are none."""
    if not mentions:
        print("The text has no blank (___), and no entity was found in it.", file=sys.stderr)
    blanks = [one for one in mentions if one.blank]
    for number, one in enumerate(blanks or mentions):
        if number:
            print()
        if not one.blank:
            print(f"{one.text}  ({one.start}–{one.end})")
        for guess in one.guesses:
            print(f"{guess.probability:6.1%}  {guess.name}\t{guess.entity}")
        if one.context is not None:
            print(f"without a fact {one.context:.1%}" + "".join(f"\n{fact.probability:6.1%}  {fact.said}" for fact in one.facts))
