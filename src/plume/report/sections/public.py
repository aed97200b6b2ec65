"""What the corpus, public checkpoints, making small and teachers changed, and what each costs to run: a sentence or two each."""

from __future__ import annotations

from plume.comparing.results import Gain, GainOf, TaskGain, Verdict
from plume.report.blocks import Bullets
from plume.report.formats import rate, signed, size
from plume.report.lookup import StudyLookup

_KEYS = {
    GainOf.CORPUS: ("gain_corpus", "gain_corpus_some"),
    GainOf.CHECKPOINT: ("gain_checkpoint", "gain_checkpoint_some"),
    GainOf.SMALL: ("gain_small", "gain_small_some"),
    GainOf.TEACHER: ("gain_teacher", "gain_teacher_some"),
}


def gains(study: StudyLookup) -> list[Bullets]:
    """Nothing where the study has no model to say it of."""
    said = gain_sentences(study)
    return [Bullets(tuple(said))] if said else []


def gain_sentences(study: StudyLookup) -> list[str]:
    """One for each model that went on or was made small, one for each student that had a teacher, one for what a checkpoint brought."""
    return [
        study.words.sentences(_difference(study, one), _beaten(study, one) if one.of is GainOf.TEACHER else _cost(study, one))
        for one in study.results.gains
    ]


def _beaten(study: StudyLookup, gain: Gain) -> str:
    """Where distilling is no better than the same student without a teacher, that is said; both cost the same to run."""
    words = study.words
    by_verdict = {verdict: [one.task for one in gain.tasks if one.verdict is verdict] for verdict in Verdict}
    better, worse = by_verdict[Verdict.FIRST], by_verdict[Verdict.SECOND]
    if not better:
        return words("teacher_worse", tasks=words.list(worse)) if worse else words("teacher_no")
    others = [one.task for one in gain.tasks if one.task not in better]
    return words("teacher_some", tasks=words.list(better), others=words.list(others)) if others else ""


def _difference(study: StudyLookup, gain: Gain) -> str:
    words = study.words
    tasks = words("clause_stop").join(_task(study, one) for one in gain.tasks)
    whole, some = _KEYS[gain.of]
    return words(
        whole if gain.quality is not None else some, model=gain.model, against=gain.against, by=signed(gain.quality or 0.0), tasks=tasks
    )


def _task(study: StudyLookup, gain: TaskGain) -> str:
    best = study.tasks[gain.task].best
    sign = "gain_same" if gain.verdict is Verdict.SAME else "gain_significant"
    ends = {"low": signed(gain.low, best), "high": signed(gain.high, best)}
    return study.words("gain_task", task=gain.task, by=signed(gain.difference, best), sign=study.words(sign), **ends)


def _cost(study: StudyLookup, gain: Gain) -> str:
    words = study.words
    sizes = {"model": gain.model, "disk": size(gain.disk), "against": gain.against, "against_disk": size(gain.against_disk)}
    if not gain.per_second or not gain.against_per_second:
        return words("gain_disk", **sizes)
    return words("gain_cost", rate=rate(gain.per_second), against_rate=rate(gain.against_per_second), **sizes)
