"""The page: what is in it, that it is sound, and that it holds up when a study is small, broken or hostile."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from plume.comparing.results import (
    CatchUp,
    Comparison,
    Control,
    Origin,
    PretrainRecord,
    RecipeDifference,
    Recommendation,
    Results,
    ScoreRecord,
    Status,
    Verdict,
)
from plume.comparing.usage import with_usage
from plume.report import verdict_of, write_report
from plume.report.words import ALL

VOID = {"meta", "br"}
Make = Callable[..., Results]


class Reader(HTMLParser):
    """Counts what must balance, and collects what the tests ask for."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read(results: Results, folder: Path, language: str = "en") -> Reader:
    reader = Reader()
    reader.feed(write_report(with_usage(results), folder, language=language).read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return read(results, tmp_path_factory.mktemp("report"))


def test_numbers_of_the_study_are_on_the_page(page: Reader, results: Results) -> None:
    for summary in results.summaries:
        best = next(task.best for task in results.tasks if task.name == summary.task)
        assert f"{summary.mean * (100 if best == 1 else 1):.1f}" in page.text
    for standing in results.standings:
        assert f"{100 * standing.quality:.1f}" in page.text and f"{standing.per_second:,.0f}" in page.text


def test_the_recommendation_is_two_sentences_that_name_model_reason_and_controls(page: Reader, results: Results) -> None:
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


def test_a_task_is_told_by_its_kinds_of_names_and_its_files(page: Reader) -> None:
    assert "Fine-tuned on 1,200 examples (ner/train.conll), some of them held out for checkpoint selection; " in page.text
    assert "scored on 800 (ner/test.conll). Labels: LOC, ORG, PER." in page.text
    assert "label 11, … (14)." in page.text


def test_sections_come_in_order_with_one_contents(page: Reader) -> None:
    anchors = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    outer = ["recommendation", "overall", "tasks", "cost", "curves", "disagreements", "probes", "recipes", "problems", "again"]
    assert [anchor for anchor in anchors if anchor in outer] == outer
    links = [str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a" and str(attributes["href"]).startswith("#")]
    assert set(links) <= set(anchors) and {"task-1", "task-2", "task-3"} <= set(links)
    assert len(anchors) == len(set(anchors))


def test_headings_step_down_one_at_a_time(page: Reader) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_nothing_is_loaded_from_elsewhere(page: Reader, results: Results, tmp_path: Path) -> None:
    assert not [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object", "embed", "video", "source", "base")]
    assert not [attributes for _, attributes in page.tags if {"src", "srcset", "data", "action", "background"} & attributes.keys()]
    outside = [
        str(attributes["href"]) for tag, attributes in page.tags if "href" in attributes and not str(attributes["href"]).startswith("#")
    ]
    assert outside and all(link.startswith("https://arxiv.org/abs/") for link in outside)
    text = write_report(results, tmp_path).read_text(encoding="utf-8")
    assert "@import" not in text and "url(" not in text and "@font-face" not in text


def test_pictures_and_tables_can_be_listened_to(page: Reader) -> None:
    charts = [attributes for tag, attributes in page.tags if tag == "svg" and "aria-hidden" not in attributes]
    assert charts and all(chart["role"] == "img" and "viewbox" in chart for chart in charts)
    names = [tag for tag, _ in page.tags]
    assert names.count("desc") == len(charts)
    assert names.count("caption") == names.count("table") > 10
    assert all(attributes.get("scope") in ("col", "row", "rowgroup") for tag, attributes in page.tags if tag == "th")


def test_the_matrix_says_in_words_what_its_signs_say(page: Reader, results: Results) -> None:
    words = [str(attributes["aria-label"]) for tag, attributes in page.tags if tag == "span" and "aria-label" in attributes]
    apart = [pair for pair in results.comparisons if pair.verdict is not Verdict.SAME]
    better = [label for label in words if " is better than " in label]
    assert len(better) == 2 * len(apart)  # both ways round
    assert page.texts.count("▲") == page.texts.count("▽") == len(apart)


def test_a_pair_is_told_in_the_right_direction(results: Results, tmp_path: Path) -> None:
    first, second = "gpt", "bert"
    pair = Comparison(
        task="ner", first=first, second=second, difference=-0.0312, low=-0.05, high=-0.0121, p=0.001, verdict=Verdict.SECOND, seeds=3
    )
    text = read(replace(results, comparisons=(pair,)), tmp_path).tags
    said = {str(attributes.get("aria-label")) for _, attributes in text}
    assert "bert is better than gpt by 3.1 points (95% CI 1.2 to 5.0)." in said


def test_what_more_seeds_would_do_is_said(results: Results, tmp_path: Path) -> None:
    pair = next(pair for pair in results.comparisons if pair.task == "ner" and {pair.first, pair.second} == {"bert", "electra"})
    few = replace(pair, verdict=Verdict.SAME, more_seeds=9)
    text = read(replace(results, comparisons=(few,)), tmp_path).text
    assert "electra and bert do not differ significantly with 3 seeds; about 9 more would be needed." in text
    text = read(replace(results, comparisons=(replace(few, more_seeds=3800),)), tmp_path).text
    assert "electra and bert do not differ significantly with 3 seeds; more than 100 more would be needed." in text
    text = read(replace(results, comparisons=(replace(few, more_seeds=None),)), tmp_path).text
    assert "electra and bert do not differ significantly with 3 seeds; this needs more test examples, not more seeds." in text


def test_no_text_of_the_study_becomes_markup(results: Results, tmp_path: Path) -> None:
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


def test_a_paper_is_a_link_only_where_it_is_an_address(results: Results, tmp_path: Path) -> None:
    papers = {"bert": "javascript:alert(1)", "gpt": 'https://a.example/"onclick="x', "t5": "https://aclanthology.org/N19-1423"}
    models = tuple(replace(model, paper=papers.get(model.name, "")) for model in results.models)
    links = [str(attributes["href"]) for tag, attributes in read(replace(results, models=models), tmp_path).tags if tag == "a"]
    assert [link for link in links if not link.startswith("#")] == ["https://aclanthology.org/N19-1423"]


def test_in_chinese(results: Results, tmp_path: Path) -> None:
    page = read(results, tmp_path, "zh")
    assert dict(page.tags)["html"]["lang"] == "zh-Hans"
    assert "推荐使用 roberta" in page.text and "没有显著差异" in page.text and "命名实体识别" in page.text
    english = [text for text, _ in ALL.values() if len(text) > 12 and "{" not in text]
    assert [text for text in english if text in page.text] == []


def test_one_seed_has_no_intervals_and_says_so(study_of: Make, tmp_path: Path) -> None:
    text = read(study_of(models=3, seeds=1), tmp_path).text
    assert "With one seed" in text and "±" not in text and "one seed" in text


def test_models_that_learned_no_context_are_named(study_of: Make, tmp_path: Path) -> None:
    """Those of which every run is stuck; one that got free with one seed of two has learned something."""
    results = study_of(models=4, seeds=2)
    names = [model.name for model in results.models if model.control is None]
    stuck = {(names[0], 0), (names[0], 1), (names[1], 0)}
    runs = tuple(replace(run, stuck=(run.model, run.seed) in stuck) for run in results.pretraining)
    assert f"almost nothing from context: {names[0]}." in read(replace(results, pretraining=runs), tmp_path).text
    assert "nothing from context" not in read(results, tmp_path).text


def test_runs_that_something_else_slowed_are_named(study_of: Make, tmp_path: Path) -> None:
    """Only where time was the budget: tokens are then what is left of it."""
    results = study_of(models=3, seeds=2)
    name = results.pretraining[0].model
    seen = {(name, 0): 600_000, (name, 1): 720_000, (results.pretraining[-1].model, 0): 620_000}
    runs = tuple(replace(run, tokens=seen.get((run.model, run.seed), run.tokens)) for run in results.pretraining)
    by_time, by_tokens = (replace(results, pretraining=runs, budget_unit=unit) for unit in ("seconds", "tokens"))
    assert f"other programs were using the machine: {name}:0." in read(by_time, tmp_path).text
    assert f"机器上有别的程序在运行：{name}:0。" in read(by_time, tmp_path, "zh").text
    assert "other programs" not in read(by_tokens, tmp_path).text


def test_one_task_and_one_recipe(study_of: Make, tmp_path: Path) -> None:
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


def test_cells_without_a_result_are_told_with_their_reason(results: Results, tmp_path: Path) -> None:
    cannot = without(results, "elmo", "translation", Status.CANNOT, "elmo cannot write: it has no decoder")
    both = without(cannot, "gpt", "ner", Status.FAILED, "the disk is full")
    text = read(without(both, "t5", "ner", Status.WAITING, ""), tmp_path).text
    assert "elmo translation 0, 1, 2 not supported elmo cannot write: it has no decoder" in text
    assert "gpt ner 0, 1, 2 failed the disk is full" in text
    assert "No score on this task: gpt and t5 (failed and waiting)." in text
    assert "3 of 126 runs are still missing" in text
    missing = text.split("because of missing scores: ")[1].split(".")[0]
    assert set(re.split(", | and ", missing)) == {"elmo", "gpt", "t5"}


def test_a_probe_that_failed_and_rows_that_were_left_out_are_told(results: Results, tmp_path: Path) -> None:
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


def test_ties_graded_answers_and_held_out_examples_are_told_as_such(results: Results, tmp_path: Path) -> None:
    pairs = tuple(replace(one, verdict=Verdict.SAME, difference=0.0, more_seeds=None) for one in results.comparisons)
    tasks = tuple(replace(one, graded=True, dev_file="dev.tsv" if one.name == "ner" else "") for one in results.tasks)
    text = read(replace(results, comparisons=pairs, tasks=tasks), tmp_path).text
    assert "have the same mean score." in text and "more test examples" not in text
    assert "better than the median of all answers" in text and not re.search(r"Example \d+: \d+ of \d+ right", text)
    assert text.count("some of them held out for checkpoint selection") == len(tasks) - 1


def test_before_all_are_timed_speed_is_not_given_as_a_reason(results: Results, tmp_path: Path) -> None:
    assert results.recommendation is not None
    verdict = read(replace(results, recommendation=replace(results.recommendation, timed=False)), tmp_path).text
    assert "Prediction speed has not been measured for all models yet" in verdict and "is clearly faster" not in verdict


def test_models_that_are_near_the_best_but_beat_no_control_are_named(results: Results, tmp_path: Path) -> None:
    assert results.recommendation is not None
    chosen = replace(results.recommendation, model="electra", best="electra", alike=(), unproven=("gpt", "t5"))
    text = read(replace(results, recommendation=chosen), tmp_path).text
    assert "their speed is not considered: gpt and t5." in text and "than every other model" not in text
    assert "their speed" not in read(results, tmp_path).text


def test_of_several_word_vectors_the_best_is_quoted_with_the_tasks_it_has(results: Results, tmp_path: Path) -> None:
    assert results.recommendation is not None
    chosen = replace(results.recommendation, beats_scratch=True, beats_static=False)
    models = tuple(replace(one, control=Control.STATIC) if one.name == "word2vec" else one for one in results.models)
    standings = tuple(replace(one, quality=0.4987) if one.model == "word2vec" else one for one in results.standings)
    less = tuple(one for one in results.summaries if (one.model, one.task) != ("word2vec", "ner"))
    assert next(one for one in results.standings if one.model == "static").quality < 0.4987
    text = read(replace(results, models=models, standings=standings, summaries=less, recommendation=chosen), tmp_path).text
    assert "the lead over static vectors (49.9 on 2 of 3 tasks) is not significant" in text


def test_the_only_model_is_ahead_of_nobody(study_of: Make, tmp_path: Path) -> None:
    study = study_of(models=1, tasks=1)
    assert study.recommendation is not None
    chosen = replace(study.recommendation, model="bert", best="bert", alike=())
    alone = replace(study, standings=study.standings[:1], recommendation=chosen)
    assert "bert is the only model with a score on one task" in read(alone, tmp_path).text


def test_a_study_that_has_only_begun(results: Results, tmp_path: Path) -> None:
    waiting = tuple(ScoreRecord(model=cell.model, task=cell.task, seed=cell.seed, status=Status.WAITING) for cell in results.scores)
    empty = replace(
        results,
        scores=waiting,
        pretraining=(),
        summaries=(),
        comparisons=(),
        standings=(),
        probes=(),
        disagreements=(),
        recommendation=None,
    )
    for language in ("en", "zh"):
        page = read(empty, tmp_path / language, language)
    assert "还没有任何得分" in page.text
    nothing = replace(empty, models=(), tasks=(), scores=(), commands={}, machine={}, versions={}, seeds=())
    assert "There is no recommendation yet" in read(nothing, tmp_path).text


def test_a_control_may_win(results: Results, tmp_path: Path) -> None:
    won = Recommendation(model="static", alike=(), best="static", timed=True, beats_scratch=True, beats_static=False)
    text = read(replace(results, recommendation=won), tmp_path).text
    assert "Ship static (static vectors): its quality" in text
    assert "It is a baseline (static vectors)" in text


@pytest.mark.parametrize("scratch", [True, False, None])
@pytest.mark.parametrize("static", [True, False, None])
def test_whether_pretraining_paid(results: Results, tmp_path: Path, scratch: bool | None, static: bool | None) -> None:
    won = Recommendation(model="bert", alike=("electra",), best="bert", timed=True, beats_scratch=scratch, beats_static=static)
    text = read(replace(results, recommendation=won), tmp_path).text
    assert ("Pre-training paid" in text) == (scratch is True)
    assert ("not paid" in text) == (scratch is False)
    assert ("cannot be said" in text) == (scratch is None)


def test_long_and_chinese_texts_are_cut_but_not_lost_in_meaning(results: Results, tmp_path: Path) -> None:
    long = "今天天气很好" * 400
    divided = (replace(results.disagreements[0], texts=(long, "short"), gold="好"),)
    text = read(replace(results, disagreements=divided), tmp_path).text
    assert long[:600] in text and long[:800] not in text


def test_the_control_that_is_missing_is_not_subtracted(results: Results, tmp_path: Path) -> None:
    kept = tuple(standing for standing in results.standings if standing.model != "scratch")
    text = read(replace(results, standings=kept), tmp_path).text
    assert "Gain over static vectors" in text and "Gain over no pre-training" not in text
    assert Control.SCRATCH in {model.control for model in results.models}


def chosen_of(results: Results, **changed: Any) -> Results:
    assert results.recommendation is not None
    return replace(results, recommendation=replace(results.recommendation, **changed))


def test_where_the_data_cannot_decide_that_comes_first(results: Results, tmp_path: Path) -> None:
    chances = {"electra": 0.44, "bert": 0.31, "roberta": 0.2, "static": 0.05}
    open_ = {"model": "electra", "best": "electra", "chances": chances, "risk": 0.38, "contenders": ("electra", "bert", "roberta")}
    for seeds, rows, said in (
        (4, 2.46, "About 4 more seeds of each would settle it, or 2.5 times as many test examples."),
        (4, None, "About 4 more seeds of each would settle it; more test examples alone would not."),
        (4000, 1.01, "About 1.1 times as many test examples would settle it; more seeds alone would not."),
        (None, 900.0, "To settle it takes both more seeds and more test examples."),
    ):
        found = chosen_of(results, **open_, more_seeds=seeds, more_rows=rows)
        start = "The data cannot decide yet: with a probability of 38% another model is better than electra by more than one point."
        assert verdict_of(found).startswith(start) and said in verdict_of(found)
        assert "electra (44%), bert (31%) and roberta (20%)." in verdict_of(found) and "Until then electra is the best guess" in verdict_of(
            found
        )
    assert verdict_of(found, language="zh").startswith("数据尚不足以决定：有 38% 的概率，另有模型比 electra 高出 1 分以上。")


def test_the_chances_of_being_the_best_are_drawn_and_in_the_table(results: Results, tmp_path: Path) -> None:
    chances = {"electra": 0.52, "bert": 0.473, "static": 0.006, "gpt": 0.001}
    page = read(chosen_of(results, model="electra", best="electra", chances=chances, risk=0.12), tmp_path)
    bars = [attributes for tag, attributes in page.tags if tag == "rect" and "bar" in str(attributes.get("class"))]
    drawn = [(float(str(one["width"])), one["class"]) for one in bars if float(str(one["x"])) > 2][:3]
    assert [kind for _, kind in drawn] == ["bar filled", "bar filled", "bar hollow"]  # gpt has next to none
    assert drawn[0][0] / drawn[1][0] == pytest.approx(0.52 / 0.473, rel=0.01)
    assert "electra 52%; bert 47%; static &lt; 1%" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Another model is better than electra by more than one point with a probability of 12%." in page.text
    assert "Probability of being best" in (tmp_path / "report.md").read_text(encoding="utf-8")
    rows = list(csv.DictReader((tmp_path / "models.csv").open(encoding="utf-8")))
    assert {row["model"]: row["chance_best"] for row in rows if row["chance_best"]} == {name: str(value) for name, value in chances.items()}


def test_a_study_that_tells_nothing_apart_recommends_nothing(results: Results, tmp_path: Path) -> None:
    nothing = Recommendation(
        model="", alike=("bert", "gpt", "static"), best="", timed=True, beats_scratch=None, beats_static=None, all_equal=True
    )
    for language, said in (("en", "This study tells nothing apart"), ("zh", "无法区分任何模型")):
        page = read(replace(results, recommendation=nothing), tmp_path, language)
        assert said in page.text and "Ship" not in page.text and "推荐使用" not in page.text


def test_a_cheaper_model_is_recommended_with_its_probability(results: Results) -> None:
    said = verdict_of(chosen_of(results, model="roberta", best="electra", shortfall=0.04, margin=2.5))
    assert "is at most 2.5 points below the highest (electra, " in said and "with a probability of 96%, and it costs less" in said


def test_what_longer_pretraining_would_do_is_said_with_its_doubt(results: Results) -> None:
    for high, said in (
        (8.0, "about 5 min of pre-training instead of 2 min (80% interval 3 min to 16 min)"),
        (None, "anything from 3 min upwards"),
    ):
        found = chosen_of(
            results, model="static", best="static", catch_up=CatchUp(model="bert", target="static", low=1.5, middle=2.5, high=high)
        )
        assert said in verdict_of(found) and "bert would draw level with static" in verdict_of(found)
        assert "可追平 static" in verdict_of(found, language="zh")


def test_a_checkpoint_that_was_there_may_win(results: Results) -> None:
    models = tuple(replace(one, origin=Origin.HUGGING_FACE) if one.name == "bert" else one for one in results.models)
    said = verdict_of(replace(chosen_of(results, model="bert", best="bert"), models=models))
    assert said.startswith("Ship bert: ") and "It existed before and was only fine-tuned" in said and "paid off" not in said


def test_models_above_the_unigram_entropy_have_not_learned_frequencies_either(study_of: Make, tmp_path: Path) -> None:
    results = study_of(models=3, seeds=1)
    above, level, _ = (run.model for run in results.pretraining)

    def ended(run: PretrainRecord) -> PretrainRecord:
        assert run.trivial is not None
        loss = run.trivial * {above: 1.2, level: 1.0}.get(run.model, 0.8)
        return replace(run, stuck=run.model in (above, level), curve=(*run.curve[:-1], replace(run.curve[-1], loss=loss)))

    text = read(replace(results, pretraining=tuple(map(ended, results.pretraining))), tmp_path).text
    assert f"had learned token frequencies but almost nothing from context: {level}." in text
    assert f"had not even learned token frequencies (their held-out loss is above that of knowing only these): {above}." in text


def test_a_budget_of_time_is_marked(results: Results, tmp_path: Path) -> None:
    assert "The budget was a time (2m)" in read(results, tmp_path).text and "--budget 7.2e5tokens" in read(results, tmp_path).text
    assert "The budget was a time" not in read(replace(results, budget_unit="tokens"), tmp_path).text
