"""Several models as one: what all of them take, and the best that any of them does at each task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plume.compressing.lineage import Figures
from plume.compressing.measuring import figures_of
from plume.core.part import replace
from plume.tuning.declared import is_tuned, read_declaration
from plume.tuning.settings import TaskData


def figures_together(folders: Sequence[Path], data: Sequence[TaskData], *, split: int = 0) -> Figures:
    """Of one model, or of several; each is measured at those of the tasks that it has."""
    if len(folders) == 1:
        return figures_of(folders[0], data, split=split)
    scores: dict[str, float] = {}
    parameters = size = 0
    for folder in folders:
        own = _own(folder, data)
        found = figures_of(folder, [theirs for theirs, _ in own], split=split)
        parameters, size = parameters + found.parameters, size + found.bytes
        for theirs, called in own:
            for name, value in found.scores.items():
                before, _, metric = name.partition(".")
                if before == theirs.task.called:
                    scores[f"{called}.{metric}"] = max(value, scores.get(f"{called}.{metric}", value))
    return Figures(parameters=parameters, bytes=size, scores=scores)


def _own(folder: Path, data: Sequence[TaskData]) -> list[tuple[TaskData, str]]:
    """The tasks of these that the model has, as it calls them, and as they are called here."""
    tasks = read_declaration(folder).tasks if is_tuned(folder) else ()
    found = []
    for one in data:
        alike = [task for task in tasks if task.kind == one.task.kind and task.labels == one.task.labels]
        if alike:
            own = next((task for task in alike if task.called == one.task.called), alike[0])
            found.append((replace(one, task=own), one.task.called))
    return found
