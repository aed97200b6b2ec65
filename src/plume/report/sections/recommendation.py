"""Which model to ship, and why, in two sentences."""

from __future__ import annotations

import statistics

from plume.comparing.results import Control, ModelRecord, Origin, Recommendation, Standing, Status
from plume.report.blocks import Block, Fact, Facts, Paragraph, Section
from plume.report.formats import chance, count, duration, milliseconds, points, rate, signed, size
from plume.report.lookup import StudyLookup
from plume.report.sections.open_choice import chances_figure, longer, margin_text, not_decided

_LEVEL = 1.03  # times the loss that needs no context: as far above as `learned_context` asks below


def recommendation(study: StudyLookup) -> Section:
    """The section that says which model to ship."""
    words, chosen = study.words, study.results.recommendation
    blocks: list[Block] = [Paragraph(verdict(study), "verdict", strong=chosen.model if chosen else "")]
    if chosen is not None and chosen.model in study.standings:
        blocks.append(Facts(_facts(study, study.standings[chosen.model])))
    if chosen is not None and len(chosen.chances) > 1:
        blocks.append(chances_figure(study, chosen))
    blocks += [Paragraph(note, "note") for note in _cautions(study)]
    return Section(anchor="recommendation", title=words("recommendation"), blocks=tuple(blocks), class_="callout")


def verdict(study: StudyLookup) -> str:
    """The recommendation in two sentences; where the data cannot decide, that comes first; what longer training would do comes last."""
    chosen = study.results.recommendation
    if chosen is not None and chosen.all_equal:
        return _nothing(study, chosen)
    if chosen is None or chosen.model not in study.standings:
        return study.words("no_recommendation")
    first = not_decided(study, chosen) if chosen.contenders else ""
    last = longer(study, chosen.catch_up) if chosen.catch_up else ""
    return study.words.sentences(first, _which(study, chosen), _paid(study, chosen), last)


def _nothing(study: StudyLookup, chosen: Recommendation) -> str:
    """All models have the same quality."""
    words, one = study.words, chosen.alike[0]
    tasks = words.count("tasks_count", len(study.scored_tasks(one)))
    return words("all_equal", models=words.few(chosen.alike), quality=points(study.standings[one].quality), tasks=tasks)


def _which(study: StudyLookup, chosen: Recommendation) -> str:
    """The first sentence: the model, its quality, whom it cannot be told apart from, and what it costs."""
    words, standing = study.words, study.standings[chosen.model]
    values = {
        "model": study.named(chosen.model),
        "quality": quality_text(study, standing),
        "tasks": words.count("tasks_count", len(study.scored_tasks(chosen.model))),
        "rate": rate(standing.per_second),
        "disk": size(standing.disk),
    }
    others = [name for name in chosen.alike if name not in (chosen.best, chosen.model)]
    if not chosen.timed:
        return words("ship_untimed", **values)
    if chosen.contenders:
        return words("ship_meanwhile", **values)
    if chosen.model == chosen.best:
        alone = "ship_proven" if chosen.unproven else "ship_alone" if len(study.candidates(chosen.model)) > 1 else "ship_only"
        return words("ship_alike", others=words.few(others), **values) if others else words(alone, **values)
    best = study.standings[chosen.best]
    values |= {"best": chosen.best, "best_quality": points(best.quality), "best_rate": rate(best.per_second), "best_disk": size(best.disk)}
    within = None if chosen.shortfall is None else 1 - chosen.shortfall
    return words("ship_cheaper", margin=margin_text(study, chosen), within=chance(within), **values)


def quality_text(study: StudyLookup, standing: Standing) -> str:
    """The quality, with its interval where there is one."""
    if standing.low is None or standing.high is None:
        return points(standing.quality)
    return study.words("with_interval", value=points(standing.quality), low=points(standing.low), high=points(standing.high))


def _paid(study: StudyLookup, chosen: Recommendation) -> str:
    """The second sentence: whether pre-training paid, against the two controls."""
    words = study.words
    record = study.models.get(chosen.model)
    if record and record.control:
        return words("control_won", control=words.of(record.control))
    if record and _was_there(record) and any(not _was_there(one) for one in study.recipes()):
        return words("there_won")
    answer = {True: "yes", False: "no", None: "none"}
    scratch, static = _control(study, Control.SCRATCH), _control(study, Control.STATIC)
    key = f"paid_{answer[chosen.beats_scratch]}_{answer[chosen.beats_static]}"
    return words(key, scratch=_control_text(study, scratch, chosen), static=_control_text(study, static, chosen))


def _control_text(study: StudyLookup, control: Standing | None, chosen: Recommendation) -> str:
    """Its quality; where it lacks some of the tasks, on how many it is."""
    if control is None:
        return points(None)
    own, all_ = len(study.scored_tasks(control.model)), len(study.scored_tasks(chosen.model))
    return points(control.quality) if own == all_ else study.words("on_some_tasks", value=points(control.quality), own=own, all=all_)


def _control(study: StudyLookup, kind: Control) -> Standing | None:
    """Of several word vectors the best."""
    found = [study.standings[model.name] for model in study.results.models if model.control is kind and model.name in study.standings]
    return max(found, key=lambda one: one.quality, default=None)


def _facts(study: StudyLookup, standing: Standing) -> tuple[Fact, ...]:
    words, record = study.words, study.models[standing.model]
    usage = study.usage(standing.model)
    latency = words("latency", p50=milliseconds(usage.p50), p99=milliseconds(usage.p99)) if usage.p50 else ""
    return (
        Fact(name=words("quality"), value=points(standing.quality), note=_range(study, standing)),
        *(_over_controls(study, standing) if record.control is None else ()),
        Fact(name=words("predictions_per_second"), value=rate(standing.per_second), note=latency),
        Fact(name=words("disk"), value=size(standing.disk), note=words("parameters_count", number=count(record.parameters))),
        Fact(name=words("time_to_make"), value=duration(standing.seconds), note=words(_made_by(record))),
    )


def _over_controls(study: StudyLookup, standing: Standing) -> list[Fact]:
    words, facts = study.words, []
    for kind, key in ((Control.SCRATCH, "over_scratch"), (Control.STATIC, "over_static")):
        control = _control(study, kind)
        if control and control.complete == standing.complete:
            note = words("from_to", low=points(control.quality), high=points(standing.quality))
            facts.append(Fact(name=words(key), value=signed(standing.quality - control.quality), note=note))
    return facts


def _range(study: StudyLookup, standing: Standing) -> str:
    if standing.low is None or standing.high is None:
        return ""
    return study.words("interval_only", low=points(standing.low), high=points(standing.high))


def _cautions(study: StudyLookup) -> list[str]:
    words = study.words
    notes = [words("quality_means", tasks=words.count("tasks_count", len(study.tasks)))]
    chosen = study.results.recommendation
    if chosen is not None and chosen.unproven:
        notes.append(words("unproven_caution", models=words.list(chosen.unproven), margin=margin_text(study, chosen), best=chosen.best))
    if not study.several_seeds():
        notes.append(words("one_seed_caution"))
    stuck = [model.name for model in study.recipes() if study.usage(model.name).stuck]
    behind = [name for name in stuck if _behind(study, name)]
    if level := [name for name in stuck if name not in behind]:
        notes.append(words("stuck_caution", models=words.list(level)))
    if behind:
        notes.append(words("behind_caution", models=words.list(behind)))
    if study.results.budget_unit == "seconds" and (tokens := _tokens(study)):
        notes.append(
            words("time_caution", budget=study.results.budget, tokens=count(tokens), option=f"{tokens:.2g}tokens".replace("+0", ""))
        )
    if slowed := [run for model in study.models for run in study.runs(model) if run.slowed]:
        notes.append(words("slowed_caution", runs=words.list([f"{run.model}:{run.seed}" for run in slowed])))
    return [*notes, *_gaps(study)]


def _behind(study: StudyLookup, model: str) -> bool:
    """Has it not learned yet how frequent tokens are? Its loss is then clearly above what that knowledge gives."""
    runs = [run for run in study.runs(model) if run.trivial and run.curve]
    return bool(runs) and all(run.curve[-1].loss > _LEVEL * (run.trivial or 0.0) for run in runs)


def _tokens(study: StudyLookup) -> float:
    """That the networks saw in the middle, where time was their budget."""
    seen = [study.usage(model.name).tokens for model in study.recipes() if study.usage(model.name).tokens]
    return statistics.median(seen) if seen else 0.0


def _gaps(study: StudyLookup) -> list[str]:
    """What the recommendation does not know."""
    words, notes = study.words, []
    waiting = sum(cell.status is Status.WAITING for cell in study.results.scores)
    if waiting:
        notes.append(words.count("waiting_caution", waiting, all=f"{len(study.results.scores):,}"))
    missing = [standing.model for standing in study.results.standings if not standing.complete]
    if missing and len(missing) == len(study.results.standings):
        notes.append(words("all_incomplete_caution"))
    elif missing:
        notes.append(words("incomplete_caution", models=words.list(missing)))
    return notes


def _made_by(record: ModelRecord) -> str:
    """What the time to make a model is made of: one that was there already was only fine-tuned."""
    return "tuning_only" if _was_there(record) else "with_its_parent" if record.made_from else "pretraining_and_tuning"


def _was_there(record: ModelRecord) -> bool:
    return record.origin in (Origin.DIRECTORY, Origin.HUGGING_FACE)
