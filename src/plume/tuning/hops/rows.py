"""A row for each node: the question and what led there, then the page under its title. Rows of one question's graph are a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.heads.cognitive import (
    ANSWER_FIRST,
    ANSWER_LAST,
    HOP_FIRST,
    HOP_LAST,
    KIND,
    NONE,
    OUTSIDE,
    RIGHT,
    ROLE,
    SPANS,
    START,
    TEXT,
    WIDTH,
    WRONG,
)
from plume.readers.example import Example
from plume.text.pieces import Joined, bounds
from plume.tuning.hops.graph import GraphNode, QuestionGraph
from plume.tuning.rows.questions import SpanQuestions, one_each
from plume.tuning.rows.rows import Array, Coder, Stretch

_BETWEEN = ": "  # a page's title and its text
_NEVER = -1


@dataclass(frozen=True, kw_only=True)
class HopQuestions(SpanQuestions):
    """`value` [R, WIDTH] as `heads.cognitive` counts its columns."""

    kinds: Array  # [total] what the head is told of each token
    null: Array  # [R]
    start: Array  # [total] of each token in its page's text, in characters; -1: in none
    end: Array  # [total]
    links: Sequence[NDArray[np.int64]]  # [G] of [nodes, nodes]

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        batch = super()._asked(batch, index, picked)
        sizes = np.diff(self.groups)[index]
        place = np.arange(int(sizes.max()))
        context = np.where(place < sizes[:, None], (np.cumsum(sizes) - sizes)[:, None] + place, -1)
        links = np.zeros((len(index), len(place), len(place)), np.float32)
        for number, group in enumerate(index.tolist()):
            links[number, : sizes[number], : sizes[number]] = self.links[group]
        value = np.zeros((len(picked), WIDTH), np.int64) if self.value is None else self.value[picked]
        feature = self.rows.padded(self.kinds, picked, OUTSIDE)
        made = {name: replace(target, context=context, links=links, feature=feature, value=value) for name, target in batch.labels.items()}
        return replace(batch, labels=made)


def lay_out_graphs(
    name: str, graphs: Sequence[QuestionGraph], coder: Coder, *, longest_question: int, nodes: Sequence[Sequence[int]] | None = None,
    known: Sequence[int] | None = None,
) -> tuple[HopQuestions, int]:  # fmt: skip
    """All nodes of each graph, one group a graph; or only the `nodes`, each a group of its own. `known`: what each question's first row is told of
    its kind; the nodes then say themselves what is right. Also how many pages had to be cut."""
    rows = [(number, node) for number, graph in enumerate(graphs) for node in (range(len(graph.nodes)) if nodes is None else nodes[number])]
    held = [graphs[number].nodes[node] for number, node in rows]
    asked = _asked(graphs, [number for number, _ in rows], held, coder, longest_question)
    texts = [node.name if node.page is None else node.page.title + _BETWEEN + node.page.text for node in held]
    different = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    cut = coder.cut(list(different))
    which = np.array([different[text] for text in texts], np.int64)
    begin, end = cut.token_bounds[:-1][which], cut.token_bounds[1:][which]
    room = coder.room(2) - (asked.end - asked.begin)
    lost = int((end - begin > room).sum())
    told = Stretch(cut=cut, begin=begin, end=np.minimum(end, begin + room), language=asked.language)
    laid = coder.lay_out(asked, told)
    null = coder.summary(laid)
    start, stop = _places(laid.text, laid.place, laid.length, cut, which, held)
    kinds = np.where(start >= 0, TEXT, OUTSIDE)
    kinds[laid.bounds[:-1] + null] = START
    groups = one_each(len(rows)) if nodes is not None else bounds(len(graph.nodes) for graph in graphs)
    made = HopQuestions(
        name=name, rows=laid, groups=groups, allowed=kinds != OUTSIDE, kinds=kinds, null=null, start=start, end=stop, value=None,
        links=[np.zeros((1, 1), np.int64)] * len(rows) if nodes is not None else [_links(graph) for graph in graphs],
    )  # fmt: skip
    return (made if known is None else replace(made, value=_values(made, held, known))), lost


def _asked(graphs: Sequence[QuestionGraph], owner: Sequence[int], held: Sequence[GraphNode], coder: Coder, longest: int) -> Stretch:
    """Of each row the question, and behind a separator the sentences that led to its node; together at most half a row."""
    (question,) = coder.texts([Example(texts=(graph.question,)) for graph in graphs])
    clues = coder.cut([" ".join(node.clues) for node in held])
    half = coder.room(2) // 2
    separator = coder.tokenizer.separator
    parts = []
    for row, number in enumerate(owner):
        first = question.cut.ids[question.begin[number] : question.end[number]][: min(longest, half)]
        more = clues.ids[clues.token_bounds[row] : clues.token_bounds[row + 1]][: max(half - len(first) - 1, 0)]
        parts.append(np.concatenate([first, [separator], more]) if len(more) else first)
    ids = np.concatenate(parts).astype(np.int64)
    size = bounds(map(len, parts))
    blank = np.zeros(len(ids), np.int64)
    joined = Joined(ids=ids, word_start=blank.astype(bool), start=blank, end=blank, token_bounds=size, character_bounds=np.zeros_like(size))
    language = None if question.language is None else question.language[np.array(owner, np.int64)]
    return Stretch(cut=joined, begin=size[:-1], end=size[1:], language=language)


def _places(text: Array, place: Array, length: Array, cut: Joined, which: Array, held: Sequence[GraphNode]) -> tuple[Array, Array]:
    """[total] each where a token begins and ends in its page; the title and what has no page is nowhere."""
    row = np.repeat(np.arange(len(which)), length)
    before = np.array([0 if node.page is None else len(node.page.title + _BETWEEN) for node in held])
    base = (cut.character_bounds[which] + before)[row]
    there = np.where(text == 1, place, 0)
    size = len(cut.start)
    start = np.where(text == 1, cut.start[there] if size else 0, 0) - base
    end = np.where(text == 1, cut.end[there] if size else 0, 0) - base
    paged = np.array([node.page is not None for node in held])[row]
    inside = (text == 1) & paged & (start >= 0)
    return np.where(inside, start, _NEVER), np.where(inside, end, _NEVER)


def _links(graph: QuestionGraph) -> NDArray[np.int64]:
    made = np.zeros((len(graph.nodes), len(graph.nodes)), np.int64)
    for edge in graph.edges:
        made[edge.source, edge.target] = 1
    return made


def _values(asked: HopQuestions, held: Sequence[GraphNode], known: Sequence[int]) -> Array:
    value = np.full((len(held), WIDTH), -1)
    for row, node in enumerate(held):
        part = slice(asked.rows.bounds[row], asked.rows.bounds[row + 1])
        for spans, first, last in ((node.hops, HOP_FIRST, HOP_LAST), (node.found, ANSWER_FIRST, ANSWER_LAST)):
            columns = _columns(asked.start[part], asked.end[part], spans)
            value[row, first], value[row, last] = columns
        value[row, ROLE] = (RIGHT if node.right else WRONG) if node.answer else NONE
    value[asked.groups[:-1], KIND] = known
    return value


def _columns(start: Array, end: Array, spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The first and the last token of up to SPANS spans; what the row does not hold is left out."""
    firsts, lasts = [], []
    for begin, stop in spans:
        inside = np.flatnonzero((start >= 0) & (end > begin) & (start < stop))
        if len(inside) and end[inside[-1]] >= stop:
            firsts.append(int(inside[0]))
            lasts.append(int(inside[-1]))
    fill = [-1] * SPANS
    return (firsts + fill)[:SPANS], (lasts + fill)[:SPANS]
