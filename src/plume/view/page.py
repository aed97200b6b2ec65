"""One self-contained page of views: style, scripts, words and data are in it, and nothing is fetched."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plume._version import __version__
from plume.core.files import write_text
from plume.report.markup import Markup, element, joined
from plume.report.palette import palette
from plume.view.words import FRAME, Words, in_language

_SCRIPTS = Path(__file__).with_name("scripts")
# The browser itself refuses whatever would leave the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
_TYPES = ("uint8", "int8", "uint16", "int16", "int32", "float32")


@dataclass(frozen=True, kw_only=True)
class ViewPanel:
    """A view's place on the page: scripts/NAME.js draws it; of its words `title` and `about` stand above it, the script reads all."""

    name: str
    words: Words


@dataclass(frozen=True, kw_only=True)
class Page:
    """Panels one under the other, and the data that all of them read.

    `data` is JSON with numpy arrays anywhere in it: each is packed by itself, and decoded when a script asks for it (`plume.array`).
    """

    title: str
    panels: Sequence[ViewPanel]
    data: Mapping[str, Any]
    lede: str = ""
    language: str = "en"
    helpers: Sequence[str] = ()  # scripts that several panels share, before theirs
    height: int = 720  # in a notebook, in pixels

    def write(self, path: str | Path) -> None:
        """The whole page, or what was there before."""
        write_text(Path(path), self.html())

    def html(self) -> str:
        """The page as text."""
        words = in_language(FRAME, self.language)
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", self.title),
            element("style", palette(), _script("page.css")),
        )
        header = element("header", element("h1", self.title), element("p", self.lede, class_="lede") if self.lede else None)
        footer = element("footer", element("p", words["made_by"].format(version=__version__)))
        main = element("main", element("noscript", element("p", words["no_script"])), *(self._panel(panel) for panel in self.panels))
        data, *arrays = self._data()
        # The views are drawn before the arrays are all there: each is asked for when it is seen, and waited for.
        body = element("body", header, main, footer, data, *self._code(), *arrays)
        code = {"en": "en-GB", "zh": "zh-Hans"}[self.language]
        return joined(Markup("<!doctype html>\n"), element("html", head, body, lang=code), "\n")

    def _repr_html_(self) -> str:
        """In a notebook: the page in a frame of its own."""
        written = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{written}" sandbox="allow-scripts" style="width:100%;height:{self.height}px;border:0"></iframe>'

    def _panel(self, panel: ViewPanel) -> Markup:
        words = in_language(panel.words, self.language)
        about = element("p", words["about"], class_="about") if words.get("about") else None
        title = element("h2", words["title"]) if words.get("title") else None
        return element("section", title, about, element("div", class_="view"), id=panel.name)

    def _data(self) -> list[Markup]:
        packed: list[np.ndarray] = []

        def reference(value: object) -> object:
            if isinstance(value, np.ndarray):
                packed.append(value)
                return {"array": len(packed) - 1, "shape": value.shape, "type": _packable(value).dtype.name}
            if isinstance(value, np.generic):
                return value.item()
            raise TypeError(f"{type(value).__name__} cannot stand in a page's data.")

        words = {panel.name: in_language(panel.words, self.language) for panel in self.panels}
        frame = in_language(FRAME, self.language)
        written = json.dumps({"data": self.data, "words": words, "frame": frame}, ensure_ascii=False, default=reference, allow_nan=False)
        blocks = [_inert("data", written.replace("<", "\\u003c"))]
        return blocks + [_inert(f"array-{i}", base64.b64encode(_packable(one).tobytes()).decode()) for i, one in enumerate(packed)]

    def _code(self) -> list[Markup]:
        names = dict.fromkeys(["frame", *self.helpers, *(panel.name for panel in self.panels)])
        return [element("script", _script(f"{name}.js")) for name in names] + [element("script", Markup("plume.draw();"))]


def _packable(array: np.ndarray) -> np.ndarray:
    """In a type that JavaScript has an array for."""
    if array.dtype.name in _TYPES:
        return np.ascontiguousarray(array)
    wanted = np.uint8 if array.dtype == np.bool_ else np.int32 if np.issubdtype(array.dtype, np.integer) else np.float32
    return np.ascontiguousarray(array, dtype=wanted)


def _inert(name: str, text: str) -> Markup:
    """Text that the browser keeps but does not run."""
    return element("script", Markup(text), type="text/plain", id=name)


def _script(name: str) -> Markup:
    return Markup((_SCRIPTS / name).read_text(encoding="utf-8"))
