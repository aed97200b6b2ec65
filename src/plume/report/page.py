"""The whole report: the same sections as one HTML page and as Markdown."""

from __future__ import annotations

from pathlib import Path, PurePath

from plume.comparing.results import ModelGroup, Origin
from plume.report.blocks import Section
from plume.report.lookup import StudyLookup
from plume.report.markup import Markup, element, joined
from plume.report.palette import palette
from plume.report.sections.again import again
from plume.report.sections.cost import cost
from plume.report.sections.curves import curves
from plume.report.sections.differences import differences
from plume.report.sections.disagreements import disagreements
from plume.report.sections.leaderboards import leaderboards
from plume.report.sections.overall import overall
from plume.report.sections.probes import probes
from plume.report.sections.problems import problems
from plume.report.sections.recommendation import recommendation
from plume.report.tables import plain
from plume.report.to_html import contents_html, section_html
from plume.report.to_markdown import section_markdown

_ORDER = (recommendation, overall, leaderboards, cost, curves, disagreements, probes, differences, problems, again)


def sections(study: StudyLookup) -> list[Section]:
    """All of them, in the order of the page."""
    return [make(study) for make in _ORDER]


def page(study: StudyLookup) -> str:
    """As one HTML file that needs nothing else."""
    words, results = study.words, study.results
    made = sections(study)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", results.title),
        element("style", palette(), _file("page.css")),
    )
    first, *rest = made
    body = element(
        "body",
        element("a", words("skip"), href="#overall", class_="skip"),
        element("header", element("h1", results.title), element("p", lede(study), class_="lede")),
        element("main", section_html(first), contents_html(rest, words("contents")), *(section_html(section) for section in rest)),
        element("footer", element("p", words("made_by", version=results.plume, made=results.made.replace("T", " ")))),
        element("script", _file("page.js")),
    )
    return joined(Markup("<!doctype html>\n"), element("html", head, body, lang=words.code), "\n")


def markdown(study: StudyLookup) -> str:
    """As Markdown."""
    parts = [f"# {plain(study.results.title)}\n", plain(lede(study)) + "\n"]
    parts += [section_markdown(section) for section in sections(study)]
    return "\n".join(parts)


def lede(study: StudyLookup) -> str:
    """One line on what was compared."""
    words, results = study.words, study.results
    controls = sum(model.group is ModelGroup.CONTROL for model in results.models)
    trained = sum(model.origin in (Origin.RECIPE, Origin.CONTINUED) for model in study.recipes())
    small = len(study.small())
    there = len(study.recipes()) - trained - small
    last = words.count("lede_small", small) if small else ""
    told = {
        "controls": words.count("controls_count", controls) if controls else words("no_controls"),
        "tasks": words.count("tasks_count", len(results.tasks)),
        "seeds": words.count("seeds_count", len(results.seeds)),
        "machine": _machine(study),
    }
    if there:
        told["models"] = words.count("models_count", there)
    if there and not trained:
        return words.sentences(words("lede_there", **told), last)
    budget = words("budget_time", budget=results.budget) if results.budget_unit == "seconds" else results.budget
    corpus = words.few([PurePath(name).name for name in results.corpus])
    recipes = words.count("recipes_count", trained)
    return words.sentences(words("lede_beside" if there else "lede", recipes=recipes, budget=budget, corpus=corpus, **told), last)


def _machine(study: StudyLookup) -> str:
    machine = study.results.machine
    if "processor" in machine and machine.get("cores", "").isdecimal():
        return study.words.count("machine_line", int(machine["cores"]), processor=machine["processor"])
    return ", ".join(machine.values()) or study.words("no_machine")


def _file(name: str) -> Markup:
    return Markup(Path(__file__).with_name(name).read_text(encoding="utf-8"))
