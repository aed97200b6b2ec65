"""Which model is recommended, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plume.comparing.recommending.chances import JointDraws, draw_qualities
from plume.comparing.recommending.choice import Offer, choose
from plume.comparing.recommending.recommend import recommend
from plume.comparing.recommending.settling import catch_up, more_data
from plume.comparing.recommending.standings import standings
from plume.comparing.results import (
    Control,
    CurvePoint,
    ModelRecord,
    PredictionSpeed,
    PretrainRecord,
    Recommendation,
    ScoreRecord,
    Standing,
    Status,
    TaskRecord,
)
from plume.comparing.significance.resampling import Resampled, resample
from plume.comparing.significance.statistics import interval
from plume.metrics.resampled.measures import RowScores, mean_of

ROWS = 600


class Study:
    """Models by their share of right rows on each task; `speed` is of predictions a second."""

    def __init__(self, *tasks: str, seeds: int = 3, best: float = 1.0) -> None:
        self.tasks = [_task(name, best) for name in tasks]
        self.seeds, self.best = seeds, best
        self.models: list[ModelRecord] = []
        self.scores: list[ScoreRecord] = []
        self.pretraining: list[PretrainRecord] = []
        self.rows: dict[str, dict[str, dict[int, RowScores]]] = {}
        self.chance = np.random.default_rng(0)
        self.hard = self.chance.random((len(tasks), ROWS))

    def add(self, model: str, *levels: float | None, speed: float = 100.0, control: Control | None = None, disk: int = 10) -> Study:
        self.models.append(ModelRecord(name=model, family=model, size="tiny", title="", paper="", control=control, disk=disk))
        for seed in range(self.seeds):
            self.pretraining.append(PretrainRecord(model=model, seed=seed, status=Status.DONE, seconds=60.0 + seed))
            for task, hard, level in zip(self.tasks, self.hard, levels, strict=True):
                if level is None:
                    self.scores.append(ScoreRecord(model=model, task=task.name, seed=seed, status=Status.CANNOT))
                    continue
                right = hard + self.chance.normal(0, 0.1, ROWS) < level + self.chance.normal(0, 0.005)
                self.rows.setdefault(task.name, {}).setdefault(model, {})[seed] = mean_of(right * self.best)
                timed = PredictionSpeed(per_second=speed, p50=1, p99=2)
                self.scores.append(ScoreRecord(model=model, task=task.name, seed=seed, status=Status.DONE, seconds=10.0, speed=timed))
        return self

    def standings(self) -> dict[str, Standing]:
        return {one.model: one for one in standings(self.tasks, self.models, self.scores, self.pretraining, self.rows)}

    def recommend(self, margin: float = 1.0) -> Recommendation | None:
        resampled = {task.name: resample(task.name, self.rows.get(task.name, {}), resamples=400) for task in self.tasks}
        return recommend(self.tasks, self.models, self.scores, self.pretraining, self.rows, resampled, margin=margin)


def _task(name: str, best: float) -> TaskRecord:
    return TaskRecord(
        name=name, kind=name, title="", metric="m", train_file="", scored_file="", train_examples=1, scored_examples=ROWS, best=best
    )


def test_the_fastest_of_those_that_are_alike() -> None:
    study = Study("ner", "topic").add("slow", 0.80, 0.80, speed=50).add("fast", 0.80, 0.80, speed=400).add("poor", 0.6, 0.6, speed=900)
    study.add("scratch", 0.5, 0.5, speed=400, control=Control.SCRATCH).add("static", 0.55, 0.55, speed=5000, control=Control.STATIC)
    found = study.recommend()
    assert found is not None
    assert (found.model, found.alike, found.best in ("slow", "fast")) == ("fast", ("slow",), True)
    assert (found.beats_scratch, found.beats_static) == (True, True)


def test_speed_must_not_cost_what_the_best_is_shown_to_bring() -> None:
    """The one in the middle cannot be told apart from the best, nor from no pre-training."""
    study = Study("ner").add("best", 0.80, speed=50).add("near", 0.775, speed=900)
    found = study.add("scratch", 0.75, speed=900, control=Control.SCRATCH).recommend()
    assert found is not None and found.beats_scratch is True
    assert (found.model, found.best, found.alike, found.unproven) == ("best", "best", (), ("near",))


def test_a_better_model_is_taken_though_it_is_slow() -> None:
    study = Study("ner", "topic").add("good", 0.8, 0.8, speed=1).add("quick", 0.7, 0.7, speed=1000)
    found = study.recommend()
    assert found == Recommendation(
        model="good", alike=(), best="good", timed=True, beats_scratch=None, beats_static=None,
        chances={"good": 1.0, "quick": 0.0}, risk=0.0, shortfall=0.0,
    )  # fmt: skip


def test_speed_decides_nothing_until_all_that_are_alike_have_been_timed() -> None:
    study = Study("ner").add("untimed", 0.81, speed=0).add("timed", 0.79, speed=100)
    found = study.recommend()
    assert found is not None
    assert (found.model, found.best, found.alike, found.timed) == ("untimed", "untimed", ("timed",), False)


def test_a_control_may_win() -> None:
    study = Study("topic").add("bert", 0.8, speed=100).add("static", 0.82, speed=5000, control=Control.STATIC)
    study.add("scratch", 0.8, speed=100, control=Control.SCRATCH)
    found = study.recommend()
    assert found is not None
    assert (found.model, set(found.alike), found.beats_scratch, found.beats_static) == ("static", {"bert", "scratch"}, False, False)


def test_a_model_that_lacks_a_task_is_not_recommended_but_held_against() -> None:
    study = Study("ner", "qa").add("bert", 0.7, 0.7).add("half", 0.9, None, speed=9999)
    study.add("static", 0.5, None, speed=9999, control=Control.STATIC).add("scratch", 0.7, None, control=Control.SCRATCH)
    found, ranked = study.recommend(), study.standings()
    assert found is not None
    assert (found.model, found.alike, found.beats_static, found.beats_scratch) == ("bert", (), True, False)
    assert list(ranked) == ["bert", "half", "scratch", "static"]
    assert [one.complete for one in ranked.values()] == [True, False, False, False]
    assert [one.pareto for one in ranked.values()] == [True, False, False, False]
    alone = Study("ner", "qa").add("half", 0.7, None).add("other", 0.9, None).recommend()
    assert alone is not None and alone.model == "other"


def test_tasks_count_alike_and_seeds_together() -> None:
    study = Study("ner", "topic", "qa", best=100.0).add("bert", 0.9, 0.6, 0.3)
    found = study.standings()["bert"]
    by_seed = [float(np.mean([study.rows[task]["bert"][seed].score for task in ("ner", "topic", "qa")])) / 100 for seed in range(3)]
    assert found.quality == pytest.approx(np.mean(by_seed))
    assert (found.low, found.high) == pytest.approx(interval(by_seed))
    assert found.quality == pytest.approx(0.6, abs=0.03)
    assert found.seconds == pytest.approx(61 + 3 * 10)
    one = Study("ner", seeds=1).add("bert", 0.9).standings()["bert"]
    assert (one.low, one.high) == (None, None)


def test_a_task_that_goes_to_a_hundred_counts_no_more() -> None:
    study = Study("ner", "translation").add("even", 0.9, 0.6, speed=1).add("writer", 0.6, 0.7, speed=2)
    study.tasks[1] = _task("translation", 100.0)
    for runs in study.rows["translation"].values():
        runs.update({seed: mean_of(100 * one.statistics[:, 0]) for seed, one in runs.items()})  # type: ignore[attr-defined]
    found = study.recommend()
    assert found is not None and found.best == found.model == "even"


def test_speed_is_the_geometric_mean_and_the_front_has_no_betters() -> None:
    study = Study("ner", "topic")
    for name, level, speed in (("good", 0.9, 10), ("middle", 0.8, 100), ("behind", 0.7, 90), ("quick", 0.5, 1000)):
        study.add(name, level, level, speed=speed)
    timed = [one for one in study.scores if one.model == "good" and one.task == "topic"]
    study.scores = [one for one in study.scores if one not in timed]
    study.scores += [
        ScoreRecord(
            model="good", task="topic", seed=one.seed, status=Status.DONE, seconds=1, speed=PredictionSpeed(per_second=40, p50=1, p99=1)
        )
        for one in timed
    ]
    found = study.standings()
    assert found["good"].per_second == pytest.approx(20)
    assert [name for name, one in found.items() if one.pareto] == ["good", "middle", "quick"]


def test_nothing_scored_and_seeds_that_failed() -> None:
    assert Study("ner").recommend() is None
    assert Study("ner").standings() == {}
    study = Study("ner", "topic").add("bert", 0.8, 0.8).add("gpt", 0.6, 0.6)
    del study.rows["ner"]["bert"][0], study.rows["topic"]["bert"][1], study.rows["topic"]["bert"][2]  # no seed has both tasks
    found = study.recommend()
    assert found is not None and found.model == "bert"
    assert study.standings()["bert"].low is None


def test_quality_is_of_the_seeds_that_have_all_tasks() -> None:
    study = Study("ner", "topic").add("bert", 0.8, 0.6)
    study.rows["topic"]["bert"][0] = mean_of(np.zeros(ROWS))
    del study.rows["ner"]["bert"][0]  # with the seed that went badly
    whole = [float(np.mean([study.rows[task]["bert"][seed].score for task in ("ner", "topic")])) for seed in (1, 2)]
    assert study.standings()["bert"].quality == pytest.approx(np.mean(whole))


def test_one_that_is_told_apart_from_nobody_is_no_reason_to_take_the_worse() -> None:
    """The study that was wrong: two seeds, and a wide interval made the worst model, a fast one, as good as any."""
    found = recommend(
        *_few_seeds({"bert": (0.437, 0.489), "scratch": (0.49, 0.50), "fasttext": (0.57, 0.582)}, bert=2000.0, fasttext=800.0)
    )
    assert found is not None and "bert" in found.unproven
    assert (found.model, found.best) == ("fasttext", "fasttext")
    assert max(found.chances, key=lambda name: found.chances[name]) == "fasttext" and found.chances["bert"] < 0.2
    assert not found.contenders or found.contenders[0] == "fasttext"


def _few_seeds(levels: dict[str, tuple[float, ...]], **speeds: float) -> tuple[Any, ...]:
    """Shares of right rows, run by run."""
    study = Study("news", seeds=0)
    chance = np.random.default_rng(0)
    for name, shares in levels.items():
        control = {"scratch": Control.SCRATCH, "fasttext": Control.STATIC}.get(name)
        study.add(name, 0.0, control=control)
        hard = chance.permutation(ROWS)
        study.rows.setdefault("news", {})[name] = {seed: mean_of(hard < share * ROWS) for seed, share in enumerate(shares)}
        timed = PredictionSpeed(per_second=speeds.get(name, 1000.0), p50=1, p99=2)
        study.scores += [ScoreRecord(model=name, task="news", seed=seed, status=Status.DONE, speed=timed) for seed in range(len(shares))]
    return (
        study.tasks,
        study.models,
        study.scores,
        study.pretraining,
        study.rows,
        {"news": resample("news", study.rows["news"], resamples=400)},
    )


def test_where_all_are_equal_nothing_is_recommended() -> None:
    found = recommend(*_few_seeds({"bert": (0.5, 0.5), "gpt": (0.5, 0.5), "fasttext": (0.5, 0.5)}, fasttext=9000.0))
    assert found is not None and found.all_equal
    assert (found.model, found.best, found.contenders) == ("", "", ())


def test_where_the_data_cannot_decide_it_names_candidates_and_what_would_settle_it() -> None:
    found = recommend(*_few_seeds({"bert": (0.58, 0.64, 0.61), "gpt": (0.57, 0.62, 0.6), "poor": (0.2, 0.22, 0.21)}))
    assert found is not None and found.risk is not None and found.risk > 0.2
    assert (found.model, found.contenders) == ("bert", ("bert", "gpt"))
    assert sum(found.chances.values()) == pytest.approx(1) and found.chances["poor"] < 0.02
    # Rows and seeds each are too much noise alone: only a study of more rows and of more seeds would tell.
    assert found.more_seeds is None or found.more_seeds > 1
    many = recommend(*_few_seeds({"bert": (0.58, 0.64, 0.61) * 20, "gpt": (0.47, 0.52, 0.5) * 20}))
    assert many is not None and many.contenders == () and many.model == "bert"


def test_a_wider_margin_lets_a_faster_model_in() -> None:
    study = Study("ner", "topic").add("slow", 0.80, 0.80, speed=50).add("fast", 0.78, 0.78, speed=400)
    narrow, wide = study.recommend(), study.recommend(margin=6.0)
    assert narrow is not None and wide is not None
    assert (narrow.model, wide.model, wide.best) == ("slow", "fast", "slow")
    assert wide.shortfall is not None and wide.shortfall < 0.1
    study.add("static", 0.79, 0.79, speed=390, control=Control.STATIC)
    control = study.recommend(margin=6.0)
    assert control is not None and control.model == "static"


def test_of_models_as_fast_the_smaller_may_be_taken() -> None:
    study = Study("ner", "topic").add("large", 0.80, 0.80, disk=100).add("small", 0.795, 0.795, disk=10, speed=95)
    found = study.recommend(margin=6.0)
    assert found is not None and (found.model, found.best) == ("small", "large")


def test_none_is_taken_below_a_control_that_costs_no_more() -> None:
    """Though the control itself, which varies widely, might lose too much."""
    values = np.stack([np.full(100, 0.80), np.full(100, 0.795), 0.796 + 0.05 * np.random.default_rng(0).normal(size=100)])
    draws = JointDraws(models=("best", "fast", "static"), values=values)
    offers = [Offer(model=name, quality=mean, per_second=speed, disk=1) for name, mean, speed in (("best", 0.8, 10), ("fast", 0.795, 100))]
    assert choose(offers, draws, 0.01).model == "fast"
    for speed, expected in ((95, "best"), (50, "fast")):
        control = Offer(model="static", quality=0.796, per_second=speed, disk=1, control=True)
        assert choose([*offers, control], draws, 0.01).model == expected
    assert choose([*offers, replace(control, per_second=95, control=False)], draws, 0.01).model == "fast"


def test_a_student_without_its_teacher_is_never_taken_but_bars_one_that_is_no_better() -> None:
    def small(direct: float) -> Study:
        study = Study("ner").add("large", 0.83).add("distil@large", 0.80, speed=500)
        return study.add("direct@large", direct, speed=500, control=Control.DIRECT)

    for level, expected in ((0.70, "distil@large"), (0.90, "large")):
        found = small(level).recommend(margin=9.0)
        assert found is not None and found.model == expected and "direct@large" not in (found.best, *found.chances, *found.alike)


def test_what_is_made_small_takes_the_time_of_what_it_is_made_of() -> None:
    study = Study("ner").add("large", 0.8).add("distil@large", 0.8).add("direct@large", 0.8, control=Control.DIRECT)
    study.pretraining = [run for run in study.pretraining if run.model == "large"]
    study.models[1:] = [replace(one, made_from="large") for one in study.models[1:]]
    found = study.standings()
    assert (found["large"].seconds, found["distil@large"].seconds, found["direct@large"].seconds) == (71.0, 81.0, 10.0)


def test_with_one_seed_a_spread_is_assumed() -> None:
    """Of rows alone the second would be better by a point in one of a thousand studies."""
    table = {
        name: Resampled(rows=10**6, seeds=(0,), scores=np.array([mean]), draws=np.full((1, 2000), mean)) for name, mean in _TWO.items()
    }
    assert 0.15 < draw_qualities(table).below("first", "second", 0.0) < 0.4


_TWO = {"first": 0.60, "second": 0.59}


def test_what_is_settled_by_seeds_and_what_by_rows() -> None:
    chance = np.random.default_rng(0)

    def table(rows: float, seeds: float) -> dict[str, Resampled]:
        made = {}
        for name, mean in _TWO.items():
            runs = mean + seeds * np.array([-1.0, 0.0, 1.0])
            made[name] = Resampled(rows=500, seeds=(0, 1, 2), scores=runs, draws=runs[:, None] + rows * chance.normal(size=(1, 2000)))
        return made

    by_seeds = more_data("first", ["second"], table(0.0, 0.06), 0.01)
    assert by_seeds.seeds is not None and 3 < by_seeds.seeds < 12 and by_seeds.rows is None
    # One in five lies beyond 0.84 standard errors, whose square falls as rows are added.
    by_rows = more_data("first", ["second"], table(0.04, 1e-6), 0.01)
    assert by_rows.seeds is None and by_rows.rows == pytest.approx(0.8416**2 * 2 * 0.04**2 / 0.02**2, rel=0.15)


def test_how_much_longer_a_network_would_need() -> None:
    """The loss falls by a tenth of a nat with each doubling, and has fallen by half a nat, which brought six points; three are missing."""
    points = [CurvePoint(tokens=2**n, seconds=n, loss=6.0 - 0.1 * (n - 5)) for n in range(6, 11)]
    run = PretrainRecord(model="bert", seed=0, status=Status.DONE, trivial=6.0, curve=tuple(points))
    values = np.array([[0.56], [0.50], [0.59]]) + np.zeros((3, 100))
    draws = JointDraws(models=("bert", "scratch", "fasttext"), values=values)
    found = catch_up("bert", "fasttext", "scratch", [run], draws)
    assert found is not None and found.middle == pytest.approx(2 ** (0.5 * 0.5 / 0.1)) and found.high == pytest.approx(found.low)
    assert catch_up("bert", "fasttext", "scratch", [replace(run, trivial=5.0)], draws) is None  # it has learned nothing of context
    assert catch_up("bert", "scratch", "fasttext", [run], draws) is None  # pre-training has made it worse: no line leads up
