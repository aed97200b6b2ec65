"""The task: answers over several documents, each with the graph that led to it (CogQA, Ding et al. 2019, arXiv:1905.05460)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.cognitive import AGREE, NODE, PREFER, CognitiveGraph
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.kb.names import flat, normalised
from plume.metrics.resampled.measures import Measures
from plume.metrics.resampled.texts import answer_rows
from plume.readers.example import Example, Reading
from plume.readers.multihop import PAGES, pages_of, read_multihop
from plume.text.languages import has_han
from plume.tuning.asked import AskedOf, Edge, Reply, Stage
from plume.tuning.hops.frontier import HopSearch, explore
from plume.tuning.hops.graph import GraphEdge, QuestionGraph, sentence_at
from plume.tuning.hops.kinds import YES_NO, QuestionKind, either, kind_of
from plume.tuning.hops.lessons import gold_graphs
from plume.tuning.hops.library import Library, read_library
from plume.tuning.hops.measuring import hop_scores
from plume.tuning.hops.rows import HopQuestions, lay_out_graphs
from plume.tuning.rows.questions import Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.task import NOTHING, Answering, Prediction, Readable, Responses, Task

_AT_ONCE = 256  # questions whose graphs grow together
_OPTIONS = ("most_pages", "longest_answer", "system2", "hops")  # what `plume ask --set` may change


@dataclass(frozen=True, kw_only=True)
class MultiHopAnswering(Task):
    """System 1 reads a page after the other, and points at what to read next and at what may be the answer; System 2 chooses by the whole graph."""

    reads: ClassVar[str] = "HotpotQA's JSON; JSONL"
    right_by: ClassVar[str | None] = "exact_match"

    documents: str = ""  # a JSONL file of documents, for questions that bring none
    longest_question: int = 64  # tokens
    longest_answer: int = 10  # and of what is followed
    most_pages: int = 5  # that join a graph beside those that the question names
    hops: bool = True  # else only the pages that the question names are read: the baseline of one document
    system2: bool = True  # else the surest span is the answer
    reasons: float = 0.5  # weight of System 2's loss
    compares: bool = False  # were there yes-or-no questions in training?
    chooses: bool = False  # … and such as ask for one of two?

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return read_multihop(paths[0], reading, labelled=labelled)

    def learned(self, examples: Sequence[Example]) -> Self:
        return replace(
            self,
            compares=any(normalised(one.answer[0]) in YES_NO for one in examples),
            chooses=any(either(one.texts[0]) and flat(one.answer[0]) in flat(one.texts[0]) for one in examples),
        )

    def example(self, item: Any) -> Example:
        question, context = (item.get("question"), item.get("context")) if isinstance(item, dict) else (item, None)
        if not isinstance(question, str):
            raise PlumeError(f'{self.called} reads {{"question": "…", "context": [["title", ["sentence", "…"]]]}}, not {str(item)[:60]!r}.')
        return Example(texts=(question,), named={PAGES: pages_of(context, self.called)})

    def in_words(self, examples: Sequence[Example]) -> None:
        return None

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return CognitiveGraph(dropout=dropout, reasons=self.reasons)

    # Training

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        return self._lesson(examples, coder, 0)

    def renewed(self, model: Answering, examples: Sequence[Example], epoch: int) -> Questions | None:
        """With other pages and answers that are wrong."""
        return self._lesson(examples, model.coder(), epoch)[0]

    def _lesson(self, examples: Sequence[Example], coder: Coder, epoch: int) -> tuple[Questions, Counter[str]]:
        libraries = self._libraries(examples)
        if any(example.answer is None for example in examples):
            graphs = [self._begin(example, library).graph for example, library in zip(examples, libraries, strict=True)]
            asked, cut = lay_out_graphs(self.called, graphs, coder, longest_question=self.longest_question)
            return asked, Counter({f"documents cut to {coder.length} tokens": cut})
        gold = gold_graphs(examples, libraries, epoch=epoch)
        asked, cut = lay_out_graphs(
            self.called, [one.graph for one in gold], coder, longest_question=self.longest_question, known=[one.known for one in gold]
        )
        lost = sum(not one.answered for one in gold)
        return asked, Counter({f"documents cut to {coder.length} tokens": cut, "questions whose answer no document holds": lost})

    def _libraries(self, examples: Sequence[Example], shared: Library | None = None) -> list[Library]:
        """Of each question: its own documents, or those that all share."""
        if shared is None and self.documents:
            shared = _library(self.documents)
        found = []
        for example in examples:
            pages = example.named.get(PAGES, ())
            if not pages and shared is None:
                where = f"line {example.line}: " if example.line else ""
                raise PlumeError(
                    f"{self.called}: {where}the question {example.texts[0][:60]!r} brings no documents: give it a 'context', or documents for all: "
                    "plume ask --documents docs.jsonl, plume tune --documents docs.jsonl."
                )
            found.append(Library(pages) if pages else shared)
        return [one for one in found if one is not None]

    # Answers

    def _begin(self, example: Example, library: Library) -> HopSearch:
        graph = QuestionGraph(example.texts[0])
        nearest = library.named_in(example.texts[0]) or [page for page in (library.nearest(example.texts[0]),) if page is not None]
        graph.start(nearest)
        return HopSearch(graph=graph, library=library)

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        """The graphs grow, then System 2 looks at each as a whole."""
        coder, found, cut = model.coder(), [], 0
        libraries = self._libraries(examples)
        for first in range(0, len(examples), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            searches = [self._begin(example, library) for example, library in zip(examples[part], libraries[part], strict=True)]
            cut += self._explored(model, searches, coder)
            found += self._chosen(model, searches, coder)
        return found, Counter({f"documents cut to {coder.length} tokens": cut})

    def _explored(self, model: Answering, searches: Sequence[HopSearch], coder: Coder) -> int:
        lost = 0

        def read(graphs: Sequence[QuestionGraph], nodes: Sequence[Sequence[int]]) -> tuple[HopQuestions, NDArray[np.float32]]:
            nonlocal lost
            asked, cut = lay_out_graphs(self.called, graphs, coder, longest_question=self.longest_question, nodes=nodes)
            lost += cut
            return asked, model.table(asked)

        explore(searches, read, most=self.most_pages, longest=self.longest_answer, hops=self.hops)
        return lost

    def _chosen(self, model: Answering, searches: Sequence[HopSearch], coder: Coder) -> list[Prediction]:
        asked, _ = lay_out_graphs(self.called, [search.graph for search in searches], coder, longest_question=self.longest_question)
        said = model.table(asked)[asked.rows.bounds[:-1]]  # [R, 7]: what is said of a node stands at every token
        return [
            self._prediction(search, said[first:last])
            for search, first, last in zip(searches, asked.groups[:-1].tolist(), asked.groups[1:].tolist(), strict=True)
        ]

    def _prediction(self, search: HopSearch, said: NDArray[np.float32]) -> Prediction:
        graph = search.graph
        kind = self._kind(graph)
        for node, score in zip(graph.nodes, said[:, NODE].tolist(), strict=True):
            node.score = round(score, 6) if self.system2 else round(node.score, 6)
        answer, score, winner = _COMPARED.get(kind, _of_nodes)(search, said)
        edges = graph.into(winner) if winner is not None else []
        support = [(graph.nodes[edge.source].name, edge.sentence) for edge in edges]
        if kind is not QuestionKind.SPAN:
            support = [(node.name, 0) for node in graph.nodes[:2]]
        elif not edges and search.best is not None:
            support = _where(graph, search.best)
        return {
            "answer": answer,
            "score": round(score, 6),
            "kind": str(kind),
            "supporting": [list(fact) for fact in dict.fromkeys(support)],
            "nodes": [{"name": one.name, "page": one.page is not None, "answer": one.answer, "score": one.score} for one in graph.nodes],
            "edges": [[edge.source, edge.target, edge.sentence] for edge in graph.edges],
            "path": [[edge.source, edge.target, edge.sentence] for edge in edges],
            "one_document": "" if search.alone is None else search.alone[1],
            "system_1": "" if search.best is None else search.best[1],
        }

    def _kind(self, graph: QuestionGraph) -> QuestionKind:
        kind = kind_of(graph.question, graph.starts)
        known = {QuestionKind.SPAN: True, QuestionKind.YES_NO: self.compares, QuestionKind.EITHER: self.chooses}
        return kind if known[kind] else QuestionKind.SPAN

    def ask(self, model: Answering, questions: Sequence[str], given: AskedOf) -> list[Reply]:
        """With every hop that was made, and the graph."""
        given.require_documents_only(self.called)
        task = replace(self, **given.settings(self, _OPTIONS), **({"documents": given.documents} if given.documents else {}))
        examples = [Example(texts=(question,)) for question in questions]
        found, _ = task.respond(model, examples)
        libraries = task._libraries(examples)
        return [_reply(question, one, library) for question, one, library in zip(questions, found, libraries, strict=True)]

    # Measures

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return hop_scores(examples, predictions)

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return answer_rows([list(example.answer) for example in examples], [one["answer"] for one in predictions])

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return " / ".join(example.answer) or NOTHING, {model: one["answer"] or NOTHING for model, one in given.items()}


def _library(path: str) -> Library:
    """Read once, as long as the file stays as it is."""
    file = Path(path)
    return _read_library(file, file.stat().st_mtime_ns if file.is_file() else 0)


@functools.lru_cache(maxsize=4)
def _read_library(file: Path, _changed: int) -> Library:
    return read_library([file])


Chosen = tuple[str, float, int | None]  # the answer, how sure, its node


def _of_nodes(search: HopSearch, said: NDArray[np.float32]) -> Chosen:
    """The best of the nodes that may be the answer; without any, the span that comes nearest."""
    nodes = [(node.score, number) for number, node in enumerate(search.graph.nodes) if node.answer]
    if not nodes:
        return ("", 0.0, None) if search.best is None else (search.best[1], _sure(search.best[0]), None)
    scores = np.array([score for score, _ in nodes])
    shares = np.exp(scores - scores.max())
    best = int(scores.argmax())
    number = nodes[best][1]
    return search.graph.nodes[number].name, float(shares[best] / shares.sum()), number


def _yes_or_no(search: HopSearch, said: NDArray[np.float32]) -> Chosen:
    agree = float(said[0, AGREE])
    words = ("否", "是") if has_han(search.graph.question) else ("no", "yes")
    return words[int(agree > 0)], _sure(abs(agree)), None


def _one_of_two(search: HopSearch, said: NDArray[np.float32]) -> Chosen:
    prefer = float(said[0, PREFER])
    number = 0 if prefer > 0 else 1
    return search.graph.nodes[number].name, _sure(abs(prefer)), number


_COMPARED = {QuestionKind.YES_NO: _yes_or_no, QuestionKind.EITHER: _one_of_two}


def _sure(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def _where(graph: QuestionGraph, best: tuple[float, str, int, int]) -> list[tuple[str, int]]:
    """The fact that a span stands in, and those that led to its page."""
    node = graph.nodes[best[2]]
    if node.page is None:
        return []
    return [*((graph.nodes[edge.source].name, edge.sentence) for edge in graph.into(best[2])), (node.name, sentence_at(node.page, best[3]))]


def _reply(question: str, one: Prediction, library: Library) -> Reply:
    nodes = one["nodes"]

    def edge(found: GraphEdge) -> Edge:
        page = library.find(nodes[found.source]["name"])
        said = page.sentences[found.sentence].strip() if page is not None and found.sentence < len(page.sentences) else ""
        return Edge(source=nodes[found.source]["name"], label=said, target=nodes[found.target]["name"])

    on_the_way = [GraphEdge(*some) for some in one["path"]]
    steps = [Stage(name="kind", said=one["kind"], score=1.0)]
    for number, node in enumerate(nodes):
        name = "answer?" if node["answer"] else "page" if any(some[1] == number for some in one["edges"]) else "start"
        steps.append(Stage(name=name, said=node["name"], score=node["score"]))
    others = [GraphEdge(*some) for some in one["edges"] if some not in one["path"]]
    return Reply(
        question=question,
        answers=(one["answer"],) if one["answer"] else (),
        score=one["score"],
        steps=tuple(steps),
        graph=tuple(edge(some) for some in [*on_the_way, *others]),
    )
