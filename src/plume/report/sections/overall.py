"""All models over all tasks, with what they cost."""

from __future__ import annotations

from plume.comparing.results import ModelGroup, ModelRecord, Status
from plume.report.blocks import Block, Paragraph, Section
from plume.report.formats import NONE, chance, count, margin, milliseconds, points, rate, size, task_points
from plume.report.lookup import StudyLookup
from plume.report.sections.public import gains
from plume.report.tables import Group, Table, TableCell, TableColumn


def overall(study: StudyLookup) -> Section:
    """The section with all models over all tasks."""
    words = study.words
    blocks: list[Block] = [Paragraph(words.count("overall_intro", len(study.results.seeds))), overall_table(study), *gains(study)]
    notes = [words("overall_note")]
    if any(not standing.complete for standing in study.results.standings):
        notes.append(words("incomplete_sign"))
    return Section(anchor="overall", title=words("overall"), blocks=(*blocks, Paragraph(words.sentences(*notes), "note")))


def overall_table(study: StudyLookup) -> Table:
    """A row a model: quality, scores, what it costs."""
    words = study.words
    found = study.groups()
    groups = tuple(
        Group(rows=tuple(_row(study, model) for model in models), heading=_heading(study, group, len(found))) for group, models in found
    )
    return Table(caption=words("overall_caption"), columns=_columns(study), groups=groups, sortable=True, class_="overall")


def _heading(study: StudyLookup, group: ModelGroup, several: int) -> str:
    """Recipes and baselines alone need no word for the recipes."""
    return "" if group is ModelGroup.NOTHING and several <= 2 else study.group(group)


def _columns(study: StudyLookup) -> tuple[TableColumn, ...]:
    words = study.words
    tasks = [TableColumn(heading=f"{task.name} {task.metric}", number=True, about=task.title) for task in study.results.tasks]
    costs = ("parameters", "disk", "tokens_seen", "training_speed", "predictions_per_second", "p50", "p99", "peak_memory")
    quality = TableColumn(heading=words("quality"), number=True, about=words("quality_about"))
    chances = [TableColumn(heading=words("chance_best"), number=True)] if _chances(study) else []
    return (
        TableColumn(heading=words("model")),
        quality,
        *chances,
        *tasks,
        *(TableColumn(heading=words(key), number=True) for key in costs),
    )


def _row(study: StudyLookup, model: ModelRecord) -> tuple[TableCell, ...]:
    chosen = study.results.recommendation
    name = TableCell(
        model.name,
        quiet=study.told(model),
        strong=chosen is not None and chosen.model == model.name,
    )
    chances = [TableCell(chance(known.get(model.name)), sort=known.get(model.name))] if (known := _chances(study)) else []
    return (name, _quality(study, model.name), *chances, *(_score(study, model.name, task) for task in study.tasks), *_costs(study, model))


def _chances(study: StudyLookup) -> dict[str, float]:
    """Of being the best, by candidate."""
    chosen = study.results.recommendation
    return chosen.chances if chosen else {}


def _quality(study: StudyLookup, model: str) -> TableCell:
    standing = study.standings.get(model)
    if standing is None:
        return TableCell(NONE)
    sign = "" if standing.complete else "†"
    return TableCell(points(standing.quality) + sign, quiet=plus_minus(margin(standing.low, standing.high)), sort=standing.quality)


def _score(study: StudyLookup, model: str, task: str) -> TableCell:
    summary, record = study.summary(model, task), study.tasks[task]
    if summary is None:
        return TableCell(_why_not(study, model, task))
    within = plus_minus(margin(summary.low, summary.high, record.best))
    return TableCell(task_points(summary.mean, record), quiet=within, sort=summary.mean, strong=summary.best_group)


def _why_not(study: StudyLookup, model: str, task: str) -> str:
    """One word for a cell without a score; the reason stands in its own section."""
    states = {cell.status for cell in study.cells(model, task)} - {Status.DONE}
    return study.words.of(sorted(states)[0]) if states else NONE


def plus_minus(half: str) -> str:
    """Half of an interval, to stand after a score."""
    return f"± {half}" if half else ""


def _costs(study: StudyLookup, model: ModelRecord) -> tuple[TableCell, ...]:
    standing, usage = study.standings.get(model.name), study.usage(model.name)
    predicted = standing.per_second if standing else usage.per_second or 0.0
    return (
        TableCell(count(model.parameters), sort=model.parameters),
        TableCell(size(model.disk), sort=model.disk),
        TableCell(count(usage.tokens), sort=usage.tokens),
        TableCell(count(usage.tokens_per_second), sort=usage.tokens_per_second),
        TableCell(rate(predicted), sort=predicted),
        TableCell(milliseconds(usage.p50), sort=usage.p50),
        TableCell(milliseconds(usage.p99), sort=usage.p99),
        TableCell(size(usage.peak_memory), sort=usage.peak_memory),
    )
