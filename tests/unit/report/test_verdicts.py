"""What the page says of the recommendation: the reason, the controls, the doubt, and what cannot be decided."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plume.comparing.results import (
    CatchUp,
    Control,
    Origin,
    PretrainRecord,
    Recommendation,
    Results,
    ScoreRecord,
    Status,
)
from plume.report import verdict_of

Make = Callable[..., Results]
Read = Callable[..., Any]


def test_before_all_are_timed_speed_is_not_given_as_a_reason(results: Results, tmp_path: Path, read: Read) -> None:
    assert results.recommendation is not None
    verdict = read(replace(results, recommendation=replace(results.recommendation, timed=False)), tmp_path).text
    assert "Prediction speed has not been measured for all models yet" in verdict and "is clearly faster" not in verdict


def test_models_that_are_near_the_best_but_beat_no_control_are_named(results: Results, tmp_path: Path, read: Read) -> None:
    assert results.recommendation is not None
    chosen = replace(results.recommendation, model="electra", best="electra", alike=(), unproven=("gpt", "t5"))
    text = read(replace(results, recommendation=chosen), tmp_path).text
    assert "their speed is not considered: gpt and t5." in text and "than every other model" not in text
    assert "their speed" not in read(results, tmp_path).text


def test_of_several_word_vectors_the_best_is_quoted_with_the_tasks_it_has(results: Results, tmp_path: Path, read: Read) -> None:
    assert results.recommendation is not None
    chosen = replace(results.recommendation, beats_scratch=True, beats_static=False)
    models = tuple(replace(one, control=Control.STATIC) if one.name == "word2vec" else one for one in results.models)
    standings = tuple(replace(one, quality=0.4987) if one.model == "word2vec" else one for one in results.standings)
    less = tuple(one for one in results.summaries if (one.model, one.task) != ("word2vec", "ner"))
    assert next(one for one in results.standings if one.model == "static").quality < 0.4987
    text = read(replace(results, models=models, standings=standings, summaries=less, recommendation=chosen), tmp_path).text
    assert "the lead over static vectors (49.9 on 2 of 3 tasks) is not significant" in text


def test_the_only_model_is_ahead_of_nobody(study_of: Make, tmp_path: Path, read: Read) -> None:
    study = study_of(models=1, tasks=1)
    assert study.recommendation is not None
    chosen = replace(study.recommendation, model="bert", best="bert", alike=())
    alone = replace(study, standings=study.standings[:1], recommendation=chosen)
    assert "bert is the only model with a score on one task" in read(alone, tmp_path).text


def test_a_study_that_has_only_begun(results: Results, tmp_path: Path, read: Read) -> None:
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


def test_a_control_may_win(results: Results, tmp_path: Path, read: Read) -> None:
    won = Recommendation(model="static", alike=(), best="static", timed=True, beats_scratch=True, beats_static=False)
    text = read(replace(results, recommendation=won), tmp_path).text
    assert "Ship static (static vectors): its quality" in text
    assert "It is a baseline (static vectors)" in text


@pytest.mark.parametrize("scratch", [True, False, None])
@pytest.mark.parametrize("static", [True, False, None])
def test_whether_pretraining_paid(results: Results, tmp_path: Path, scratch: bool | None, static: bool | None, read: Read) -> None:
    won = Recommendation(model="bert", alike=("electra",), best="bert", timed=True, beats_scratch=scratch, beats_static=static)
    text = read(replace(results, recommendation=won), tmp_path).text
    assert ("Pre-training paid" in text) == (scratch is True)
    assert ("not paid" in text) == (scratch is False)
    assert ("cannot be said" in text) == (scratch is None)


def test_the_control_that_is_missing_is_not_subtracted(results: Results, tmp_path: Path, read: Read) -> None:
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


def test_the_chances_of_being_the_best_are_drawn_and_in_the_table(results: Results, tmp_path: Path, read: Read) -> None:
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


def test_a_study_that_tells_nothing_apart_recommends_nothing(results: Results, tmp_path: Path, read: Read) -> None:
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


def test_models_above_the_unigram_entropy_have_not_learned_frequencies_either(study_of: Make, tmp_path: Path, read: Read) -> None:
    results = study_of(models=3, seeds=1)
    above, level, _ = (run.model for run in results.pretraining)

    def ended(run: PretrainRecord) -> PretrainRecord:
        assert run.trivial is not None
        loss = run.trivial * {above: 1.2, level: 1.0}.get(run.model, 0.8)
        return replace(run, stuck=run.model in (above, level), curve=(*run.curve[:-1], replace(run.curve[-1], loss=loss)))

    text = read(replace(results, pretraining=tuple(map(ended, results.pretraining))), tmp_path).text
    assert f"had learned token frequencies but almost nothing from context: {level}." in text
    assert f"had not even learned token frequencies (their held-out loss is above that of knowing only these): {above}." in text


def test_a_budget_of_time_is_marked(results: Results, tmp_path: Path, read: Read) -> None:
    assert "The budget was a time (2m)" in read(results, tmp_path).text and "--budget 7.2e5tokens" in read(results, tmp_path).text
    assert "The budget was a time" not in read(replace(results, budget_unit="tokens"), tmp_path).text
