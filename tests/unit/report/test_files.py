"""Markdown and CSV: whole tables, and numbers that read back."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from plume.comparing.results import Results
from plume.core.errors import PlumeError
from plume.report import write_report


@pytest.fixture(scope="module")
def folder(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("report")
    assert write_report(results, made) == made / "report.html"
    return made


def test_files_and_nothing_half_written(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["models.csv", "report.html", "report.md", "scores.csv"]


def test_scores_read_back(folder: Path, results: Results) -> None:
    with (folder / "scores.csv").open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == len(results.scores) == 14 * 3 * 3
    for row, cell in zip(rows, results.scores, strict=True):
        assert (row["model"], row["task"], int(row["seed"]), row["status"]) == (cell.model, cell.task, cell.seed, "done")
        assert float(row["score"]) == cell.main == float(row[f"metric:{row['metric']}"])
        assert cell.speed and float(row["p99_ms"]) == cell.speed.p99


def test_models_read_back(folder: Path, results: Results) -> None:
    with (folder / "models.csv").open(newline="", encoding="utf-8") as handle:
        rows = {row["model"]: row for row in csv.DictReader(handle)}
    assert list(rows) == [model.name for model in results.models]
    for standing in results.standings:
        assert float(rows[standing.model]["quality"]) == standing.quality
    for summary in results.summaries:
        assert float(rows[summary.model][f"mean:{summary.task}"]) == summary.mean
    assert [name for name, row in rows.items() if row["recommended"] == "True"] == ["roberta"]
    assert rows["bert"]["tokens"] == "720000.0" and rows["scratch"]["control"] == "no pre-training"


def tables(text: str) -> list[list[str]]:
    return [found.strip().split("\n") for found in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_markdown_tables_have_equal_columns(results: Results, tmp_path: Path, language: str) -> None:
    piped = replace(results, commands={"a|b": "plume x | y `z`"}, versions={"x": "1 | 2\n3"})
    write_report(piped, tmp_path, language=language)
    found = tables((tmp_path / "report.md").read_text(encoding="utf-8"))
    assert len(found) > 20
    for table in found:
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {len(re.findall(r"\|", table[1]))}, table[0]


def test_markdown_has_the_recommendation_and_every_score(folder: Path, results: Results) -> None:
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# Which model for our newsroom\n") and "Ship **roberta**: its quality" in text
    assert "<svg" not in text and "<div" not in text
    for summary in results.summaries:
        best = next(task.best for task in results.tasks if task.name == summary.task)
        assert f"{summary.mean * (100 if best == 1 else 1):.1f}" in text


def test_markdown_keeps_code_whole(results: Results, tmp_path: Path) -> None:
    study = 'title = "a ``` in it"\n# and <b>\n'
    write_report(replace(results, study=study), tmp_path)
    assert f"````\n{study}````" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_an_old_report_is_replaced_and_results_are_left_alone(study_of: Callable[..., Results], tmp_path: Path) -> None:
    small = study_of(models=2, tasks=1, seeds=1)
    small.save(tmp_path)
    write_report(small, tmp_path)
    write_report(small, tmp_path, language="zh")
    assert "推荐" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["title"] == small.title


def test_an_unknown_language_writes_nothing(results: Results, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="does not speak"):
        write_report(results, tmp_path / "new", language="klingon")
    assert not (tmp_path / "new").exists()
