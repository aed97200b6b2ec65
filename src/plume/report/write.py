"""Writing the report and its tables."""

from __future__ import annotations

from pathlib import Path

from plume.comparing.results import Results
from plume.core.files import write_text
from plume.report.csv_files import models_csv, scores_csv
from plume.report.lookup import StudyLookup
from plume.report.page import markdown, page
from plume.report.sections.public import gain_sentences
from plume.report.sections.recommendation import verdict
from plume.report.words import Wording

PAGE, MARKDOWN, SCORES, MODELS = "report.html", "report.md", "scores.csv", "models.csv"


def write_report(results: Results, folder: Path, *, language: str = "en") -> Path:
    """Write report.html, report.md, scores.csv and models.csv into `folder`; returns the path of the page.

    The page needs nothing else: it opens offline, from any place it is copied to.
    """
    study = StudyLookup(results=results, words=Wording(language))
    write_text(folder / SCORES, scores_csv(results))
    write_text(folder / MODELS, models_csv(study))
    write_text(folder / MARKDOWN, markdown(study))
    write_text(folder / PAGE, page(study))
    return folder / PAGE


def gains_of(results: Results, *, language: str = "en") -> list[str]:
    """What the corpus and what public checkpoints added, a sentence or two each; nothing where the study has no such model."""
    return gain_sentences(StudyLookup(results=results, words=Wording(language)))


def verdict_of(results: Results, *, language: str = "en") -> str:
    """The recommendation in words, as the report begins."""
    return verdict(StudyLookup(results=results, words=Wording(language)))
