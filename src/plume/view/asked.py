"""How questions were answered, as one page: the graph of each, drawn as SVG, with the sentences that its edges stand for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plume._version import __version__
from plume.core.files import write_text
from plume.report.markup import Markup, element, joined
from plume.report.palette import palette
from plume.tuning.asked import Edge, Reply
from plume.view.words import FRAME, Words, in_language

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WORDS: Words = {
    "title": ("How it was answered", "回答的由来"),
    "nothing": ("No answer", "没有答案"),
    "sentences": ("By these sentences", "依据的句子"),
    "steps": ("Steps", "步骤"),
}
_STYLE = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 0 1.2rem 1rem; margin: 1rem 0; }
svg { width: 100%; height: auto; } td { padding: .1rem .8rem .1rem 0; vertical-align: top; } .quiet, footer { color: var(--quiet); }
rect { fill: var(--wash); stroke: var(--line); } .chosen rect { stroke: var(--chosen); stroke-width: 2; } text { fill: var(--ink); font-size: 13px; }
path { fill: none; stroke: var(--dot); } circle { fill: var(--dot); } .number { font-size: 11px; fill: var(--quiet); }
"""
_WIDE, _HIGH, _ACROSS, _DOWN = 190, 34, 250, 54  # of a box, and from one to the next
_SHOWN = 26  # characters of a name


def asked_page(replies: Sequence[Reply], *, language: str = "en") -> Markup:
    """The whole page; nothing is fetched, and no script runs."""
    words, frame = in_language(_WORDS, language), in_language(FRAME, language)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", words["title"]),
        element("style", palette(), Markup(_STYLE)),
    )
    footer = element("footer", element("p", frame["made_by"].format(version=__version__)))
    body = element("body", element("h1", words["title"]), *(_section(reply, words) for reply in replies), footer)
    return joined(Markup("<!doctype html>\n"), element("html", head, body, lang={"en": "en-GB", "zh": "zh-Hans"}[language]), "\n")


def write_asked_page(replies: Sequence[Reply], path: Path, *, language: str = "en") -> None:
    """The whole page, or what was there before."""
    write_text(path, asked_page(replies, language=language))


def _section(reply: Reply, words: dict[str, str]) -> Markup:
    answer = f"{', '.join(reply.answers)}  ({reply.score:.3f})" if reply.answers else words["nothing"]
    steps = [element("tr", element("td", step.name), element("td", step.said), element("td", f"{step.score:.3f}")) for step in reply.steps]
    edges = [element("li", f"{edge.source} → {edge.target}: ", element("span", edge.label, class_="quiet")) for edge in reply.graph]
    return element(
        "section",
        element("h2", reply.question),
        element("p", element("strong", answer)),
        graph_svg(reply) if reply.graph else None,
        element("h3", words["sentences"]) if edges else None,
        element("ol", *edges) if edges else None,
        element("details", element("summary", words["steps"]), element("table", *steps)) if steps else None,
    )


def graph_svg(reply: Reply) -> Markup:
    """Each name in the column of its distance from where the search began; edges are numbered as their sentences are listed."""
    place = {name: (column, row) for column, names in enumerate(_columns(reply.graph)) for row, name in enumerate(names)}
    columns, rows = max(one for one, _ in place.values()) + 1, max(one for _, one in place.values()) + 1
    drawn = [_arrow(number, place[edge.source], place[edge.target]) for number, edge in enumerate(reply.graph, 1)]
    drawn += [_box(name, *where, chosen=name in reply.answers) for name, where in place.items()]
    size = f"0 0 {columns * _ACROSS} {rows * _DOWN + 10}"
    return element("svg", *drawn, viewBox=size, role="img", aria_label=", ".join(f"{one.source} → {one.target}" for one in reply.graph))


def _columns(edges: Sequence[Edge]) -> list[list[str]]:
    """Names by their distance from those that nothing leads to; where all lie on a cycle, from the first."""
    names = list(dict.fromkeys(name for edge in edges for name in (edge.source, edge.target)))
    reached = {edge.target for edge in edges}
    columns = [[name for name in names if name not in reached] or names[:1]]
    seen = set(columns[0])
    while following := list(dict.fromkeys(edge.target for edge in edges if edge.source in columns[-1] and edge.target not in seen)):
        columns.append(following)
        seen.update(following)
    left = [name for name in names if name not in seen]
    return [*columns, left] if left else columns


def _box(name: str, column: int, row: int, *, chosen: bool) -> Markup:
    x, y = column * _ACROSS + 2, row * _DOWN + 8
    shown = name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…"
    return element(
        "g",
        element("title", name),
        element("rect", x=x, y=y, width=_WIDE, height=_HIGH, rx=6),
        element("text", shown, x=x + 9, y=y + 22),
        class_="chosen" if chosen else None,
    )


def _arrow(number: int, source: tuple[int, int], target: tuple[int, int]) -> Markup:
    """From the right side of a box to the left side of the next; back edges run below."""
    x, y = source[0] * _ACROSS + 2 + _WIDE, source[1] * _DOWN + 8 + _HIGH // 2
    to_x, to_y = target[0] * _ACROSS, target[1] * _DOWN + 8 + _HIGH // 2
    bend = 30 if to_x > x else 60
    line = f"M{x} {y} C{x + bend} {y}, {to_x - bend} {to_y}, {to_x} {to_y}"
    middle = (x + to_x) // 2, (y + to_y) // 2 - 4
    return element(
        "g",
        element("path", d=line),
        element("circle", cx=to_x, cy=to_y, r=3),
        element("text", str(number), x=middle[0], y=middle[1], class_="number"),
    )
