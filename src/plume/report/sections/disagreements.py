"""Scored examples on which the models are divided."""

from __future__ import annotations

from plume.comparing.results import Disagreement, TaskRecord
from plume.report.blocks import AnswerGroup, ExampleBlock, Fold, Paragraph, Section
from plume.report.lookup import StudyLookup

_LONGEST = 700  # characters of a text; all of it is in results.json


def disagreements(study: StudyLookup) -> Section:
    """The section of examples on which the models are divided."""
    words = study.words
    folds = [_task(study, task) for task in study.results.tasks]
    shown = tuple(fold for fold in folds if fold)
    intro = Paragraph(words("disagreements_intro") if shown else words("no_disagreements"))
    return Section(anchor="disagreements", title=words("disagreements"), blocks=(intro, *shown))


def _task(study: StudyLookup, task: TaskRecord) -> Fold | None:
    found = [each for each in study.results.disagreements if each.task == task.name]
    if not found:
        return None
    summary = study.words.count("disagreements_summary", len(found), task=task.name)
    return Fold(summary=summary, blocks=tuple(_example(study, task, each) for each in found))


def _example(study: StudyLookup, task: TaskRecord, found: Disagreement) -> ExampleBlock:
    words, right = study.words, sum(found.right.values())
    heading, right_word, wrong_word = (
        ("example_heading_graded", "right_graded", "wrong_graded") if task.graded else ("example_heading", "right", "wrong")
    )
    return ExampleBlock(
        heading=words(heading, row=f"{found.row + 1:,}", right=right, models=len(found.right)),
        texts=tuple(_cut(text) for text in found.texts),
        gold=_cut(found.gold) or "–",
        gold_name=words("gold"),
        answers=_answers(study, found),
        right_word=words(right_word),
        wrong_word=words(wrong_word),
    )


def _answers(study: StudyLookup, found: Disagreement) -> tuple[AnswerGroup, ...]:
    """Equal answers together, the right one first, then by how many gave it."""
    groups: dict[tuple[bool, str], list[str]] = {}
    for model in study.models:
        if model in found.answers:
            groups.setdefault((found.right.get(model, False), found.answers[model]), []).append(model)
    ordered = sorted(groups.items(), key=lambda item: (not item[0][0], -len(item[1])))
    return tuple(AnswerGroup(text=_cut(text), right=right, models=tuple(names)) for (right, text), names in ordered)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + " …"
