"""The cognitive graph of a question: pages and possible answers, and by which sentence each was reached."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from plume.kb.names import flat, normalised, without_bracket
from plume.readers.multihop import PageText

MOST_CLUES = 4  # sentences that a node is told; a cycle of pages ends when nobody has a new one


@dataclass(kw_only=True)
class GraphNode:
    """A page, or a name without one."""

    name: str
    page: PageText | None = None
    clues: list[str] = field(default_factory=list)  # sentences that led here
    answer: bool = False  # may it be the answer?
    score: float = 0.0  # System 1's, of the span that may be the answer
    hops: list[tuple[int, int]] = field(default_factory=list)  # in training: spans of the page's text that are to be followed
    found: list[tuple[int, int]] = field(default_factory=list)  # … and those that are the answer
    right: bool = False  # … and is it the answer itself?


@dataclass(frozen=True)
class GraphEdge:
    """From a node, by a sentence of its page, to another."""

    source: int
    target: int
    sentence: int


class QuestionGraph:
    """Nodes in the order in which they were found; the first `starts` are those that the question names."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self.starts = 0
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int | None:
        """Of the node of that name."""
        return self._numbers.get(normalised(name))

    def add(self, name: str, page: PageText | None = None) -> int:
        """The node of that name, which may be there already."""
        found = self.number(name)
        if found is not None:
            node = self.nodes[found]
            node.page = node.page or page
            return found
        self._numbers[normalised(name)] = len(self.nodes)
        self.nodes.append(GraphNode(name=name, page=page))
        return len(self.nodes) - 1

    def start(self, pages: Iterable[PageText]) -> None:
        """With the pages that the question names."""
        for page in pages:
            self.add(page.title, page)
        self.starts = len(self.nodes)

    def link(self, source: int, target: int, place: int) -> bool:
        """By the sentence at a place of the source's page; is it news to the target?"""
        page = self.nodes[source].page
        if page is None or source == target:
            return False
        sentence = sentence_at(page, place)
        edge = GraphEdge(source, target, sentence)
        if edge in self.edges:
            return False
        self.edges.append(edge)
        clue, node = page.sentences[sentence].strip(), self.nodes[target]
        if clue in node.clues or len(node.clues) >= MOST_CLUES:
            return False
        node.clues.append(clue)
        return True

    def into(self, target: int) -> list[GraphEdge]:
        """The edges that lead to a node, and to those before it, back to the start."""
        found: list[GraphEdge] = []
        seen, open_ = {target}, [target]
        while open_:
            here = open_.pop()
            for edge in self.edges:
                if edge.target == here:
                    found.append(edge)
                    if edge.source not in seen:
                        seen.add(edge.source)
                        open_.append(edge.source)
        return sorted(found, key=lambda edge: (edge.source, edge.target, edge.sentence))


def sentence_at(page: PageText, place: int) -> int:
    """The number of the sentence in which a character stands."""
    return sum(start <= place for start in page.starts) - 1


def mentions(text: str, name: str) -> list[tuple[int, int]]:
    """Where a name stands in a text as words of its own, whatever its case; if it does not, without the bracket behind it.

    >>> mentions("Rome (film) is no Roman film. rome!", "Rome")
    [(0, 4), (30, 34)]
    """
    plain = normalised(name)
    for one in (plain, without_bracket(plain)):
        if one:
            before, after = (r"(?<!\w)" if _worded(one[0]) else "", r"(?!\w)" if _worded(one[-1]) else "")
            found = [match.span() for match in re.finditer(before + re.escape(one) + after, flat(text))]
            if found:
                return found
    return []


def _worded(character: str) -> bool:
    """Is it of a script that sets words apart?"""
    return character.isalnum() and ord(character) < 0x2E80
