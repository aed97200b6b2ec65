"""What was run, on what, where the time went, and how to run it again."""

from __future__ import annotations

from plume.report.blocks import Block, Code, Fold, Paragraph, Section
from plume.report.formats import duration, share
from plume.report.lookup import StudyLookup
from plume.report.tables import Table, TableCell, TableColumn, rows_of


def again(study: StudyLookup) -> Section:
    """The section on how it was run, and how to run it again."""
    words, results = study.words, study.results
    blocks: list[Block] = [
        Paragraph(words("again_intro", seeds=", ".join(map(str, results.seeds)))),
        Code(text=results.command, label=words("command")),
        Code(text=results.study, label="study.toml"),
        _facts(study),
        _times(study),
        Fold(summary=words.count("commands_summary", len(results.commands)), blocks=(_commands(study),)),
    ]
    return Section(anchor="again", title=words("again"), blocks=tuple(blocks))


def _facts(study: StudyLookup) -> Table:
    words, results = study.words, study.results
    pairs = [
        (words("made"), results.made.replace("T", " ")),
        (words("corpus"), ", ".join(results.corpus)),
        *([(words("corpus_note"), results.corpus_note)] if results.corpus_note else []),
        (words("budget"), results.budget),
        (words("size_class"), results.size_class),
        *((words.or_as_is("machine", name, name), value) for name, value in results.machine.items()),
        *({"plume": results.plume} | results.versions).items(),
    ]
    columns = (TableColumn(heading=words("what")), TableColumn(heading=words("value"), wraps=True))
    return Table(
        caption=words("facts_caption"), columns=columns, groups=rows_of([(TableCell(name), TableCell(value)) for name, value in pairs])
    )


def _times(study: StudyLookup) -> Table:
    words, costs = study.words, study.results.costs
    parts = (
        ("pretraining", costs.pretraining),
        ("tuning_stage", costs.tuning),
        ("evaluating", costs.evaluating),
        ("overhead", costs.overhead),
        ("total", costs.offered),
    )
    columns = (
        TableColumn(heading=words("stage")),
        TableColumn(heading=words("time"), number=True),
        TableColumn(heading=words("share"), number=True),
    )
    rows = [
        (TableCell(words(key)), TableCell(duration(value)), TableCell(share(value / costs.offered if costs.offered else 0)))
        for key, value in parts
    ]
    if costs.offered > 1.01 * costs.total:
        rows.append((TableCell(words("wall_time")), TableCell(duration(costs.total)), TableCell("")))
    return Table(caption=words("times_caption"), columns=columns, groups=rows_of(rows))


def _commands(study: StudyLookup) -> Table:
    words = study.words
    columns = (TableColumn(heading=words("cell")), TableColumn(heading=words("command"), wraps=True))
    rows = [(TableCell(cell), TableCell(command, code=True)) for cell, command in study.results.commands.items()]
    return Table(caption=words("commands_caption"), columns=columns, groups=rows_of(rows), class_="commands")
