"""What each step brought: the corpus to a public checkpoint and the checkpoint to the corpus (arXiv:2004.10964 §3); making small; a teacher."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from plume.comparing.results import Comparison, Gain, GainOf, ModelGroup, ModelRecord, Standing, TaskGain, Verdict

_TURNED = {Verdict.FIRST: Verdict.SECOND, Verdict.SECOND: Verdict.FIRST, Verdict.SAME: Verdict.SAME}


def public_gains(models: Sequence[ModelRecord], standings: Sequence[Standing], comparisons: Sequence[Comparison]) -> tuple[Gain, ...]:
    """Each model that went on against itself as it was; then the best existing one against the best that started from nothing."""
    ranked = {one.model: one for one in standings}  # the best first
    pairs = [(GainOf.CORPUS, one.name, one.continues) for one in models if one.continues in ranked and one.name in ranked]
    public = _best(ranked, models, ModelGroup.PUBLIC, ModelGroup.CONTINUED)
    alone = _best(ranked, models, ModelGroup.NOTHING)
    if public is not None and alone is not None:
        pairs.append((GainOf.CHECKPOINT, public, alone))
    made = [_gain(of, ranked[model], ranked[against], comparisons) for of, model, against in pairs]
    return tuple(one for one in made if one.tasks)


def small_gains(models: Sequence[ModelRecord], standings: Sequence[Standing], comparisons: Sequence[Comparison]) -> tuple[Gain, ...]:
    """What each model that was made small lost against the one that it was made of; then what each student gained by its teacher."""
    ranked = {one.model: one for one in standings}
    pairs = [(GainOf.SMALL, one.name, one.made_from) for one in models if one.control is None and one.made_from]
    pairs += [(GainOf.TEACHER, one.name, one.direct) for one in models if one.direct]
    made = [_gain(of, ranked[model], ranked[against], comparisons) for of, model, against in pairs if model in ranked and against in ranked]
    return tuple(one for one in made if one.tasks)


def _best(ranked: Mapping[str, Standing], models: Sequence[ModelRecord], *groups: ModelGroup) -> str | None:
    """Of those that have a score on every task, if any has; baselines are not asked."""
    own = {one.name for one in models if one.group in groups}
    return next((name for name in ranked if name in own), None)


def _gain(of: GainOf, first: Standing, second: Standing, comparisons: Sequence[Comparison]) -> Gain:
    tasks = tuple(_on_tasks(first.model, second.model, comparisons))
    return Gain(
        of=of,
        model=first.model,
        against=second.model,
        tasks=tasks,
        quality=first.quality - second.quality if first.complete and second.complete else None,
        per_second=first.per_second,
        against_per_second=second.per_second,
        disk=first.disk,
        against_disk=second.disk,
    )


def _on_tasks(first: str, second: str, comparisons: Sequence[Comparison]) -> Iterator[TaskGain]:
    for one in comparisons:
        if (one.first, one.second) == (first, second):
            yield TaskGain(task=one.task, difference=one.difference, low=one.low, high=one.high, verdict=one.verdict)
        elif (one.second, one.first) == (first, second):
            yield TaskGain(task=one.task, difference=-one.difference, low=-one.high, high=-one.low, verdict=_TURNED[one.verdict])
