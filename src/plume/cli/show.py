"""plume show"""

from __future__ import annotations

import json
from typing import Annotated

import typer


def run(
    recipe: Annotated[str, typer.Argument(help="A family or family/size, such as albert/base, or a recipe file.")],
    against: Annotated[str | None, typer.Option(help="Show only what differs from this recipe.")] = None,
    objective: Annotated[list[str] | None, typer.Option(help="Give it these objectives, with weights: masked_lm=1")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a part first: network.depth=4")] = None,
    visibility: Annotated[bool, typer.Option("--visibility", help="Draw who sees whom, in a row of each kind of batch.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the recipe as recipe.json would hold it.")] = False,
) -> None:
    """Show a recipe part by part, how it differs from another, or who sees whom in it."""
    from rich.console import Console
    from rich.table import Table

    from plume.core.part import describe, differences
    from plume.train.settings import declared, named, with_changes

    chosen = with_changes(declared(recipe), objectives=objective or [], overrides=set_ or [])
    if as_json:
        print(json.dumps(chosen.to_json(), ensure_ascii=False, indent=2))
        return
    if visibility:
        from plume.recipes._own import changed
        from plume.train.diagram import diagrams

        for name, picture in diagrams(changed(named(recipe), objectives=objective or [], overrides=set_ or [])).items():
            print(f"{name}\n\n{picture}\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    if against is None:
        table.add_column("part")
        table.add_column(f"{chosen.name}/{chosen.size}", overflow="fold")
        for name, value in vars(chosen).items():
            table.add_row(name, describe(value))
    else:
        other = declared(against)
        for title in ("part", f"{other.name}/{other.size}", f"{chosen.name}/{chosen.size}"):
            table.add_column(title, overflow="fold")
        for difference in differences(other, chosen):
            table.add_row(difference.path, describe(difference.left), describe(difference.right))
    Console().print(table)
