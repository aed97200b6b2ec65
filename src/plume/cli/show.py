"""plume show"""

from __future__ import annotations

import json
from typing import Annotated

import typer


def run(
    recipe: Annotated[str, typer.Argument(help="Family or family/size, such as albert/base, or a recipe file.")],
    against: Annotated[str | None, typer.Option(help="Show only the differences from this recipe.")] = None,
    objective: Annotated[list[str] | None, typer.Option(help="Replace the objectives, with weights: masked_lm=1; repeatable.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a setting: network.depth=4; repeatable.")] = None,
    visibility: Annotated[bool, typer.Option("--visibility", help="Draw the attention mask of an example of each objective.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the recipe as JSON, as in recipe.json.")] = False,
) -> None:
    """Show a recipe part by part, its differences from another, or its attention masks."""
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
