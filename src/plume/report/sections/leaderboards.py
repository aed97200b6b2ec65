"""For each task: who is ahead, by how much, and who can be told apart from whom."""

from __future__ import annotations

from pathlib import PurePath

from plume.comparing.results import ModelGroup, Status, Summary, TaskRecord
from plume.report.blocks import Block, Bullets, Figure, Fold, Paragraph, Section
from plume.report.charts.dots import DotRow, dot_plot
from plume.report.charts.drawing import for_desk_and_phone
from plume.report.charts.keys import leaderboard_key
from plume.report.formats import in_points, points, task_points
from plume.report.lookup import StudyLookup
from plume.report.sections.pairs import matrix, pairs_table, task_sentences
from plume.report.tables import Group, Table, TableCell, TableColumn

_TAGS = ("B-", "I-", "E-", "S-", "M-")


def leaderboards(study: StudyLookup) -> Section:
    """The section with a leaderboard a task."""
    words = study.words
    inner = tuple(_task(study, task, number) for number, task in enumerate(study.results.tasks, start=1))
    return Section(anchor="tasks", title=words("leaderboards"), blocks=(Paragraph(words("leaderboards_intro")),), sections=inner)


def _task(study: StudyLookup, task: TaskRecord, number: int) -> Section:
    words = study.words
    blocks: list[Block] = [Paragraph(_about(study, task))]
    if task.note:
        blocks.append(Paragraph(task.note, "note"))
    if task.left_out:
        blocks.append(Paragraph(words("left_out", lines="; ".join(task.left_out)), "note"))
    board = study.leaderboard(task.name)
    if board:
        blocks += _board(study, task, board)
    else:
        blocks.append(Paragraph(words("no_scores")))
    if absent := _absent(study, task):
        blocks.append(Paragraph(absent, "note"))
    return Section(anchor=f"task-{number}", title=task.name, blocks=tuple(blocks))


def _about(study: StudyLookup, task: TaskRecord) -> str:
    words = study.words
    return words.sentences(
        words("task_about", title=words.or_as_is("kind", task.kind, task.title), kind=task.kind, metric=task.metric),
        words(
            "task_files" if task.dev_file or not task.held_out else "task_files_held_out",
            train=f"{task.train_examples:,}",
            train_file=_short(task.train_file),
            scored=f"{task.scored_examples:,}",
            scored_file=_short(task.scored_file),
        ),
        words("task_labels", labels=_labels(task)) if task.labels else "",
    )


def _labels(task: TaskRecord) -> str:
    """The first dozen; of tags that begin and go on (B-LOC, I-LOC) the kinds alone."""
    kinds = list(dict.fromkeys(label[2:] for label in task.labels if label[:2] in _TAGS))
    labels = kinds if kinds and all(label == "O" or label[:2] in _TAGS for label in task.labels) else list(task.labels)
    return ", ".join(labels[:12]) + (f", … ({len(labels)})" if len(labels) > 12 else "")


def _short(path: str) -> str:
    """The file and its folder: where all of it lies is told where the commands are."""
    return "/".join(PurePath(path).parts[-2:])


def _board(study: StudyLookup, task: TaskRecord, board: list[Summary]) -> list[Block]:
    words = study.words
    blocks: list[Block] = [_figure(study, task, board), _table(study, task, board)]
    if sentences := task_sentences(study, task):
        blocks.append(Bullets(tuple(sentences)))
    if table := matrix(study, task):
        blocks.append(table)
        blocks.append(Fold(summary=words("all_pairs", task=task.name), blocks=(pairs_table(study, task),)))
    return blocks


def _figure(study: StudyLookup, task: TaskRecord, board: list[Summary]) -> Figure:
    words = study.words
    title = words("leaderboard_title", task=task.name, metric=task.metric)
    about = "; ".join(f"{summary.model} {task_points(summary.mean, task)}" for summary in board)
    rows = [_dots(study, task, summary) for summary in board]
    several = any(summary.low is not None for summary in board)
    return Figure(
        drawing=for_desk_and_phone(lambda width: dot_plot(rows, width=width, title=title, about=about, axis=task.metric)),
        caption=title + words("stop"),
        key=leaderboard_key(words, several=several),
    )


def _dots(study: StudyLookup, task: TaskRecord, summary: Summary) -> DotRow:
    return DotRow(
        label=summary.model,
        mean=in_points(summary.mean, task.best),
        low=None if summary.low is None else in_points(summary.low, task.best),
        high=None if summary.high is None else in_points(summary.high, task.best),
        seeds=tuple(in_points(cell.main, task.best) for cell in study.done(summary.model, task.name) if cell.main is not None),
        shape=study.shape(summary.model),
        best=summary.best_group,
    )


def _table(study: StudyLookup, task: TaskRecord, board: list[Summary]) -> Table:
    words = study.words
    seeds = study.results.seeds if study.several_seeds() else ()
    columns = [TableColumn(heading=words("model")), TableColumn(heading=task.metric, number=True)]
    if seeds:
        columns.append(TableColumn(heading=words("interval"), number=True))
        columns += [TableColumn(heading=words("seed_number", seed=seed), number=True) for seed in seeds]
    columns.append(TableColumn(heading=words("best_group")))
    rows = tuple(_line(study, task, summary, seeds) for summary in board)
    return Table(caption=words("leaderboard_caption", task=task.name), columns=tuple(columns), groups=(Group(rows=rows),), sortable=True)


def _line(study: StudyLookup, task: TaskRecord, summary: Summary, seeds: tuple[int, ...]) -> tuple[TableCell, ...]:
    cells = [
        TableCell(summary.model, quiet=_kind(study, summary.model)),
        TableCell(task_points(summary.mean, task), sort=summary.mean, strong=summary.best_group),
    ]
    if seeds:
        known = summary.low is not None
        cells.append(TableCell(f"{points(summary.low, task.best)} – {points(summary.high, task.best)}" if known else "–", sort=summary.low))
        scores = {cell.seed: cell.main for cell in study.done(summary.model, task.name)}
        cells += [TableCell(task_points(scores.get(seed), task), sort=scores.get(seed)) for seed in seeds]
    cells.append(TableCell("●" if summary.best_group else "", spoken=study.words("in_best_group") if summary.best_group else ""))
    return tuple(cells)


def _kind(study: StudyLookup, model: str) -> str:
    """What it stands for, where that is not the corpus from nothing."""
    record, words = study.models.get(model), study.words
    if record is None or record.group is ModelGroup.NOTHING:
        return ""
    group = [] if record.control else [study.group(record.group)]
    return words("clause_comma").join([*group, *filter(None, [study.told(record)])])


def _absent(study: StudyLookup, task: TaskRecord) -> str:
    absent = [model.name for model in study.results.models if study.summary(model.name, task.name) is None]
    if not absent:
        return ""
    reasons = {cell.status for name in absent for cell in study.cells(name, task.name)} - {Status.DONE}
    states = study.words.list([study.words.of(state) for state in sorted(reasons)])
    return study.words("absent", models=study.words.list(absent), states=states or "–")
