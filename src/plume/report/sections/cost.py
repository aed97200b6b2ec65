"""Quality against what it costs: speed, and the time to make a model."""

from __future__ import annotations

from plume.comparing.results import ModelRecord, Standing
from plume.report.blocks import Block, Figure, Paragraph, Section
from plume.report.charts.drawing import for_desk_and_phone
from plume.report.charts.keys import cost_key
from plume.report.charts.scatter import Point, scatter
from plume.report.formats import NONE, count, duration, in_points, points, rate
from plume.report.lookup import StudyLookup
from plume.report.tables import Table, TableCell, TableColumn, rows_of


def cost(study: StudyLookup) -> Section:
    """The section on quality against speed and against the time to make a model."""
    words = study.words
    quick = [standing for standing in study.results.standings if standing.complete and standing.per_second > 0]
    made = [standing for standing in study.results.standings if standing.complete and standing.seconds > 0]
    blocks: list[Block] = []
    if quick:
        blocks += [Paragraph(_front_sentence(study, quick)), _speed_figure(study, quick)]
    if made:
        blocks.append(_making_figure(study, made))
    blocks += [_table(study)] if study.results.models else []
    return Section(anchor="cost", title=words("cost"), blocks=tuple(blocks))


def _front_sentence(study: StudyLookup, standings: list[Standing]) -> str:
    words = study.words
    front = sorted((standing for standing in standings if standing.pareto), key=lambda standing: -standing.quality)
    listed = [words("front_item", model=each.model, quality=points(each.quality), rate=rate(each.per_second)) for each in front]
    return words.count("front", len(front), models=words.list(listed))


def _point(study: StudyLookup, standing: Standing, cost: float, front: bool) -> Point:
    chosen = study.results.recommendation
    return Point(
        name=standing.model,
        cost=cost,
        quality=in_points(standing.quality),
        shape=study.shape(standing.model),
        front=front,
        chosen=chosen is not None and chosen.model == standing.model,
    )


def _speed_figure(study: StudyLookup, standings: list[Standing]) -> Figure:
    drawn = [_point(study, standing, standing.per_second, standing.pareto) for standing in standings]
    about = "; ".join(f"{each.model} {points(each.quality)}, {rate(each.per_second)}/s" for each in standings)
    return _figure(study, drawn, "speed", about, more_is_better=True)


def _making_figure(study: StudyLookup, standings: list[Standing]) -> Figure:
    drawn = [_point(study, standing, standing.seconds, standing.making_pareto) for standing in standings]
    about = "; ".join(f"{each.model} {points(each.quality)}, {duration(each.seconds)}" for each in standings)
    return _figure(study, drawn, "making", about, more_is_better=False)


def _figure(study: StudyLookup, drawn: list[Point], kind: str, about: str, *, more_is_better: bool) -> Figure:
    words = study.words
    title, across, upwards = words(f"{kind}_title"), words(f"{kind}_axis"), words("quality_axis")
    return Figure(
        drawing=for_desk_and_phone(
            lambda width: scatter(
                drawn, width=width, title=title, about=about, across=across, upwards=upwards, more_is_better=more_is_better
            )
        ),
        caption=title + words("stop"),
        key=cost_key(words),
    )


def _table(study: StudyLookup) -> Table:
    words = study.words
    numbers = ("flops_per_token", "flops_total", "steps", "pretraining_time", "tuning_time", "time_to_make")
    columns = (
        TableColumn(heading=words("model")),
        *(TableColumn(heading=words(key), number=True) for key in numbers),
        TableColumn(heading=words("tokenizer")),
    )
    rows = [_row(study, model) for _, models in study.groups() for model in models]
    return Table(caption=words("cost_caption"), columns=columns, groups=rows_of(rows), sortable=True)


def _row(study: StudyLookup, model: ModelRecord) -> tuple[TableCell, ...]:
    usage, standing = study.usage(model.name), study.standings.get(model.name)
    tuned = any(study.done(model.name, task) for task in study.tasks)
    return (
        TableCell(model.name, quiet=study.told(model)),
        TableCell(count(model.flops_per_token), sort=model.flops_per_token),
        TableCell(count(usage.flops), sort=usage.flops),
        TableCell(f"{usage.steps:,.0f}" if usage.runs else NONE, sort=usage.steps),
        TableCell(duration(usage.seconds) if usage.runs else NONE, sort=usage.seconds),
        TableCell(duration(usage.tuning_seconds) if tuned else NONE, sort=usage.tuning_seconds),
        TableCell(duration(standing.seconds) if standing else NONE, sort=standing.seconds if standing else None),
        TableCell(model.tokenizer or NONE),
    )
