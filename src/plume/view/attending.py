"""The page of a text's attention: head, model and neuron views of one model, or of two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plume.core.catalog import load
from plume.core.errors import PlumeError, suggest
from plume.view.packing import packed_map
from plume.view.page import Page
from plume.view.recording.attention import AttentionReader
from plume.view.recording.subject import Subject
from plume.view.words import Words, in_language

VIEWS = ("head", "model", "neuron")
_WORDS: Words = {
    "title": ("Attention of {models}", "{models} 的注意力"),
    "and": (" and ", " 与 "),
    "lede": ("“{text}”", "“{text}”"),
}


def attention_page(
    subjects: Sequence[Subject],
    text: str,
    *,
    pair: str | None = None,
    target: str | None = None,
    before: str | None = None,
    view: str = "all",
    said: str | None = None,
    language: str = "en",
) -> Page:
    """What the heads of the models look at in a text; `said` is the text's language, `language` the page's."""
    chosen = chosen_views(view)
    models: list[dict[str, Any]] = []
    for subject in subjects:
        reader = AttentionReader(subject, text, pair=pair, target=target, before=before, language=said)
        maps = [packed_map(one, neurons="neuron" in chosen) for one in reader.maps()]
        models.append({"name": subject.name, "maps": maps})
    words = in_language(_WORDS, language)
    title = words["title"].format(models=words["and"].join(subject.name for subject in subjects))
    shown = " · ".join(words["lede"].format(text=_shortened(one)) for one in (before, text, pair, target) if one)
    panels = [load("view.views", name).PANEL for name in chosen]
    return Page(title=title, lede=shown, panels=panels, data={"models": models}, language=language, helpers=["attention"])


def chosen_views(view: str) -> list[str]:
    """One, or all that show attention."""
    if view == "all":
        return list(VIEWS)
    if view not in VIEWS:
        raise PlumeError(f"There is no view '{view}' of attention: {suggest(view, [*VIEWS, 'all'])}.")
    return [view]


def _shortened(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
