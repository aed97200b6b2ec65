"""The numbers as CSV, unrounded and in no language: one row a cell, one row a model."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from plume.comparing.results import Results, ScoreRecord
from plume.report.lookup import StudyLookup


def scores_csv(results: Results) -> str:
    """A row for each model, task and seed; all metrics of all tasks as columns, empty where a task has none such."""
    metrics = sorted({name for cell in results.scores for name in cell.scores})
    deciding = {task.name: task.metric for task in results.tasks}
    header = ["model", "task", "seed", "status", "metric", "score", "steps", "seconds", "peak_memory", "per_second", "p50_ms", "p99_ms"]
    rows = [
        [*_cell(cell, deciding.get(cell.task, "")), *(cell.scores.get(name) for name in metrics), cell.reason] for cell in results.scores
    ]
    return _written([*header, *(f"metric:{name}" for name in metrics), "reason"], rows)


def _cell(cell: ScoreRecord, metric: str) -> list[object]:
    speed = [cell.speed.per_second, cell.speed.p50, cell.speed.p99] if cell.speed else [None] * 3
    return [cell.model, cell.task, cell.seed, cell.status.value, metric, cell.main, cell.steps, cell.seconds, cell.peak_memory, *speed]


def models_csv(study: StudyLookup) -> str:
    """A row for each model, with what it is, how good, and what it took."""
    header = (
        ["model", "family", "size", "control", "recommended", "quality", "low", "high", "complete", "pareto", "per_second", "seconds"]
        + ["parameters", "flops_per_token", "disk", "tokens", "tokens_per_second", "peak_memory", "tokenizer", "parent", "paper", "title"]
        + ["chance_best", "group", "mode"]
        + [f"{kind}:{task}" for task in study.tasks for kind in ("mean", "low", "high")]
    )
    return _written(header, [_model(study, name) for name in study.models])


def _model(study: StudyLookup, name: str) -> list[object]:
    model, standing, chosen = study.models[name], study.standings.get(name), study.results.recommendation
    usage = study.usage(name)
    row: list[object] = [name, model.family, model.size, model.control.value if model.control else ""]
    row.append(chosen is not None and chosen.model == name)
    if standing:
        row += [standing.quality, standing.low, standing.high, standing.complete, standing.pareto, standing.per_second, standing.seconds]
    else:
        row += [None] * 7
    row += [model.parameters, model.flops_per_token, model.disk, usage.tokens, usage.tokens_per_second, usage.peak_memory]
    row += [model.tokenizer, model.parent, model.paper, model.title, chosen.chances.get(name) if chosen else None]
    row += [model.group.value, model.mode]
    for task in study.tasks:
        summary = study.summary(name, task)
        row += [summary.mean, summary.low, summary.high] if summary else [None] * 3
    return row


def _written(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()
