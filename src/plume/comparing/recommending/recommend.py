"""The recommendation: the choice among the candidates, what it is known to beat, and how sure it is."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from plume.comparing.recommending.chances import JointDraws, draw_qualities
from plume.comparing.recommending.choice import OPEN, Offer, choose, equal, highest
from plume.comparing.recommending.quality import RowsByTask, Tables, candidates, quality_over, shares, tasks_of
from plume.comparing.recommending.settling import MoreData, catch_up, more_data
from plume.comparing.recommending.standings import standings
from plume.comparing.results import (
    MARGIN,
    CatchUp,
    Comparison,
    Control,
    ModelRecord,
    Origin,
    PretrainRecord,
    Recommendation,
    ScoreRecord,
    Standing,
    TaskRecord,
    Verdict,
)
from plume.comparing.significance.resampling import Resampled
from plume.comparing.significance.statistics import alike, compare_all

_NAMED = 3  # candidates, where the choice is open
_LIKELY = 0.05  # the probability of being the best from which on a candidate is worth naming


def recommend(
    tasks: Sequence[TaskRecord],
    models: Sequence[ModelRecord],
    scores: Sequence[ScoreRecord],
    pretraining: Sequence[PretrainRecord],
    row_scores: RowsByTask,
    resampled: Tables,
    *,
    margin: float = MARGIN,
) -> Recommendation | None:
    """None: nothing was scored. A control may be the one: then pre-training did not pay here; but no student whose teacher was taken away."""
    ranked = {one.model: one for one in standings(tasks, models, scores, pretraining, row_scores)}
    students = {one.name for one in models if one.control is Control.DIRECT}
    names = candidates([name for name in ranked if name not in students], tasks, row_scores)
    if not names:
        return None
    tables = {task.name: shares(resampled[task.name], task.best) for task in tasks}
    over = tasks_of(names[0], tasks, row_scores)
    quality = quality_over(names, over, tables)
    comparisons = compare_all("", quality)
    offers = {one.name: _offer(one, ranked, quality) for one in models if one.name in quality}
    beside = _beside(models, students, over, ranked, tables)
    draws = draw_qualities(quality)
    if equal(list(offers.values())):
        return _nothing(draws, margin)
    best = highest(list(offers.values())).model
    near = alike(best, comparisons)
    timed = all(offers[name].per_second for name in near)  # else speed decides nothing
    model = choose(list(offers.values()), draws, margin / 100, beside).model if timed else best
    unproven = [name for name in names if timed and name in near and name != best and offers[name].cheaper(offers[model])]
    controls = _controls(models, ranked)

    def beats(control: Control) -> bool | None:
        other = controls.get(control)
        if other in quality:
            return other != model and _better(model, other, comparisons)
        return None if other is None else _better_where_both_are(model, other, over, tables)

    risk, chances = draws.beaten(model, margin / 100), draws.best()
    contenders = _contenders(model, chances) if risk > OPEN else ()
    needs = more_data(model, contenders[1:], quality, margin / 100) if len(contenders) > 1 else MoreData(seeds=None, rows=None)
    return Recommendation(
        model=model,
        alike=tuple(name for name in names if name in near - set(unproven) and name != model),
        best=best,
        timed=timed,
        beats_scratch=beats(Control.SCRATCH),
        beats_static=beats(Control.STATIC),
        unproven=tuple(unproven),
        margin=margin,
        chances=chances,
        risk=risk,
        shortfall=draws.below(model, best, margin / 100),
        contenders=contenders,
        more_seeds=needs.seeds,
        more_rows=needs.rows,
        catch_up=_longer(model, models, controls, pretraining, offers, draws),
    )


def _nothing(draws: JointDraws, margin: float) -> Recommendation:
    """All have the same quality: to name the fastest would be to choose by the jitter of timing."""
    return Recommendation(
        model="", alike=draws.models, best="", timed=True, beats_scratch=None, beats_static=None, margin=margin, all_equal=True
    )


def _offer(model: ModelRecord, ranked: Mapping[str, Standing], quality: Mapping[str, Resampled]) -> Offer:
    return Offer(
        model=model.name,
        quality=quality[model.name].mean,
        per_second=ranked[model.name].per_second,
        disk=model.disk,
        control=model.control is not None,
    )


def _beside(
    models: Sequence[ModelRecord], students: Container[str], over: Sequence[str], ranked: Mapping[str, Standing], tables: Tables
) -> list[Offer]:
    """Students that were trained directly, where they have all the tasks."""
    whole = [one for one in models if one.name in students and all(one.name in tables[task] for task in over)]
    quality = quality_over([one.name for one in whole], over, tables)
    return [_offer(one, ranked, quality) for one in whole]


def _contenders(model: str, chances: Mapping[str, float]) -> tuple[str, ...]:
    """The recommended one, and the likeliest of the others."""
    others = sorted((name for name in chances if name != model), key=lambda name: -chances[name])
    return (model, *(name for place, name in enumerate(others[: _NAMED - 1]) if not place or chances[name] >= _LIKELY))


def _longer(
    model: str,
    models: Sequence[ModelRecord],
    controls: Mapping[Control, str],
    pretraining: Sequence[PretrainRecord],
    offers: Mapping[str, Offer],
    draws: JointDraws,
) -> CatchUp | None:
    """Where something that no budget of this study makes better is ahead: when the best of the networks pre-trained here would draw level."""
    here = {one.name for one in models if one.control is None and one.origin is Origin.RECIPE}
    scratch = controls.get(Control.SCRATCH)
    trained = [offers[name] for name in offers if name in here]
    if _beginning(model, models) in here or not trained or scratch is None or scratch not in offers or scratch == model:
        return None
    return catch_up(highest(trained).model, model, scratch, pretraining, draws)


def _beginning(model: str, models: Sequence[ModelRecord]) -> str:
    """What was made small to become it, if anything was."""
    made_from = {one.name: one.made_from for one in models}
    while made_from.get(model):
        model = made_from[model]
    return model


def _controls(models: Sequence[ModelRecord], ranked: Mapping[str, Standing]) -> dict[Control, str]:
    """Those that were scored. The better ones come last: of several word vectors the best is the control."""
    scored = sorted((one for one in models if one.name in ranked), key=lambda one: ranked[one.name].quality)
    return {one.control: one.name for one in scored if one.control}


def _better_where_both_are(model: str, other: str, tasks: Sequence[str], tables: Tables) -> bool | None:
    """The other lacks some of the tasks: those that both have decide."""
    both = [task for task in tasks if other in tables[task]]
    return _better(model, other, compare_all("", quality_over([model, other], both, tables))) if both else None


def _better(model: str, other: str, comparisons: Sequence[Comparison]) -> bool:
    wins = {(one.first, one.second): one.verdict for one in comparisons}
    return wins.get((model, other)) is Verdict.FIRST or wins.get((other, model)) is Verdict.SECOND
