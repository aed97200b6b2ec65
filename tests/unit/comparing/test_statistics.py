"""Is what is said about two models true? Measured on simulated studies, whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, t

from plume.comparing.results import Comparison, Verdict
from plume.comparing.significance import resampling
from plume.comparing.significance.pair_noise import PairNoise
from plume.comparing.significance.resampling import RESAMPLES, Resampled, Scores, resample
from plume.comparing.significance.seed_noise import freedom_of_pair, seed_spreads
from plume.comparing.significance.statistics import LEVEL, compare_all, holm, interval, more_seeds, summaries
from plume.core.errors import PlumeError
from plume.metrics.resampled.measures import RowScores, mean_of

Study = dict[str, dict[int, RowScores]]
_DRAWS = 200  # resamples: enough for a variance


def compared(task: str, scores: Scores, *, resamples: int = RESAMPLES, seed: int = 0) -> list[Comparison]:
    return compare_all(task, resample(task, scores, resamples=resamples, seed=seed))


def simulate(
    chance: np.random.Generator, *, models: int = 2, seeds: int = 3, rows: int = 500, noise: float, gain: float = 0.0, level: float = 0.8
) -> Study:
    """Models that are right on four rows of five, the first on `gain` more. `noise`: the deviation of a model's true quality from seed to seed.

    A row is hard for all models, for all runs of a model, or for one run.
    """
    common, own, once = 1.0, 0.6, 0.6
    total = math.sqrt(common**2 + own**2 + once**2)
    hard = chance.normal(0, common, rows)
    study: Study = {}
    for model in range(models):
        centre = total * norm.ppf(level + gain * (model == 0))
        steep = total / norm.pdf(norm.ppf(level))
        mine = hard + chance.normal(0, own, rows)
        study[f"m{model}"] = {
            seed: mean_of(centre + steep * noise * chance.normal() + mine + chance.normal(0, once, rows) > 0) for seed in range(seeds)
        }
    return study


def told_apart(studies: int, *, seed: int = 1, **options: float) -> float:
    """The share of studies in which some pair is told apart."""
    chance = np.random.default_rng(seed)
    found = [compared("task", simulate(chance, **options), resamples=_DRAWS, seed=number) for number in range(studies)]  # type: ignore[arg-type]
    return float(np.mean([any(one.verdict is not Verdict.SAME for one in some) for some in found]))


def percentiles(table: dict[str, Resampled], chance: np.random.Generator) -> bool:
    """What is not done: rows and seeds resampled together, and the interval read off."""
    first, second = table.values()
    seeds, draws = first.draws.shape
    chosen = chance.integers(seeds, size=(seeds, draws))
    low, high = np.percentile((first.draws - second.draws)[chosen, np.arange(draws)].mean(0), [2.5, 97.5])
    return not low <= 0 <= high


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_equal_models_are_seldom_told_apart(noise: float) -> None:
    assert told_apart(300, noise=noise) <= 0.05


def test_nor_are_any_of_six() -> None:
    assert told_apart(150, models=6, noise=0.02) <= 0.05


def test_percentiles_would_tell_equal_models_apart() -> None:
    chance = np.random.default_rng(1)
    tables = [resample("task", simulate(chance, noise=0.03, rows=1500), resamples=100, seed=number) for number in range(300)]
    assert np.mean([percentiles(table, chance) for table in tables]) > 0.12


def test_real_differences_are_found() -> None:
    assert told_apart(100, noise=0.01, gain=0.08) >= 0.9
    assert told_apart(60, models=6, noise=0.01, gain=0.12) >= 0.9


def test_the_interval_holds_the_true_difference() -> None:
    chance = np.random.default_rng(2)
    found = [compared("task", simulate(chance, noise=0.02, gain=0.05), resamples=_DRAWS, seed=number)[0] for number in range(300)]
    assert 0.925 <= np.mean([one.low <= 0.05 <= one.high for one in found]) <= 0.99


def test_one_seed_is_the_paired_test_of_rows() -> None:
    chance = np.random.default_rng(0)
    first, second = chance.random(400) < 0.8, chance.random(400) < 0.7
    (one,) = compared("task", {"a": {0: mean_of(first)}, "b": {0: mean_of(second)}}, resamples=20_000)
    each = first.astype(float) - second
    error = each.std(ddof=1) / math.sqrt(400)
    assert one.difference == pytest.approx(each.mean())
    assert one.high - one.low == pytest.approx(2 * t.ppf(0.975, 399) * error, rel=0.02)
    assert one.p == pytest.approx(2 * t.sf(each.mean() / error, 399), rel=0.2)
    assert (one.seeds, one.more_seeds) == (1, None)


def test_seeds_widen_the_interval() -> None:
    """Rows that say the same whatever is drawn: all the noise is of seeds, and is Student's."""
    table = {"a": _table([0.80, 0.84, 0.82]), "b": _table([0.70, 0.72, 0.74])}
    (one,) = compare_all("task", table)
    error = math.sqrt(2 * 0.0004 / 3)  # both have a deviation of 0.02
    assert one.difference == pytest.approx(0.10)
    assert (one.low, one.high) == pytest.approx((0.1 - t.ppf(0.975, 4) * error, 0.1 + t.ppf(0.975, 4) * error))
    assert one.p == pytest.approx(2 * t.sf(0.1 / error, 4))
    assert one.verdict is Verdict.FIRST


def test_seeds_that_agree_by_chance_do_not_hide_the_noise_of_rows() -> None:
    chance = np.random.default_rng(0)
    study = {
        name: {seed: mean_of(chance.permutation(np.arange(400) < right)) for seed in range(3)} for name, right in (("a", 300), ("b", 290))
    }
    (one,) = compared("task", study)
    means = [np.mean([run.statistics[:, 0] for run in runs.values()], axis=0) for runs in study.values()]
    error = (means[0] - means[1]).std(ddof=1) / 20  # with just these runs, which all score alike
    assert (one.high - one.low) / 2 == pytest.approx(t.ppf(0.975, 399) * error, rel=0.05)


def test_more_seeds_are_asked_for_where_there_are_more_pairs() -> None:
    values = {"a": [0.80, 0.84, 0.82], "b": [0.79, 0.83, 0.81]} | {f"m{number}": [0.5, 0.54, 0.52] for number in range(8)}
    table = {name: _table(some) for name, some in values.items()}
    found = compare_all("task", table)
    place = next(number for number, one in enumerate(found) if {one.first, one.second} == {"a", "b"})
    same = sum(one.difference == 0 for one in found)  # 28 pairs of equals, behind which Holm's factor for this pair is 29
    noise = PairNoise(rows=0, row_freedom=999, seeds=8e-4 / 3, seed_freedom=20, one_seed=8e-4)
    assert found[place].more_seeds == more_seeds(0.01, noise, seeds=3, level=LEVEL / (same + 1))
    assert found[place].more_seeds > more_seeds(0.01, noise, seeds=3, level=LEVEL)  # type: ignore[operator]


def test_the_order_of_models_does_not_matter() -> None:
    study = simulate(np.random.default_rng(3), noise=0.02, gain=0.1)
    (one,), (other,) = compared("task", study), compared("task", dict(reversed(study.items())))
    assert (other.difference, other.low, other.high) == pytest.approx((-one.difference, -one.high, -one.low))
    assert other.p == pytest.approx(one.p)
    assert (one.verdict, other.verdict) == (Verdict.FIRST, Verdict.SECOND)


def test_equal_answers_and_opposite_ones() -> None:
    rows = mean_of(np.arange(50) % 3 > 0)
    (one,) = compared("task", {"a": {0: rows, 1: rows}, "b": {0: rows, 1: rows}})
    assert (one.difference, one.low, one.high, one.p, one.verdict, one.more_seeds) == (0, 0, 0, 1, Verdict.SAME, None)
    right, wrong = mean_of(np.ones(50)), mean_of(np.zeros(50))
    (one,) = compared("task", {"a": {0: right}, "b": {0: wrong}})
    assert 0 < one.p < 1e-6 and one.verdict is Verdict.FIRST
    right, wrong = mean_of(np.ones(4)), mean_of(np.zeros(4))
    (one,) = compared("task", {"a": {0: right}, "b": {0: wrong}})
    assert one.verdict is Verdict.SAME  # four rows are not enough for anything


def test_models_without_a_score_are_left_out_and_other_rows_refused() -> None:
    rows = mean_of(np.arange(9) % 2)
    assert compared("task", {"a": {0: rows}, "b": {}}) == []
    with pytest.raises(PlumeError, match="a on 9 and b on 8"):
        compared("task", {"a": {0: rows}, "b": {0: mean_of(np.ones(8))}})


def test_the_same_numbers_each_time_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    study = simulate(np.random.default_rng(0), models=3, noise=0.02)
    once = compared("task", study, resamples=50)
    assert once == compared("task", study, resamples=50)
    monkeypatch.setattr(resampling, "_AT_ONCE", 7 * 500)
    assert [one.p for one in compared("task", study, resamples=50)] == pytest.approx([one.p for one in once])
    assert compared("other task", study, resamples=50) != [replace(one, task="other task") for one in once]


def test_models_with_unlike_seeds() -> None:
    study = simulate(np.random.default_rng(0), models=3, seeds=4, noise=0.02)
    del study["m1"][0], study["m2"][0], study["m2"][1], study["m2"][3]
    found = {(one.first, one.second): one for one in compared("task", study)}
    assert [one.seeds for one in found.values()] == [3, 1, 1]
    mean = np.mean([one.score for one in study["m0"].values()]) - study["m2"][2].score
    assert found["m0", "m2"].difference == pytest.approx(mean)
    alone = compared("task", {"m0": {2: study["m0"][2]}, "m2": study["m2"]})[0]
    assert found["m0", "m2"].high - found["m0", "m2"].low > alone.high - alone.low  # one seed has the noise that the others show


def test_variances_of_many_models_are_drawn_together() -> None:
    chance = np.random.default_rng(0)
    alike = seed_spreads({str(model): chance.normal(0, 1, 3) for model in range(30)})
    assert alike is not None
    assert max(one.variance for one in alike.values()) < 2.5  # three values alone reach 4 and 0.02
    assert min(one.variance for one in alike.values()) > 0.4
    assert alike["0"].freedom == 2 and 4 < alike["0"].others <= 56
    unlike = seed_spreads({str(model): chance.normal(0, 10.0 ** (model % 4), 3) for model in range(30)})
    assert unlike is not None
    assert unlike["3"].variance > 1e4 * unlike["0"].variance and unlike["0"].others < 2
    assert seed_spreads({"a": np.ones(1), "b": np.ones(1)}) is None
    still = seed_spreads({"a": np.array([0.5, 0.5, 0.5]), "b": np.array([0.1, 0.2, 0.3])})
    assert still is not None and still["a"].variance == pytest.approx(0.01)
    pair = seed_spreads({"a": np.array([0.1, 0.2, 0.3]), "b": np.array([1.0, 2.0, 3.0])})
    assert pair is not None
    assert [one.variance for one in pair.values()] == pytest.approx([0.01, 1.0])  # two alone say nothing about each other
    assert freedom_of_pair([0.01, 1.0], list(pair.values())) == pytest.approx(1.01**2 / (0.01**2 / 2 + 1 / 2))  # Welch's


def test_more_seeds() -> None:
    noise = PairNoise(rows=1e-6, row_freedom=999, seeds=4e-4 / 3, seed_freedom=20, one_seed=4e-4)
    more = more_seeds(0.01, noise, seeds=3, level=LEVEL)
    assert more is not None
    for count, enough in ((more, True), (more - 1, False)):
        half = noise.with_seeds(3 + count).quantile(LEVEL) * math.sqrt(1e-6 + 4e-4 / (3 + count))
        assert bool(half < 0.01) is enough
    assert 10 < more < 20  # 1.96² · 0.0004 / (0.01² − 1.96² · 0.000001) = 16, less the three
    assert more_seeds(0.01, noise, seeds=3, level=LEVEL / 66) > more  # type: ignore[operator]  # among many pairs more is asked
    assert more_seeds(0.01, replace(noise, rows=1e-4), seeds=3, level=LEVEL) is None


def test_holm_by_hand() -> None:
    assert holm([0.001, 0.02, 0.015, 0.9]) == (pytest.approx([0.004, 0.045, 0.045, 0.9]), [4, 2, 3, 1])
    assert holm([0.5, 0.5])[0] == [1.0, 1.0]
    assert holm([]) == ([], [])


def test_interval() -> None:
    assert interval([0.7]) is None
    assert interval([0.70, 0.72, 0.74]) == pytest.approx(
        (0.72 - 4.3027 * 0.02 / math.sqrt(3), 0.72 + 4.3027 * 0.02 / math.sqrt(3)), abs=1e-5
    )


def test_the_best_group() -> None:
    study = simulate(np.random.default_rng(0), models=3, noise=0.005, gain=0.0)
    study["poor"] = simulate(np.random.default_rng(0), models=1, noise=0.005, level=0.5)["m0"]
    found = {one.model: one for one in summaries("task", study | {"none": {}}, compared("task", study))}
    assert {name: one.best_group for name, one in found.items()} == {"m0": True, "m1": True, "m2": True, "poor": False}
    values = [one.score for one in study["m1"].values()]
    assert (found["m1"].mean, found["m1"].low, found["m1"].seeds) == (pytest.approx(np.mean(values)), interval(values)[0], 3)  # type: ignore[index]


def _table(scores: list[float]) -> Resampled:
    values = np.array(scores)
    return Resampled(rows=1000, seeds=tuple(range(len(scores))), scores=values, draws=np.repeat(values[:, None], 10, axis=1))
