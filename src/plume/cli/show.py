"""plume show"""

from __future__ import annotations

import json
from typing import Annotated

import typer


def run(
    recipe: Annotated[str, typer.Argument(help="A family or family/size, such as albert/base.")],
    against: Annotated[str | None, typer.Option(help="Show only what differs from this recipe.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a part first: network.depth=4")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the recipe as recipe.json would hold it.")] = False,
) -> None:
    """Show a recipe part by part, or how it differs from another."""
    from rich.console import Console
    from rich.table import Table

    from plume.core.part import describe, differences
    from plume.recipes import _catalog as catalog

    chosen = catalog.recipe(recipe)
    for assignment in set_ or []:
        chosen = chosen.override(assignment)
    if as_json:
        print(json.dumps(chosen.to_json(), ensure_ascii=False, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    if against is None:
        table.add_column("part")
        table.add_column(f"{chosen.name}/{chosen.size}", overflow="fold")
        for name, value in vars(chosen).items():
            table.add_row(name, describe(value))
    else:
        other = catalog.recipe(against)
        for title in ("part", f"{other.name}/{other.size}", f"{chosen.name}/{chosen.size}"):
            table.add_column(title, overflow="fold")
        for difference in differences(other, chosen):
            table.add_row(difference.path, describe(difference.left), describe(difference.right))
    Console().print(table)
