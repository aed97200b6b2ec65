"""What is learned from a question whose supporting documents are known: its gold graph, with pages and answers that are wrong beside (CogQA §3.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from plume.heads.cognitive import FIRST, NO, SECOND, SPANS, YES
from plume.kb.names import normalised
from plume.readers.example import Example
from plume.readers.multihop import SUPPORT, WHOLE, PageText
from plume.tuning.hops.graph import QuestionGraph, mentions, sentence_at
from plume.tuning.hops.kinds import YES_NO, QuestionKind, chosen_of_two, kind_of
from plume.tuning.hops.library import Library

_NAMES = re.compile(r"[A-Z][\w.'’-]*(?: (?:of |the |de |von )?[A-Z][\w.'’-]*)*|\d{2,}|[\u4e00-\u9fff]{2,4}")
_WRONG = 2  # pages and answers of each kind that are wrong, a question


class GoldGraph:
    """Built page by page from those that the question names, along their mentions of each other; a page that is there already gets no second
    way in, so that pages which name each other end."""

    def __init__(self, example: Example, library: Library, chance: np.random.Generator) -> None:
        self.example, self.library, self.chance = example, library, chance
        self.support: tuple[tuple[str, int], ...] = example.named.get(SUPPORT, ())
        found = [library.find(title) for title, _ in self.support]
        self.gold = list({page.title: page for page in found if page is not None}.values())
        self.graph = QuestionGraph(example.texts[0])
        self.known = -1  # what the head is told of the question's kind
        if not self.gold:
            self.gold = [page for page in library.pages.values() if self._answers_in(page)][:1]

    @property
    def answered(self) -> bool:
        """Is there a page that holds the answer, or a comparison of two?"""
        return any(node.found for node in self.graph.nodes) or self.known >= 0

    def build(self) -> QuestionGraph:
        """With everything that is learned from it."""
        graph = self.graph
        named = [page for page in self.gold if mentions(self.example.texts[0], page.title)]
        graph.start(named or self.gold[:1])
        self._hops()
        for page in self.gold:
            graph.add(page.title, page)  # what nothing leads to
        kind = kind_of(self.example.texts[0], graph.starts)
        self._compare(kind)
        if self.known < 0:
            self._answers()
        self._wrong_pages()
        self._wrong_answers()
        return graph

    def _hops(self) -> None:
        for place, page in self._pages():
            for other in self.gold:
                if self.graph.number(other.title) is None and (found := mentions(page.text, other.title)):
                    span = self._supporting(page, found)[0]
                    self.graph.link(place, self.graph.add(other.title, other), span[0])
                    self.graph.nodes[place].hops.append(span)

    def _pages(self) -> Iterator[tuple[int, PageText]]:
        """Those of the graph, also the ones that join it meanwhile."""
        place = 0
        while place < len(self.graph.nodes):
            page = self.graph.nodes[place].page
            if page is not None:
                yield place, page
            place += 1

    def _supporting(self, page: PageText, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those in sentences that support the answer, if there are any."""
        sentences = {number for title, number in self.support if number != WHOLE and normalised(title) == normalised(page.title)}
        inside = [span for span in spans if sentence_at(page, span[0]) in sentences]
        return inside or spans

    def _compare(self, kind: QuestionKind) -> None:
        answers: tuple[str, ...] = self.example.answer
        if kind is QuestionKind.YES_NO and (said := YES_NO.get(normalised(answers[0]))) is not None:
            self.known = YES if said else NO
        if kind is QuestionKind.EITHER:
            first, second = (self.graph.nodes[number].name for number in (0, 1))
            chosen = chosen_of_two(answers, (first, second))
            self.known = -1 if chosen is None else (FIRST, SECOND)[chosen]

    def _answers_in(self, page: PageText) -> list[tuple[int, int]]:
        spans = [self._supporting(page, found)[0] for answer in self.example.answer if (found := mentions(page.text, answer))]
        return sorted(set(spans))[:SPANS]

    def _answers(self) -> None:
        for place, page in self._pages():
            node = self.graph.nodes[place]
            node.found = self._answers_in(page)
            for begin, end in node.found[:1]:
                number = self.graph.add(page.text[begin:end])
                self.graph.link(place, number, begin)
                self.graph.nodes[number].answer = self.graph.nodes[number].right = True

    def _wrong_pages(self) -> None:
        """Pages that a gold one mentions first."""
        others = [page for page in self.library.pages.values() if self.graph.number(page.title) is None]
        if len(others) > 50:
            others = [others[number] for number in self.chance.choice(len(others), 50, replace=False).tolist()]
        ways = {page.title: self._way_to(page) for page in others}
        order = self.chance.permutation(len(others)).tolist()
        for page in sorted((others[number] for number in order), key=lambda page: ways[page.title] is None)[:_WRONG]:
            number, way = self.graph.add(page.title, page), ways[page.title]
            if way is not None:
                self.graph.link(way[0], number, way[1])

    def _way_to(self, page: PageText) -> tuple[int, int] | None:
        for number, node in enumerate(self.graph.nodes):
            if node.page is not None and (found := mentions(node.page.text, page.title)):
                return number, found[0][0]
        return None

    def _wrong_answers(self) -> None:
        """Names and numbers of the pages that are neither right nor pages."""
        right = {normalised(answer) for answer in self.example.answer}
        candidates = [
            (number, match.group(), match.start())
            for number, node in enumerate(self.graph.nodes)
            if node.page is not None
            for match in _NAMES.finditer(node.page.text)
            if normalised(match.group()) not in right and self.graph.number(match.group()) is None
        ]
        for pick in self.chance.permutation(len(candidates))[:_WRONG].tolist():
            source, name, begin = candidates[pick]
            number = self.graph.add(name)
            self.graph.link(source, number, begin)
            self.graph.nodes[number].answer = True


def gold_graphs(examples: Sequence[Example], libraries: Sequence[Library], *, epoch: int) -> list[GoldGraph]:
    """Of each example; what is drawn by chance follows from the epoch and the example's place."""
    made = []
    for number, (example, library) in enumerate(zip(examples, libraries, strict=True)):
        gold = GoldGraph(example, library, np.random.default_rng([epoch, number]))
        gold.build()
        made.append(gold)
    return made
