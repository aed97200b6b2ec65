"""The page: what is in it, that it is sound, and that it holds up when a study is small, broken or hostile."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plume.comparing.results import (
    Comparison,
    RecipeDifference,
    Results,
    ScoreRecord,
    Status,
    Verdict,
)
from plume.report import write_report
from plume.report.words import ALL

Make = Callable[..., Results]
Read = Callable[..., Any]


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory, read: Read) -> Any:
    return read(results, tmp_path_factory.mktemp("report"))


def test_numbers_of_the_study_are_on_the_page(page: Any, results: Results) -> None:
    for summary in results.summaries:
        best = next(task.best for task in results.tasks if task.name == summary.task)
        assert f"{summary.mean * (100 if best == 1 else 1):.1f}" in page.text
    for standing in results.standings:
        assert f"{100 * standing.quality:.1f}" in page.text and f"{standing.per_second:,.0f}" in page.text


def test_the_recommendation_is_two_sentences_that_name_model_reason_and_controls(page: Any, results: Results) -> None:
    chosen = results.recommendation
    assert chosen is not None and chosen.model != chosen.best
    standings = {standing.model: standing for standing in results.standings}
    found = re.search(rf"Ship {chosen.model} ?: its quality over 3 tasks, (.*?) Quality", page.text)
    assert found, page.text[:600]
    said = found.group(1)
    assert f"{100 * standings[chosen.model].quality:.1f} (95% CI" in said
    assert f"({chosen.best}, {100 * standings[chosen.best].quality:.1f})" in said
    assert all(f"{100 * standings[name].quality:.1f}" in said for name in ("scratch", "static"))
    assert len(re.findall(r"\.(?: |$)", said)) == 2


def test_a_task_is_told_by_its_kinds_of_names_and_its_files(page: Any) -> None:
    assert "Fine-tuned on 1,200 examples (ner/train.conll), some of them held out for checkpoint selection; " in page.text
    assert "scored on 800 (ner/test.conll). Labels: LOC, ORG, PER." in page.text
    assert "label 11, … (14)." in page.text


def test_sections_come_in_order_with_one_contents(page: Any) -> None:
    anchors = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    outer = ["recommendation", "overall", "tasks", "cost", "curves", "disagreements", "probes", "recipes", "problems", "again"]
    assert [anchor for anchor in anchors if anchor in outer] == outer
    links = [str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a" and str(attributes["href"]).startswith("#")]
    assert set(links) <= set(anchors) and {"task-1", "task-2", "task-3"} <= set(links)
    assert len(anchors) == len(set(anchors))


def test_headings_step_down_one_at_a_time(page: Any) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_nothing_is_loaded_from_elsewhere(page: Any, results: Results, tmp_path: Path) -> None:
    assert not [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object", "embed", "video", "source", "base")]
    assert not [attributes for _, attributes in page.tags if {"src", "srcset", "data", "action", "background"} & attributes.keys()]
    outside = [
        str(attributes["href"]) for tag, attributes in page.tags if "href" in attributes and not str(attributes["href"]).startswith("#")
    ]
    assert outside and all(link.startswith("https://arxiv.org/abs/") for link in outside)
    text = write_report(results, tmp_path).read_text(encoding="utf-8")
    assert "@import" not in text and "url(" not in text and "@font-face" not in text


def test_pictures_and_tables_can_be_listened_to(page: Any) -> None:
    charts = [attributes for tag, attributes in page.tags if tag == "svg" and "aria-hidden" not in attributes]
    assert charts and all(chart["role"] == "img" and "viewbox" in chart for chart in charts)
    names = [tag for tag, _ in page.tags]
    assert names.count("desc") == len(charts)
    assert names.count("caption") == names.count("table") > 10
    assert all(attributes.get("scope") in ("col", "row", "rowgroup") for tag, attributes in page.tags if tag == "th")


def test_the_matrix_says_in_words_what_its_signs_say(page: Any, results: Results) -> None:
    words = [str(attributes["aria-label"]) for tag, attributes in page.tags if tag == "span" and "aria-label" in attributes]
    apart = [pair for pair in results.comparisons if pair.verdict is not Verdict.SAME]
    better = [label for label in words if " is better than " in label]
    assert len(better) == 2 * len(apart)  # both ways round
    assert page.texts.count("▲") == page.texts.count("▽") == len(apart)


def test_a_pair_is_told_in_the_right_direction(results: Results, tmp_path: Path, read: Read) -> None:
    first, second = "gpt", "bert"
    pair = Comparison(
        task="ner", first=first, second=second, difference=-0.0312, low=-0.05, high=-0.0121, p=0.001, verdict=Verdict.SECOND, seeds=3
    )
    text = read(replace(results, comparisons=(pair,)), tmp_path).tags
    said = {str(attributes.get("aria-label")) for _, attributes in text}
    assert "bert is better than gpt by 3.1 points (95% CI 1.2 to 5.0)." in said


def test_what_more_seeds_would_do_is_said(results: Results, tmp_path: Path, read: Read) -> None:
    pair = next(pair for pair in results.comparisons if pair.task == "ner" and {pair.first, pair.second} == {"bert", "electra"})
    few = replace(pair, verdict=Verdict.SAME, more_seeds=9)
    text = read(replace(results, comparisons=(few,)), tmp_path).text
    assert "electra and bert do not differ significantly with 3 seeds; about 9 more would be needed." in text
    text = read(replace(results, comparisons=(replace(few, more_seeds=3800),)), tmp_path).text
    assert "electra and bert do not differ significantly with 3 seeds; more than 100 more would be needed." in text
    text = read(replace(results, comparisons=(replace(few, more_seeds=None),)), tmp_path).text
    assert "electra and bert do not differ significantly with 3 seeds; this needs more test examples, not more seeds." in text


def test_no_text_of_the_study_becomes_markup(results: Results, tmp_path: Path, read: Read) -> None:
    bad = "<script>alert('x')</script>\"><img src=x onerror=y>&amp;"
    part = RecipeDifference(path=bad, parent=bad, here=bad)
    hostile = replace(
        results,
        title=bad, budget=bad, corpus=(bad,), corpus_note=bad, study=bad, command=bad, size_class=bad, machine={bad: bad}, versions={bad: bad},
        commands={bad: bad},
        tasks=tuple(replace(task, title=bad, kind=bad, note=bad, train_file=bad, labels=(bad,)) for task in results.tasks),
        models=tuple(replace(model, title=bad, paper=bad, tokenizer=bad, differences=(part,)) for model in results.models),
        disagreements=tuple(
            replace(each, texts=(bad,), gold=bad, answers=dict.fromkeys(each.answers, bad)) for each in results.disagreements
        ),
        scores=tuple(replace(cell, status=Status.FAILED, reason=bad) for cell in results.scores[:2]) + results.scores[2:],
    )  # fmt: skip
    page = read(hostile, tmp_path)
    assert [tag for tag, _ in page.tags].count("script") == 1 and "img" not in {tag for tag, _ in page.tags}
    assert page.text.count(bad) > 50
    prose = re.sub(r"^(`{3,})\n.*?^\1$|`[^`\n]*`", "", (tmp_path / "report.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<", prose)


def test_a_paper_is_a_link_only_where_it_is_an_address(results: Results, tmp_path: Path, read: Read) -> None:
    papers = {"bert": "javascript:alert(1)", "gpt": 'https://a.example/"onclick="x', "t5": "https://aclanthology.org/N19-1423"}
    models = tuple(replace(model, paper=papers.get(model.name, "")) for model in results.models)
    links = [str(attributes["href"]) for tag, attributes in read(replace(results, models=models), tmp_path).tags if tag == "a"]
    assert [link for link in links if not link.startswith("#")] == ["https://aclanthology.org/N19-1423"]


def test_in_chinese(results: Results, tmp_path: Path, read: Read) -> None:
    page = read(results, tmp_path, "zh")
    assert dict(page.tags)["html"]["lang"] == "zh-Hans"
    assert "推荐使用 roberta" in page.text and "没有显著差异" in page.text and "命名实体识别" in page.text
    english = [text for text, _ in ALL.values() if len(text) > 12 and "{" not in text]
    assert [text for text in english if text in page.text] == []


def test_one_seed_has_no_intervals_and_says_so(study_of: Make, tmp_path: Path, read: Read) -> None:
    text = read(study_of(models=3, seeds=1), tmp_path).text
    assert "With one seed" in text and "±" not in text and "one seed" in text


def test_models_that_learned_no_context_are_named(study_of: Make, tmp_path: Path, read: Read) -> None:
    """Those of which every run is stuck; one that got free with one seed of two has learned something."""
    results = study_of(models=4, seeds=2)
    names = [model.name for model in results.models if model.control is None]
    stuck = {(names[0], 0), (names[0], 1), (names[1], 0)}
    runs = tuple(replace(run, stuck=(run.model, run.seed) in stuck) for run in results.pretraining)
    assert f"almost nothing from context: {names[0]}." in read(replace(results, pretraining=runs), tmp_path).text
    assert "nothing from context" not in read(results, tmp_path).text


def test_runs_that_something_else_slowed_are_named(study_of: Make, tmp_path: Path, read: Read) -> None:
    """Only where time was the budget: tokens are then what is left of it."""
    results = study_of(models=3, seeds=2)
    name = results.pretraining[0].model
    seen = {(name, 0): 600_000, (name, 1): 720_000, (results.pretraining[-1].model, 0): 620_000}
    runs = tuple(replace(run, tokens=seen.get((run.model, run.seed), run.tokens)) for run in results.pretraining)
    by_time, by_tokens = (replace(results, pretraining=runs, budget_unit=unit) for unit in ("seconds", "tokens"))
    assert f"other programs were using the machine: {name}:0." in read(by_time, tmp_path).text
    assert f"机器上有别的程序在运行：{name}:0。" in read(by_time, tmp_path, "zh").text
    assert "other programs" not in read(by_tokens, tmp_path).text


def test_one_task_and_one_recipe(study_of: Make, tmp_path: Path, read: Read) -> None:
    text = read(study_of(models=1, tasks=1, seeds=1), tmp_path).text
    assert "One recipe" in text and "over one task" in text


def without(results: Results, model: str, task: str, status: Status, reason: str) -> Results:
    """As if these cells had not come about."""

    def gone(cell: ScoreRecord) -> ScoreRecord:
        hit = (cell.model, cell.task) == (model, task)
        return ScoreRecord(model=model, task=task, seed=cell.seed, status=status, reason=reason) if hit else cell

    return replace(
        results,
        scores=tuple(gone(cell) for cell in results.scores),
        summaries=tuple(each for each in results.summaries if (each.model, each.task) != (model, task)),
        comparisons=tuple(each for each in results.comparisons if each.task != task or model not in (each.first, each.second)),
        standings=tuple(replace(each, complete=each.complete and each.model != model) for each in results.standings),
    )  # fmt: skip


def test_cells_without_a_result_are_told_with_their_reason(results: Results, tmp_path: Path, read: Read) -> None:
    cannot = without(results, "elmo", "translation", Status.CANNOT, "elmo cannot write: it has no decoder")
    both = without(cannot, "gpt", "ner", Status.FAILED, "the disk is full")
    text = read(without(both, "t5", "ner", Status.WAITING, ""), tmp_path).text
    assert "elmo translation 0, 1, 2 not supported elmo cannot write: it has no decoder" in text
    assert "gpt ner 0, 1, 2 failed the disk is full" in text
    assert "No score on this task: gpt and t5 (failed and waiting)." in text
    assert "3 of 126 runs are still missing" in text
    missing = text.split("because of missing scores: ")[1].split(".")[0]
    assert set(re.split(", | and ", missing)) == {"elmo", "gpt", "t5"}


def test_a_probe_that_failed_and_rows_that_were_left_out_are_told(results: Results, tmp_path: Path, read: Read) -> None:
    tasks = (replace(results.tasks[0], left_out=("7 left out: empty text (first: train.tsv, line 3)",)), *results.tasks[1:])
    text = read(
        replace(
            results,
            tasks=tasks,
            unmeasured=(("bert", "probe", Status.FAILED, "MemoryError: too large"), ("gpt", "speed", Status.WAITING, "")),
        ),
        tmp_path,
    ).text
    assert "Data files: 7 left out: empty text (first: train.tsv, line 3)." in text
    assert "bert probing 0 failed MemoryError: too large" in text
    assert "gpt timing 0 waiting" in text


def test_ties_graded_answers_and_held_out_examples_are_told_as_such(results: Results, tmp_path: Path, read: Read) -> None:
    pairs = tuple(replace(one, verdict=Verdict.SAME, difference=0.0, more_seeds=None) for one in results.comparisons)
    tasks = tuple(replace(one, graded=True, dev_file="dev.tsv" if one.name == "ner" else "") for one in results.tasks)
    text = read(replace(results, comparisons=pairs, tasks=tasks), tmp_path).text
    assert "have the same mean score." in text and "more test examples" not in text
    assert "better than the median of all answers" in text and not re.search(r"Example \d+: \d+ of \d+ right", text)
    assert text.count("some of them held out for checkpoint selection") == len(tasks) - 1


def test_long_and_chinese_texts_are_cut_but_not_lost_in_meaning(results: Results, tmp_path: Path, read: Read) -> None:
    long = "今天天气很好" * 400
    divided = (replace(results.disagreements[0], texts=(long, "short"), gold="好"),)
    text = read(replace(results, disagreements=divided), tmp_path).text
    assert long[:600] in text and long[:800] not in text
