"""plume recipes"""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    family: Annotated[str | None, typer.Argument(help="Details of this family: description, differences from the paper, sizes.")] = None,
) -> None:
    """List the families, with their objectives, sizes and papers."""
    from rich.console import Console
    from rich.table import Table

    from plume.recipes import _catalog as catalog

    table = Table(box=None, pad_edge=False, header_style="bold")
    if family is not None:
        rows = {f"{family}/{size}": catalog.figures(recipe) for size, recipe in catalog.declarations(family).items()}
        for column in ("recipe", *next(iter(rows.values()))):
            table.add_column(column, justify="left" if column == "recipe" else "right")
        for name, figures in rows.items():
            table.add_row(name, *[f"{figure:,}" for figure in figures.values()])
        print(f"{catalog.about(family)}\n")
    else:
        for column in ("family", "description", "objectives", "sizes", "paper"):
            table.add_column(column, overflow="fold")
        for name in catalog.families():
            sizes = catalog.declarations(name)
            base = sizes["base"]
            table.add_row(name, base.title, ", ".join(catalog.learns(base)), " ".join(sizes), base.paper)
    Console().print(table)
