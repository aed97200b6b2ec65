"""The page of a text's attention: head, model and neuron views of one model, or of two side by side, and every head switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plume.core.catalog import load
from plume.core.errors import PlumeError, suggest
from plume.view.packing import packed_map
from plume.view.page import Page
from plume.view.recording.attention import AttentionMap, AttentionReader
from plume.view.recording.importance import HeadImportance
from plume.view.recording.subject import Subject
from plume.view.recording.switching import MOST, Switching, all_heads, switched_off
from plume.view.words import Words, in_language

VIEWS = ("head", "model", "neuron", "switch")
_WORDS: Words = {
    "title": ("Attention of {models}", "{models} 的注意力"),
    "heads": ("Heads of {models} for {task}", "{models} 的各个头对 {task} 的作用"),
    "and": (" and ", " 与 "),
    "quoted": ("“{text}”", "“{text}”"),
}


def attention_page(
    subjects: Sequence[Subject],
    text: str,
    *,
    pair: str | None = None,
    target: str | None = None,
    before: str | None = None,
    view: str = "all",
    task: str | None = None,
    said: str | None = None,
    language: str = "en",
) -> Page:
    """What the heads of the models look at in a text; `said` is the text's language, `language` the page's.

    Of long texts heads are switched off only if that view is asked for by its name: it takes two readings a head.
    """
    words = in_language(_WORDS, language)
    lede = " · ".join(words["quoted"].format(text=_shortened(one)) for one in (before, text, pair, target) if one)
    pages = []
    for subject in subjects:
        reader = AttentionReader(subject, text, pair=pair, target=target, before=before, language=said)
        made = _attended(reader, [text] if pair is None else [text, pair], view, task)
        names = [name for name in chosen_views(view) if name != "switch" or "switched" in made]
        pages.append(
            Page(
                title=words["title"].format(models=subject.name), lede=lede, panels=[load("view.views", name).PANEL for name in names],
                data={"models": [made]}, language=language, helpers=["attention", "grid"],
            )
        )  # fmt: skip
    return joined_pages(pages)


def joined_pages(pages: Sequence[Page]) -> Page:
    """What several models attend to in the same text, on one page: of each the page by itself."""
    if len(pages) == 1:
        return pages[0]
    words = in_language(_WORDS, pages[0].language)
    models = [model for page in pages for model in page.data["models"]]
    title = words["title"].format(models=words["and"].join(model["name"] for model in models))
    panels = {panel.name: panel for page in pages for panel in page.panels}
    return replace(pages[0], title=title, panels=list(panels.values()), data={"models": models})


def _attended(reader: AttentionReader, texts: list[str], view: str, task: str | None) -> dict[str, Any]:
    """What the scripts are told of one model."""
    chosen, maps = chosen_views(view), reader.maps()
    made: dict[str, Any] = {"name": reader.subject.name, "maps": [packed_map(one, neurons="neuron" in chosen) for one in maps]}
    if "switch" in chosen and (view == "switch" or all_heads(reader) * len(reader.read.tokens) <= MOST):
        made["switched"] = packed_switching(switched_off(reader, texts, maps, task), maps)
    return made


def importance_page(found: HeadImportance, *, language: str = "en") -> Page:
    """Which heads matter for a task."""
    places = [
        {
            "place": one.place.value,
            "gradient": [layer.tolist() for layer in one.gradient],
            "normalised": [layer.tolist() for layer in one.normalised],
            "without": [layer.tolist() for layer in one.without],
        }
        for one in found.places
    ]
    data = {"model": found.model, "examples": found.examples, "loss": found.loss, "correlation": found.correlation, "places": places}
    title = in_language(_WORDS, language)["heads"].format(models=found.model, task=found.task)
    panels = [load("view.views", "importance").PANEL]
    return Page(title=title, panels=panels, data={"importance": data}, language=language, helpers=["attention", "grid"])


def chosen_views(view: str) -> list[str]:
    """One, or all that show attention."""
    if view == "all":
        return list(VIEWS)
    if view not in VIEWS:
        raise PlumeError(f"There is no view '{view}' of attention: {suggest(view, [*VIEWS, 'all'])}.")
    return [view]


def packed_switching(found: Switching, maps: Sequence[AttentionMap]) -> dict[str, Any]:
    """For the script; how far attention moved is in bytes, a row for each head that is switched off."""
    places = []
    for one in found.places:
        heads = [head for layer in one.moved for head in layer]
        moved = [np.stack([np.concatenate(head[number]) for head in heads]) for number in range(len(maps))]
        answers = [[{"sure": answer.sure, "guesses": answer.guesses} for answer in layer] for layer in one.answers]
        packed = [np.rint(table * 255).astype(np.uint8) for table in moved]
        places.append({"place": one.place.value, "answers": answers, "moved": packed})
    return {"kind": found.kind, "whole": {"sure": found.whole.sure, "guesses": found.whole.guesses}, "places": places}


def _shortened(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
