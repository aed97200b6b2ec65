"""Which model to ship, and why, in two sentences."""

from __future__ import annotations

from plume.comparing.results import Control, ModelRecord, Origin, Recommendation, Standing, Status
from plume.report.blocks import Block, Fact, Facts, Paragraph, Section
from plume.report.formats import count, duration, milliseconds, points, rate, signed, size
from plume.report.lookup import StudyLookup


def recommendation(study: StudyLookup) -> Section:
    """The section that says which model to ship."""
    words, chosen = study.words, study.results.recommendation
    blocks: list[Block] = [Paragraph(verdict(study), "verdict", strong=chosen.model if chosen else "")]
    if chosen is not None and chosen.model in study.standings:
        blocks.append(Facts(_facts(study, study.standings[chosen.model])))
    blocks += [Paragraph(note, "note") for note in _cautions(study)]
    return Section(anchor="recommendation", title=words("recommendation"), blocks=tuple(blocks), class_="callout")


def verdict(study: StudyLookup) -> str:
    """The recommendation in two sentences."""
    chosen = study.results.recommendation
    if chosen is None or chosen.model not in study.standings:
        return study.words("no_recommendation")
    return study.words.sentences(_which(study, chosen), _paid(study, chosen))


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
    if chosen.model == chosen.best:
        alone = "ship_proven" if chosen.unproven else "ship_alone" if len(study.candidates(chosen.model)) > 1 else "ship_only"
        return words("ship_alike", others=words.few(others), **values) if others else words(alone, **values)
    best = study.standings[chosen.best]
    values |= {"best": chosen.best, "best_quality": points(best.quality), "best_rate": rate(best.per_second)}
    return words("ship_cheaper_of_many", others=words.few(others), **values) if others else words("ship_cheaper", **values)


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
        notes.append(words("unproven_caution", models=words.list(chosen.unproven), best=chosen.best))
    if not study.several_seeds():
        notes.append(words("one_seed_caution"))
    if stuck := [model.name for model in study.recipes() if study.usage(model.name).stuck]:
        notes.append(words("stuck_caution", models=words.list(stuck)))
    if slowed := [run for model in study.models for run in study.runs(model) if run.slowed]:
        notes.append(words("slowed_caution", runs=words.list([f"{run.model}:{run.seed}" for run in slowed])))
    return [*notes, *_gaps(study)]


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
    there = record.origin in (Origin.DIRECTORY, Origin.HUGGING_FACE)
    return "tuning_only" if there else "pretraining_and_tuning"
