"""The loop of CogQA: pages of the frontier are read, what they point at joins the graph, until nothing new comes (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plume.heads.cognitive import SPANS
from plume.readers.multihop import PageText
from plume.tuning.hops.graph import QuestionGraph, sentence_at
from plume.tuning.hops.library import Library
from plume.tuning.hops.rows import HopQuestions

_MOST_ANSWERS = 8  # nodes that may be the answer, a question
_PATIENCE = 8  # rounds; a graph of five new pages, with as many clues as a page takes, seldom has that many


@dataclass(frozen=True, kw_only=True)
class PointedSpan:
    """What a pointer says: a place in a page, and by how much it is above "nothing"."""

    begin: int
    end: int
    score: float


@dataclass(kw_only=True)
class HopSearch:
    """A question on its way: its graph, what is to be read next, and the best span of any page, kept for want of an answer."""

    graph: QuestionGraph
    library: Library
    new: int = 0
    frontier: list[int] = field(default_factory=list)
    best: tuple[float, str, int, int] | None = None  # score, text, node, place: above "nothing" or not
    alone: tuple[float, str] | None = None  # the same where only the first pages were read: one document


Read = Callable[[Sequence[QuestionGraph], Sequence[Sequence[int]]], tuple[HopQuestions, NDArray[np.float32]]]


def explore(searches: Sequence[HopSearch], read: Read, *, most: int, longest: int, hops: bool = True) -> None:
    """Let all graphs grow together. `most` new pages each; spans of at most `longest` tokens."""
    for search in searches:
        search.frontier = list(range(search.graph.starts))
    for turn in range(_PATIENCE):
        open_ = [search for search in searches if search.frontier]
        if not open_:
            return
        asked, table = read([search.graph for search in open_], [search.frontier for search in open_])
        row = 0
        for search in open_:
            reached: list[int] = []
            for node in search.frontier:
                _follow(search, node, asked, table, row, most=most if hops else 0, longest=longest, reached=reached)
                row += 1
            if not turn:
                search.alone = None if search.best is None else search.best[:2]
            search.frontier = list(dict.fromkeys(reached))


def _follow(
    search: HopSearch,
    number: int,
    asked: HopQuestions,
    table: NDArray[np.float32],
    row: int,
    *,
    most: int,
    longest: int,
    reached: list[int],
) -> None:
    graph = search.graph
    page = graph.nodes[number].page
    if page is None:
        return
    for span in pointed(asked, table, row, page, side=0, longest=longest, most=SPANS):
        name = page.text[span.begin : span.end]
        found = search.library.find(name)
        if found is None or found is page:
            continue
        there = graph.number(found.title)
        if there is None:
            if search.new >= most:
                continue
            search.new += 1
            there = graph.add(found.title, found)
        elif graph.nodes[there].page is None:
            graph.add(found.title, found)
        if graph.link(number, there, span.begin):
            reached.append(there)
    _answer(search, number, pointed(asked, table, row, page, side=2, longest=longest, most=1, always=True), page)


def _answer(search: HopSearch, number: int, spans: list[PointedSpan], page: PageText) -> None:
    graph = search.graph
    for span in spans:
        name = page.text[span.begin : span.end].strip()
        if not name:
            continue
        if search.best is None or span.score > search.best[0]:
            search.best = (span.score, name, number, span.begin)
        if span.score > 0 and (graph.number(name) is not None or sum(node.answer for node in graph.nodes) < _MOST_ANSWERS):
            there = graph.add(name)
            graph.link(number, there, span.begin)
            graph.nodes[there].answer = True
            graph.nodes[there].score = max(graph.nodes[there].score, span.score)


def pointed(
    asked: HopQuestions, table: NDArray[np.float32], row: int, page: PageText, *, side: int, longest: int, most: int, always: bool = False
) -> list[PointedSpan]:
    """The best spans of a row whose first token is above "nothing", each within a sentence; `always` the best one, above it or not."""
    part = slice(int(asked.rows.bounds[row]), int(asked.rows.bounds[row + 1]))
    first, last = table[part, side].astype(np.float64), table[part, side + 1].astype(np.float64)
    null = int(asked.null[row])
    start, end = asked.start[part], asked.end[part]
    inside = np.flatnonzero(start >= 0)
    found: list[PointedSpan] = []
    for place in inside[np.argsort(-first[inside], kind="stable")].tolist():
        above = first[place] - first[null]
        if len(found) >= most or (above <= 0 and not (always and not found)):
            break
        if any(one.begin < end[place] and start[place] < one.end for one in found):
            continue
        sentence = sentence_at(page, int(start[place]))
        limit = page.starts[sentence + 1] if sentence + 1 < len(page.sentences) else len(page.text)
        stop = range(place, min(place + longest, len(start)))
        ends = [one for one in stop if start[one] >= 0 and end[one] <= limit]
        if ends:
            best = max(ends, key=lambda one: last[one])
            found.append(PointedSpan(begin=int(start[place]), end=int(end[best]), score=float(above)))
    return found
