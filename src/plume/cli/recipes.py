"""plume recipes"""

from __future__ import annotations

from typing import Annotated

import typer


def run(family: Annotated[str | None, typer.Argument(help="Only this family, with all its sizes.")] = None) -> None:
    """List the families: what they are, their objectives, sizes and papers."""
    from rich.console import Console
    from rich.table import Table

    from plume.recipes import _catalog as catalog

    table = Table(box=None, pad_edge=False, header_style="bold")
    if family is not None:
        for column in ("recipe", "width", "depth", "heads", "embedding", "vocabulary", "length", "parameters"):
            table.add_column(column, justify="left" if column == "recipe" else "right")
        for size, recipe in catalog.sizes(family).items():
            network = recipe.network
            cells = (
                network.width,
                network.depth,
                network.heads,
                recipe.embedding.width,
                recipe.tokenizer.vocabulary,
                recipe.training.length,
            )
            table.add_row(f"{family}/{size}", *[f"{cell:,}" for cell in cells], f"{catalog.parameters(recipe):,}")
    else:
        for column in ("family", "what it is", "objectives", "sizes", "paper"):
            table.add_column(column, overflow="fold")
        for name in catalog.families():
            sizes = catalog.sizes(name)
            base = sizes["base"]
            objectives = ", ".join(objective.name for objective in base.objectives)
            table.add_row(name, base.title, objectives, " ".join(sizes), base.paper)
    Console().print(table)
