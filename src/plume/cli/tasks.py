"""plume tasks"""

from __future__ import annotations

from typing import Annotated

import typer


def run(task: Annotated[str | None, typer.Argument(help="Details of this task, with its settings.")] = None) -> None:
    """List the tasks, with the main metric and file formats of each, and the pre-training objectives."""
    from rich.console import Console
    from rich.table import Table

    from plume.core import catalog

    if task is not None:
        _one(task)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("task", "description", "metric", "reads"):
        table.add_column(column, overflow="fold")
    for name in catalog.names("tasks"):
        declared = catalog.load("tasks", name).TASK
        table.add_row(name, declared.title, declared.metric, declared.reads)
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print("\npre-training objectives: " + ", ".join(catalog.names("objectives")))


def _one(name: str) -> None:
    from plume.core import catalog
    from plume.tuning.task import DirectTask, RunTask

    module = catalog.load("tasks", name)
    declared = module.TASK
    print((module.__doc__ or declared.title).strip())
    print(f"\nreads: {getattr(declared, 'reads', '')}\nmetric: {declared.metric}")
    if isinstance(declared, DirectTask):
        print(f'\nneeds no fine-tuning:\n  plume predict MODEL --task {name} "…"\n  plume eval MODEL --task {name} --data FILE')
        return
    documents = " --documents FILE" if isinstance(declared, RunTask) else ""
    print(f"\n  plume tune MODEL --task {name} --train FILE --dev FILE{documents} --out DIRECTORY")
    fixed = {"kind", "title", "metric", "name", "labels"}
    settable = {name: value for name, value in vars(declared).items() if name not in fixed and isinstance(value, bool | int | float | str)}
    if settable:
        print("\n--task-set: " + ", ".join(f"{field}={value}" for field, value in settable.items()))
