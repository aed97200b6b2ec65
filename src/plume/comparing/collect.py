"""From the directories of a study to its results: every figure is read back from what the runs left on disk."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume._version import __version__
from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.gains import public_gains, small_gains
from plume.comparing.measuring.records import model_record, pretrain_record, score_record
from plume.comparing.naming import called
from plume.comparing.planning.commands import cell_command, study_command
from plume.comparing.recommending.recommend import recommend
from plume.comparing.recommending.standings import standings
from plume.comparing.results import Comparison, Costs, Disagreement, PredictionSpeed, Probe, Results, Status, Summary, TaskRecord
from plume.comparing.rows.disagreements import disagreements
from plume.comparing.rows.scored import scored_examples
from plume.comparing.running.run import MACHINE, Clock
from plume.comparing.shown import shown
from plume.comparing.significance.resampling import Resampled, resample
from plume.comparing.significance.statistics import compare_all, summaries
from plume.comparing.study import Study, StudyTask
from plume.comparing.study_file import write_study_file
from plume.comparing.usage import with_usage
from plume.core.files import read_json
from plume.core.part import replace
from plume.metrics.resampled.measures import RowScores
from plume.metrics.scores import HUNDREDS
from plume.readers.example import Example
from plume.tuning.preparing import FEW
from plume.tuning.task import Prediction, Task


@dataclass(frozen=True, kw_only=True)
class _Scored:
    """A task with what every model answered, by model and seed."""

    record: TaskRecord
    task: Task
    examples: list[Example]
    predictions: dict[str, dict[int, list[Prediction]]]
    rows: dict[str, dict[int, RowScores]]
    resampled: dict[str, Resampled]


def collect(
    folder: Path, study: Study, entrants: Sequence[Entrant], cells: Sequence[Cell], states: Mapping[str, dict[str, Any]], clock: Clock
) -> Results:
    """Of every cell that has ended, what it left; of the others, that they wait."""
    tasks = [_scored(folder, one, cells, states) for one in study.tasks]
    records = tuple(one.record for one in tasks)
    models = tuple(model_record(folder, study, one, cells, states) for one in entrants)
    pretraining = tuple(
        pretrain_record(folder, cell, states.get(cell.key)) for cell in cells if cell.kind.makes and not _scratch(cell, entrants)
    )
    scores = tuple(
        score_record(folder, cell, states.get(cell.key), _metric(cell.task, records), _speed(cell, cells, states))
        for cell in cells
        if cell.kind is CellKind.TUNE
    )
    compared = [_compared(one) for one in tasks]
    rows = {one.record.name: one.rows for one in tasks}
    results = Results(
        title=study.title or _title(study),
        plume=__version__,
        made=datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        **read_json(folder / MACHINE, "it should say what the study was begun on"),
        corpus=tuple(map(shown, study.corpus)),
        corpus_note=study.corpus_note or _size(study.corpus),
        budget=str(study.budget),
        budget_unit=study.budget.unit,
        size_class=study.size,
        seeds=tuple(range(study.seeds)),
        command=study_command(folder),
        study=write_study_file(study, beside=folder),
        commands={cell.key: cell_command(folder, study, cell) for cell in cells if cell.kind.makes or cell.kind is CellKind.TUNE},
        tasks=records,
        models=models,
        pretraining=pretraining,
        scores=scores,
        summaries=tuple(found for _, one in compared for found in one),
        comparisons=tuple(found for one, _ in compared for found in one),
        disagreements=tuple(found for one in tasks for found in _divided(one)),
        probes=tuple(_probes(cells, states)),
        unmeasured=tuple(_unmeasured(cells, states)),
        standings=tuple(standings(records, models, scores, pretraining, rows)),
        recommendation=recommend(
            records, models, scores, pretraining, rows, {one.record.name: one.resampled for one in tasks}, margin=study.margin
        ),
        costs=_costs(states, clock),
    )
    held = (results.models, results.standings, results.comparisons)
    return with_usage(replace(results, gains=(*public_gains(*held), *small_gains(*held))))


def _title(study: Study) -> str:
    named = (*study.recipes, *study.models)
    families = ", ".join(map(called, named)) if len(named) < 5 else f"{len(named)} {'models' if study.models else 'families'}"
    return f"{families} on {', '.join(Path(path).name for path in study.corpus)}"


def _size(paths: Sequence[str]) -> str:
    files = [file for path in map(Path, paths) for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"


def _scratch(cell: Cell, entrants: Sequence[Entrant]) -> bool:
    return any(one.from_scratch and one.name == cell.entrant for one in entrants)


def _metric(task: str, records: Sequence[TaskRecord]) -> str:
    return next(record.metric for record in records if record.name == task)


def _probes(cells: Sequence[Cell], states: Mapping[str, dict[str, Any]]) -> Iterator[Probe]:
    for cell in cells:
        if cell.kind is CellKind.PROBE:
            for found in states.get(cell.key, {}).get("probes", []):
                yield Probe(**found | {"score": tuple(found["score"])})


def _speed(cell: Cell, cells: Sequence[Cell], states: Mapping[str, dict[str, Any]]) -> PredictionSpeed | None:
    """Of the seed that was timed, in the round in which the machine did best."""
    timings = [one for one in cells if one.kind is CellKind.SPEED and one.entrant == cell.entrant]
    rounds = [states.get(one.key, {}).get("speeds", {}) for one in timings]
    own = [found[cell.task] for found in rounds if cell.task in found and found[cell.task]["seed"] == cell.seed]
    if not own:
        return None
    return PredictionSpeed(
        per_second=max(one["per_second"] for one in own), p50=min(one["p50"] for one in own), p99=min(one["p99"] for one in own)
    )


def _unmeasured(cells: Sequence[Cell], states: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, str, Status, str]]:
    for cell in cells:
        state = states.get(cell.key, {"status": Status.WAITING, "reason": ""})
        if cell.kind in (CellKind.PROBE, CellKind.SPEED) and state["status"] in (Status.FAILED, Status.WAITING):
            yield cell.entrant, cell.kind.value, Status(state["status"]), state["reason"]


def _scored(folder: Path, one: StudyTask, cells: Sequence[Cell], states: Mapping[str, dict[str, Any]]) -> _Scored:
    ready, examples, reading = scored_examples(one)
    predictions: dict[str, dict[int, list[Prediction]]] = {}
    for cell in cells:
        if cell.task == one.name and states.get(cell.key, {}).get("status") == Status.DONE:
            predictions.setdefault(cell.entrant, {})[cell.seed] = _read(cell.predictions(folder))
    task = ready.task
    record = TaskRecord(
        name=one.name, kind=one.kind, title=task.title, metric=task.metric, train_file=shown(one.train), scored_file=shown(one.scored),
        train_examples=len(ready.train), scored_examples=len(examples), labels=task.labels,
        dev_file=shown(one.dev) if one.dev else "", graded=task.graded, best=100.0 if task.metric in HUNDREDS else 1.0, note=one.note,
        held_out=len(ready.train) >= FEW,
        left_out=tuple(dict.fromkeys(line for found in (*ready.readings, reading) for line in found.lines()[1:])),
    )  # fmt: skip
    rows = {model: {seed: task.row_scores(examples, found) for seed, found in by_seed.items()} for model, by_seed in predictions.items()}
    return _Scored(record=record, task=task, examples=examples, predictions=predictions, rows=rows, resampled=resample(one.name, rows))


def _read(path: Path) -> list[Prediction]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _compared(one: _Scored) -> tuple[list[Comparison], list[Summary]]:
    found = compare_all(one.record.name, one.resampled)
    return found, summaries(one.record.name, one.rows, found)


def _divided(one: _Scored) -> list[Disagreement]:
    """By the first seed that each model has."""
    first = {model: by_seed[min(by_seed)] for model, by_seed in one.predictions.items()}
    found = disagreements(one.task, one.examples, first) if len(first) > 1 else []
    return [replace(row, task=one.record.name) for row in found]


def _costs(states: Mapping[str, dict[str, Any]], clock: Clock) -> Costs:
    spent = {
        what: sum(state.get("seconds", {}).get(what, 0.0) for state in states.values()) for what in ("pretraining", "tuning", "evaluating")
    }
    return Costs(total=clock.seconds, offered=clock.offered, **spent)
