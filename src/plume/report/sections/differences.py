"""What each recipe is, and how it differs from its parent."""

from __future__ import annotations

import re

from plume.comparing.results import ModelRecord, Origin
from plume.report.blocks import Block, Fold, Paragraph, Section
from plume.report.formats import NONE
from plume.report.lookup import StudyLookup
from plume.report.tables import Table, TableCell, TableColumn, rows_of


def differences(study: StudyLookup) -> Section:
    """The section on what the models are."""
    words = study.words
    blocks: list[Block] = [Paragraph(words("differences_intro")), _recipes(study)]
    blocks += [_fold(study, model) for model in study.results.models if model.differences]
    return Section(anchor="recipes", title=words("differences"), blocks=tuple(blocks))


def _recipes(study: StudyLookup) -> Table:
    words = study.words
    columns = (
        TableColumn(heading=words("model")),
        TableColumn(heading=words("what_it_is"), wraps=True),
        TableColumn(heading=words("size_class")),
        TableColumn(heading=words("parent")),
        TableColumn(heading=words("parts_changed"), number=True),
        TableColumn(heading=words("paper"), wraps=True),
    )
    return Table(caption=words("recipes_caption"), columns=columns, groups=rows_of([_row(study, model) for model in study.results.models]))


def _row(study: StudyLookup, model: ModelRecord) -> tuple[TableCell, ...]:
    return (
        TableCell(model.name, quiet=study.words.of(model.control)),
        TableCell(model.title or NONE, quiet=_origin(study, model)),
        TableCell(model.size or NONE),
        TableCell(model.parent or NONE),
        TableCell(str(len(model.differences)) if model.parent else NONE),
        TableCell(model.paper or NONE, link=paper_link(model.paper)),
    )


def _origin(study: StudyLookup, model: ModelRecord) -> str:
    """Of what was not pre-trained here from nothing: where it comes from."""
    if model.origin is Origin.RECIPE:
        return ""
    origin = study.words("with_note", name=study.words.of(model.origin), note=model.source)
    return study.words("clause_stop").lstrip() + origin if model.title else origin


def paper_link(paper: str) -> str:
    """
    >>> paper_link("arXiv:1810.04805")
    'https://arxiv.org/abs/1810.04805'
    """
    if found := re.fullmatch(r"arxiv:([\w./-]+)", paper, flags=re.IGNORECASE):
        return f"https://arxiv.org/abs/{found.group(1)}"
    return paper if re.fullmatch(r"https?://[^\s\"'<>]+", paper) else ""


def _fold(study: StudyLookup, model: ModelRecord) -> Fold:
    words = study.words
    columns = (
        TableColumn(heading=words("part")),
        TableColumn(heading=model.parent, wraps=True),
        TableColumn(heading=model.name, wraps=True),
    )
    rows = [
        (TableCell(each.path, code=True), TableCell(each.parent, code=True), TableCell(each.here, code=True)) for each in model.differences
    ]
    caption = words("differences_caption", model=model.name, parent=model.parent)
    summary = words.count("differences_summary", len(rows), model=model.name, parent=model.parent)
    return Fold(summary=summary, blocks=(Table(caption=caption, columns=columns, groups=rows_of(rows)),))
