"""What was run, on what, where the time went, and how to run it again."""

from __future__ import annotations

from plume.report.blocks import Block, Code, Fold, Paragraph, Section
from plume.report.formats import duration, share
from plume.report.lookup import Study
from plume.report.tables import Cell, Column, Table, rows_of


def again(study: Study) -> Section:
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


def _facts(study: Study) -> Table:
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
    columns = (Column(heading=words("what")), Column(heading=words("value"), wraps=True))
    return Table(caption=words("facts_caption"), columns=columns, groups=rows_of([(Cell(name), Cell(value)) for name, value in pairs]))


def _times(study: Study) -> Table:
    words, costs = study.words, study.results.costs
    parts = (
        ("pretraining", costs.pretraining),
        ("tuning_stage", costs.tuning),
        ("evaluating", costs.evaluating),
        ("overhead", costs.overhead),
        ("total", costs.offered),
    )
    columns = (Column(heading=words("stage")), Column(heading=words("time"), number=True), Column(heading=words("share"), number=True))
    rows = [(Cell(words(key)), Cell(duration(value)), Cell(share(value / costs.offered if costs.offered else 0))) for key, value in parts]
    if costs.offered > 1.01 * costs.total:
        rows.append((Cell(words("wall_time")), Cell(duration(costs.total)), Cell("")))
    return Table(caption=words("times_caption"), columns=columns, groups=rows_of(rows))


def _commands(study: Study) -> Table:
    words = study.words
    columns = (Column(heading=words("cell")), Column(heading=words("command"), wraps=True))
    rows = [(Cell(cell), Cell(command, code=True)) for cell, command in study.results.commands.items()]
    return Table(caption=words("commands_caption"), columns=columns, groups=rows_of(rows), class_="commands")
