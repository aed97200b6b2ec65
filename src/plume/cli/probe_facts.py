"""plume probe-facts"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="Model directory: one that fills blanks or reads left to right.")],
    facts: Annotated[Path, typer.Argument(help="TSV or JSONL: subject, relation, object.")],
    templates: Annotated[Path, typer.Option(help="TSV: relation, template with [X] for the subject and [Y] for the object.")],
    candidates: Annotated[int, typer.Option(help="Rank among so many of a relation's most frequent objects.  [default: all]")] = 0,
    rows: Annotated[int, typer.Option(help="Facts of a relation that are asked, drawn by the seed; 0: all.")] = 200,
    untrained: Annotated[bool, typer.Option("--untrained", help="Also ask the same model with first weights.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write everything as JSON, each fact with its rank.")] = None,
) -> None:
    """What a model knows: facts as clozes, the right object ranked among all objects of its relation, beside baselines that know no subject."""
    from rich.console import Console
    from rich.table import Table

    from plume.api import probe_facts

    found = probe_facts(model, facts, templates=templates, candidates=candidates, rows=rows, untrained=untrained, seed=seed, out=out)
    shown = Table("relation", "facts", "candidates", "asked", "P@1", "P@10", "MRR", box=None)
    for one in found["relations"]:
        for place, (name, scores) in enumerate(one["scores"].items()):
            head = (one["relation"], str(one["facts"]), str(one["candidates"])) if place == 0 else ("", "", "")
            shown.add_row(*head, name, *(f"{scores[key]:.3f}" for key in ("p1", "p10", "mrr")))
    for place, (name, scores) in enumerate(found["mean"].items()):
        shown.add_row("mean of relations" if place == 0 else "", "", "", name, *(f"{scores[key]:.3f}" for key in ("p1", "p10", "mrr")))
    console = Console(highlight=False, soft_wrap=True)
    console.print(shown)
    if found["left_out"]:
        told = ", ".join(found["left_out"])
        console.print(f"relations left out, without a template or without two objects that the model's vocabulary can write: {told}")
    if lost := {one["relation"]: one["unwritable"] for one in found["relations"] if one["unwritable"]}:
        console.print("objects that the model's vocabulary cannot write, left out: " + ", ".join(f"{name} {n}" for name, n in lost.items()))
