"""Models that were made small, in the report: a group of their own, what it cost, and whether a teacher brought anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plume.comparing.results import Control, Gain, GainOf, ModelGroup, Origin, Results, TaskGain, Verdict
from plume.report.lookup import StudyLookup
from plume.report.page import lede, markdown
from plume.report.sections.public import gain_sentences
from plume.report.words import Wording

BETTER, SAME, WORSE = Verdict.FIRST, Verdict.SAME, Verdict.SECOND


def small(results: Results, *verdicts: Verdict) -> Results:
    """albert as gpt made small, roberta as the same student without a teacher."""
    changed = {
        "albert": {"origin": Origin.COMPRESSED, "made_from": "gpt", "direct": "roberta"},
        "roberta": {"origin": Origin.COMPRESSED, "made_from": "gpt", "control": Control.DIRECT},
    }
    tasks = tuple(
        TaskGain(task=one.name, difference=0.01, low=-0.01, high=0.03, verdict=verdict)
        for one, verdict in zip(results.tasks, verdicts, strict=True)
    )
    cost = {"quality": 0.01, "per_second": 90.0, "against_per_second": 30.0, "disk": 10, "against_disk": 40}
    gains = tuple(
        Gain(of=of, model="albert", against=other, tasks=tasks, **cost)
        for of, other in ((GainOf.SMALL, "gpt"), (GainOf.TEACHER, "roberta"))
    )
    models = tuple(replace(one, **changed.get(one.name, {})) for one in results.models)
    return replace(results, models=models, gains=gains)


def test_they_have_a_group_of_their_own(results: Results) -> None:
    for language, heading, told in (("en", "made small", "trained directly"), ("zh", "压缩后的模型", "直接训练")):
        study = StudyLookup(results=small(results, SAME, SAME, SAME), words=Wording(language))
        (models,) = [models for group, models in study.groups() if group is ModelGroup.SMALL]
        assert {one.name for one in models} == {"albert", "roberta"} and [one.name for one in study.small()] == ["albert"]
        page = markdown(study)
        assert f"*{heading}*" in page and f"roberta {told}" in page
    before = StudyLookup(results=results, words=Wording("en"))
    after = StudyLookup(results=small(results, SAME, SAME, SAME), words=Wording("en"))
    assert "and 2 baselines" in lede(before) and "and 2 baselines" in lede(after), "a student without a teacher is none of them"
    assert lede(after).startswith("10 recipes") and "One more is made small" in lede(after)


@pytest.mark.parametrize(
    ("verdicts", "said", "in_chinese"),
    [
        ((SAME, SAME, SAME), "Here distilling does not significantly beat training the student directly.", "蒸馏并不显著优于直接训练"),
        ((WORSE, SAME, SAME), "significantly worse than training the student directly on ner, and better on none", "显著不如直接训练"),
        ((BETTER, SAME, SAME), "significantly beats training the student directly on ner, and not on", "在 ner 上显著优于直接训练"),
        ((BETTER, BETTER, BETTER), "What the teacher added: albert differs from roberta", "教师带来了什么"),
    ],
)
def test_where_distilling_does_not_beat_direct_training_that_is_said(
    results: Results, verdicts: tuple[Verdict, ...], said: str, in_chinese: str
) -> None:
    cost, taught = gain_sentences(StudyLookup(results=small(results, *verdicts), words=Wording("en")))
    assert cost.startswith("What making it small cost: albert differs from gpt by +1.0 points") and "To run:" in cost
    assert said in taught and "To run:" not in taught
    assert ("beat" in taught or "worse" in taught) == (verdicts != (BETTER, BETTER, BETTER))
    assert in_chinese in gain_sentences(StudyLookup(results=small(results, *verdicts), words=Wording("zh")))[1]
