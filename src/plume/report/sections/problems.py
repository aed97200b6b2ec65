"""Cells without a result, with their reasons."""

from __future__ import annotations

from plume.comparing.results import Status
from plume.report.blocks import Paragraph, Section
from plume.report.formats import NONE
from plume.report.lookup import StudyLookup
from plume.report.tables import Table, TableCell, TableColumn, rows_of


def problems(study: StudyLookup) -> Section:
    """The section of runs without a result."""
    words = study.words
    found = _found(study)
    blocks = (Paragraph(words("problems_intro")), _table(study, found)) if found else (Paragraph(words("no_problems")),)
    return Section(anchor="problems", title=words("problems"), blocks=blocks)


def _found(study: StudyLookup) -> dict[tuple[str, str, Status, str], list[int]]:
    """Seeds by model, task, state and reason: what fails for one seed often fails alike for all."""
    found: dict[tuple[str, str, Status, str], list[int]] = {}
    for run in study.results.pretraining:
        if run.status is not Status.DONE:
            found.setdefault((run.model, study.words("pretraining"), run.status, run.reason), []).append(run.seed)
    for cell in study.results.scores:
        if cell.status is not Status.DONE:
            found.setdefault((cell.model, cell.task, cell.status, cell.reason), []).append(cell.seed)
    for model, what, status, reason in study.results.unmeasured:
        found[model, study.words(f"measuring_{what}"), status, reason] = [study.results.seeds[0]]
    return found


def _table(study: StudyLookup, found: dict[tuple[str, str, Status, str], list[int]]) -> Table:
    words = study.words
    columns = (
        TableColumn(heading=words("model")),
        TableColumn(heading=words("stage")),
        TableColumn(heading=words("seeds")),
        TableColumn(heading=words("state")),
        TableColumn(heading=words("reason"), wraps=True),
    )
    rows = [
        (
            TableCell(model),
            TableCell(stage),
            TableCell(", ".join(map(str, sorted(seeds)))),
            TableCell(words.of(status)),
            TableCell(reason or NONE),
        )
        for (model, stage, status, reason), seeds in found.items()
    ]
    return Table(caption=words("problems_caption"), columns=columns, groups=rows_of(rows))
