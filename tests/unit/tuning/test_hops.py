"""Questions over several documents: files, titles, the gold graph, the loop, both systems, replies, and a run that goes on to the same bits."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.heads.cognitive import (
    AGREE,
    HOP_FIRST,
    HOP_LAST,
    KIND,
    NODE,
    OUTSIDE,
    RIGHT,
    ROLE,
    START,
    TEXT,
    WIDTH,
    WRONG,
    YES,
    CognitiveGraph,
)  # fmt: skip
from plume.heads.head import Dims
from plume.model.checkpoint import read_weights, save_model
from plume.readers.example import Example, Reading
from plume.readers.multihop import PAGES, SUPPORT, PageText, read_multihop
from plume.tasks.multihop import TASK
from plume.train import loop as loops
from plume.tuning.hops.frontier import HopSearch, explore
from plume.tuning.hops.graph import QuestionGraph, sentence_at
from plume.tuning.hops.kinds import QuestionKind, kind_of
from plume.tuning.hops.lessons import GoldGraph
from plume.tuning.hops.library import Library
from plume.tuning.hops.measuring import hop_scores
from plume.tuning.hops.rows import lay_out_graphs
from plume.tuning.options import start_from_options
from plume.tuning.rows.rows import Coder
from plume.tuning.tune import resume

PEOPLE, TOWNS = ("Anna", "Omar", "Lena", "Jack"), ("Oslo", "Rome", "Lima", "Bonn")


def row(source: random.Random, number: int = 0) -> dict[str, Any]:
    """Who a film is by is on its page, where that person lives on another."""
    people, towns = source.sample(PEOPLE, 3), source.sample(TOWNS, 3)
    context = [[name, [f"{name} paints.", f"{name} lives in {town}."]] for name, town in zip(people, towns, strict=True)]
    film = [f"Blue {number}", [f"Blue {number} is a film.", f"It is by {people[0]}."]]
    return {
        "_id": f"q{number}",
        "question": f"where lives who made Blue {number}?",
        "answer": towns[0],
        "context": [*context[:1], film, *context[1:]],
        "supporting_facts": [[film[0], 1], [people[0], 1]],
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "hotpot.json"
    source = random.Random(0)
    path.write_text(json.dumps([row(source, number) for number in range(8)]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Path:
    recipe = miniature("bert")
    made = recipe.assembly.build(recipe, vocabulary=tokenizer_for(recipe).size)
    made.initialise(1)
    folder = tmp_path_factory.mktemp("model") / "bert"
    save_model(folder, made, tokenizer_for(recipe))
    return folder


@pytest.fixture(scope="module")
def coder(miniature: Any, tokenizer_for: Any) -> Coder:
    return Coder(tokenizer_for(miniature("bert")), length=64)


def examples(file: Path) -> list[Example]:
    return list(read_multihop(file, Reading(file=file), labelled=True))


def tune(model: Path, file: Path, out: Path, **options: Any) -> Any:
    options = {"epochs": 3.0, "batch": 4, "rate": 3e-3, "measurements": 1, "length": 64} | options
    return start_from_options(model, task="multihop", train=str(file), dev=str(file), out=out, quiet=True, **options)


def test_files(file: Path, tmp_path: Path) -> None:
    first = examples(file)[0]
    assert [page.title for page in first.named[PAGES]][1] == "Blue 0" and len(first.named[PAGES]) == 4
    film = first.named[PAGES][1]
    assert film.text == f"Blue 0 is a film. It is by {first.named[SUPPORT][1][0]}."
    assert [film.text[start:][:2] for start in film.starts] == ["Bl", " I"]
    lines = tmp_path / "rows.jsonl"
    lines.write_text(
        '{"question": "谁？", "answers": ["甲", "乙"], "context": {"丙": "甲在家。乙不在。"}, "supporting_facts": ["丙"]}\n'
        '{"question": " ", "answer": "x"}\n{"question": "who?", "answer": "A", "context": [["B", []], {"title": "A", "text": "A is here."}]}\n'
    )
    reading = Reading(file=lines)
    chinese, other = read_multihop(lines, reading, labelled=True)
    assert chinese.answer == ("甲", "乙") and chinese.named[PAGES] == (PageText("丙", ("甲在家。", "乙不在。")),)
    assert [page.title for page in other.named[PAGES]] == ["A"]
    assert reading.skipped == {"empty question": 1} and reading.mended == {"documents without text": 1}


def test_empty_sentences_keep_their_numbers(tmp_path: Path) -> None:
    """By which supporting facts are named."""
    lines = tmp_path / "rows.jsonl"
    context = [["Anna", ["Anna paints.", "", "", "She lives in Oslo."]]]
    asked = {"question": "where does Anna live?", "answer": "Oslo", "context": context, "supporting_facts": [["Anna", 3]]}
    lines.write_text(json.dumps(asked) + "\n", encoding="utf-8")
    (example,) = read_multihop(lines, Reading(file=lines), labelled=True)
    (page,) = example.named[PAGES]
    assert page.text == "Anna paints. She lives in Oslo." and page.sentences[3] == " She lives in Oslo."
    place = page.text.index("Oslo")
    assert sentence_at(page, place) == 3 and sentence_at(page, 0) == 0
    gold = GoldGraph(example, Library([page]), np.random.default_rng(0))
    assert [page.text[a:b] for a, b in gold.build().nodes[0].found] == ["Oslo"]
    assert gold.graph.edges[0].sentence == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"answer": "x"}', "line 1: no 'question'"),
        ('{"question": "x"}', "no 'answer'"),
        ('{"question": "x", "answer": "y", "context": [["A"]]}', "document 0: a document is"),
        ('{"question": "x", "answer": "y", "supporting_facts": [[1, 2]]}', "a supporting fact is"),
        ("x", "not JSON"),
    ],
)
def test_what_no_file_may_hold(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(line + "\n")
    with pytest.raises(PlumeError, match=said):
        list(read_multihop(tmp_path / "rows.jsonl", Reading(file=tmp_path / "rows.jsonl"), labelled=True))


def test_titles_are_found_by_names_that_are_nearly_those() -> None:
    library = Library([PageText.of(title, "x") for title in ("Mercury (planet)", "Anna Berg", "The Blue Storm of Rome", "rain", "红楼梦")])
    found = {name: page.title for name in ("mercury", "ANNA  BERG", "Blue Storm of Rome", "《红楼梦》") if (page := library.find(name))}
    assert list(found.values()) == ["Mercury (planet)", "Anna Berg", "The Blue Storm of Rome", "红楼梦"]
    assert library.find("Storm") is None and library.find("") is None
    named = library.named_in("Did Anna Berg see rain on Mercury? 红楼梦")
    assert [page.title for page in named] == ["Anna Berg", "Mercury (planet)", "红楼梦"]  # a common word is no name


def test_kinds_of_questions() -> None:
    assert [kind_of(one, 2) for one in ("Were both there?", "Who, A or B?", "他们都在吗？", "Who wrote it?")] == [
        QuestionKind.YES_NO, QuestionKind.EITHER, QuestionKind.YES_NO, QuestionKind.SPAN,
    ]  # fmt: skip


def test_the_gold_graph_follows_the_mentions(file: Path) -> None:
    for example in examples(file):
        (film, _), (person, _) = example.named[SUPPORT]
        gold = GoldGraph(example, Library(example.named[PAGES]), np.random.default_rng(0))
        graph = gold.build()
        assert [node.name for node in graph.nodes[:3]] == [film, person, example.answer[0]] and graph.starts == 1
        page = graph.nodes[0].page
        assert page is not None and [page.text[a:b] for a, b in graph.nodes[0].hops] == [person]
        assert graph.nodes[1].clues == [f"It is by {person}."] and graph.nodes[2].right and graph.nodes[2].answer
        assert {(edge.source, edge.target) for edge in graph.into(2)} == {(0, 1), (1, 2)}
        assert sum(node.page is not None for node in graph.nodes) == 4 and sum(node.answer and not node.right for node in graph.nodes) == 2


def test_pages_that_name_each_other_end() -> None:
    """And a supporting document that is nowhere is left out, and one whose answer is nowhere is counted."""
    pages = (PageText.of("A", "A knows B."), PageText.of("B", "B knows A and C."), PageText.of("C", "C knows A and B, and has tea."))
    example = Example(texts=("what has the friend of A?",), answer=("tea",), named={SUPPORT: (("A", 0), ("B", 0), ("C", 0), ("D", 0))})
    graph = GoldGraph(example, Library(pages), np.random.default_rng(0)).build()
    assert [node.name for node in graph.nodes[:4]] == ["A", "B", "C", "tea"]
    lost = GoldGraph(Example(texts=("A?",), answer=("coffee",), named=example.named), Library(pages), np.random.default_rng(0))
    lost.build()
    assert not lost.answered


def plain_pointer(graph: Any, coder: Coder, wanted: dict[str, tuple[str, ...]]) -> Any:
    """A reader that points at certain names: what a trained System 1 would say."""

    def read(graphs: Any, nodes: Any) -> Any:
        asked, _ = lay_out_graphs("multihop", graphs, coder, longest_question=20, nodes=nodes)
        table = np.full((len(asked.rows.tokens), 7), -5.0, np.float32)
        table[asked.rows.bounds[:-1] + asked.null] = 0
        row = 0
        for one, some in zip(graphs, nodes, strict=True):
            for number in some:
                node = one.nodes[number]
                for side, names in ((0, wanted.get(node.name, ())[1:]), (2, wanted.get(node.name, ())[:1])):
                    for name in filter(None, names):
                        begin = node.page.text.index(name)
                        part = np.arange(asked.rows.bounds[row], asked.rows.bounds[row + 1])
                        inside = part[(asked.start[part] >= begin) & (asked.end[part] <= begin + len(name))]
                        table[inside[0], side] = table[inside[-1], side + 1] = 3
                row += 1
        return asked, table

    return read


def test_the_frontier_grows_and_ends(coder: Coder) -> None:
    pages = (PageText.of("Aa", "Aa knows Bb."), PageText.of("Bb", "Bb knows Aa and Cc."), PageText.of("Cc", "Cc knows Bb. Cc has tea."))
    points = {"Aa": ("", "Bb"), "Bb": ("", "Aa", "Cc"), "Cc": ("tea", "Bb")}
    for most, hops, expected in ((5, True, ["Aa", "Bb", "Cc", "tea"]), (1, True, ["Aa", "Bb"]), (5, False, ["Aa"])):
        search = HopSearch(graph=QuestionGraph("what has the friend of Aa?"), library=Library(pages))
        search.graph.start(pages[:1])
        explore([search], plain_pointer(search.graph, coder, points), most=most, longest=10, hops=hops)
        assert [node.name for node in search.graph.nodes] == expected
        edges = {(search.graph.nodes[edge.source].name, search.graph.nodes[edge.target].name) for edge in search.graph.edges}
        assert edges <= {("Aa", "Bb"), ("Bb", "Aa"), ("Bb", "Cc"), ("Cc", "Bb"), ("Cc", "tea")}
        assert (("Cc", "Bb") in edges) == (len(expected) > 2)  # a cycle, which ends
        assert search.best is not None and (search.best[1] == "tea") == (len(expected) == 4)


def test_both_systems_by_plain_code() -> None:
    torch.manual_seed(0)
    head = CognitiveGraph(reasons=0.7, comparing=0.3).build(Dims(width=6, token=torch.nn.Embedding(1, 1)))
    hidden = torch.randn(3, 4, 6)
    feature = torch.tensor([[START, TEXT, TEXT, OUTSIDE], [START, TEXT, TEXT, TEXT], [START, OUTSIDE, OUTSIDE, OUTSIDE]])
    value = torch.full((3, WIDTH), -1)
    value[0, HOP_FIRST.start], value[0, HOP_LAST.start] = 1, 2
    value[:, ROLE] = torch.tensor([0, WRONG, RIGHT])
    value[0, KIND] = YES
    links = torch.tensor([[[0.0, 1, 0], [0, 0, 1], [0, 0, 0]]])
    target = Target(index=torch.arange(12), value=value, context=torch.tensor([[0, 1, 2]]), feature=feature, links=links)
    encoded = Encoded(last=hidden)
    point = head.output(hidden).masked_fill((feature == OUTSIDE)[..., None], -1e4).log_softmax(1)
    system1 = -(point[0, 1, 0] + point[0, 2, 1] + point[0, 0, 2:].sum()) / 4 - point[1, 0].mean()
    state = hidden[:, 0]
    for _ in range(2):
        mixed = torch.stack([state[0], (2 * state[1] + state[0]) / 3, (2 * state[2] + state[1]) / 3])
        state = torch.nn.functional.gelu(head.step(mixed))
    node = head.choose(state)[:, 0]
    chosen = -node[1:].log_softmax(0)[1]
    compared = -head.agree((state[0] - state[1])[None]).sigmoid().log().sum()
    loss = head.loss(encoded, target)
    assert loss.count == 3
    assert loss.total.item() == pytest.approx((system1 + 3 * (0.7 * chosen + 0.3 * compared)).item(), rel=1e-5)
    scores = head.scores(encoded, target)
    assert torch.allclose(scores[:, :, NODE], node[:, None].expand(3, 4), atol=1e-6)
    assert scores[2, 3, AGREE] == scores[0, 0, AGREE]


def test_measures() -> None:
    named = {SUPPORT: (("A", 0), ("B", 1))}
    nodes = [{"name": "A", "page": True}, {"name": "B", "page": True}]
    rows = [Example(texts=("?",), answer=("two words",), named=named)] * 2
    one = {"answer": "two words", "supporting": [["A", 0], ["B", 1]], "nodes": nodes, "one_document": "", "system_1": "words"}
    other = {"answer": "words", "supporting": [["A", 0]], "nodes": nodes[:1], "one_document": "", "system_1": ""}
    found = hop_scores(rows, [one, other])
    assert (found["exact_match"], found["f1/supporting facts"], found["exact_match/joint"]) == (0.5, pytest.approx((1 + 2 / 3) / 2), 0.5)
    assert found["f1/joint"] == pytest.approx((1 + 2 * 0.25 / 1.25) / 2) and found["gold path"] == 1 and found["f1/one document"] == 0


def test_it_learns_answers_replies_and_is_saved(model: Path, file: Path, tmp_path: Path) -> None:
    tune(model, file, tmp_path / "out", epochs=70.0)
    tuned = plume.load(tmp_path / "out")
    measured = tuned.evaluate(file)
    assert measured.scores["f1"] > measured.scores["f1/one document"] and measured.scores["f1"] > 0.6
    assert measured.scores["f1/supporting facts"] > 0.6 and measured.scores["gold path"] > 0.6
    items = [row(random.Random(9), 3), {"question": "where lives Anna?", "context": {"Anna": "Anna lives in Rome."}}]
    found = tuned.predict(items)
    for item, one in zip(items, found, strict=True):
        (alone,) = tuned.predict([item])
        assert alone["answer"] == one["answer"] and alone["nodes"] == [
            {**node, "score": pytest.approx(node["score"], abs=1e-4)} for node in one["nodes"]
        ]
    tuned.save(tmp_path / "again")
    assert plume.load(tmp_path / "again").predict(items) == found
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps({"title": title, "text": " ".join(text)}) + "\n" for title, text in items[0]["context"]))
    reply = tuned.ask(items[0]["question"], documents=str(documents))
    assert reply.answers == (found[0]["answer"],) and reply.graph and reply.steps[0].name == "kind"
    assert {edge.source for edge in reply.graph} <= {node["name"] for node in found[0]["nodes"]}
    with pytest.raises(PlumeError, match="brings no documents"):
        tuned.predict("who?")
    with pytest.raises(PlumeError, match="no such file"):
        tuned.ask("who?", documents=str(tmp_path / "none.jsonl"))
    (tmp_path / "empty.jsonl").write_text('{"title": "A", "text": " "}\n')
    with pytest.raises(PlumeError, match="no document with text"):
        tuned.ask("who?", documents=str(tmp_path / "empty.jsonl"))
    with pytest.raises(PlumeError, match="has no setting 'beam'"):
        tuned.ask("who?", documents=str(documents), beam=3)


def test_a_killed_run_goes_on_to_the_same_bits(model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"save_every": "2steps", "patience": 99}
    tune(model, file, tmp_path / "whole", **options)
    step = loops.Loop._step

    def killed(self: Any, given: Any, position: Any, *rest: Any, **more: Any) -> Any:
        if position.spent.steps == 5:
            raise RuntimeError("killed")
        return step(self, given, position, *rest, **more)

    monkeypatch.setattr(loops.Loop, "_step", killed)
    with pytest.raises(RuntimeError):
        tune(model, file, tmp_path / "cut", **options)
    monkeypatch.undo()
    resume(tmp_path / "cut", quiet=True)
    whole, cut = read_weights(tmp_path / "whole" / "model.safetensors"), read_weights(tmp_path / "cut" / "model.safetensors")
    assert all(torch.equal(whole[key], cut[key]) for key in whole)


def test_nothing_to_learn_from(model: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "who?", "answer": "A"}\n')
    with pytest.raises(PlumeError, match="line 1: the question 'who\\?' brings no documents"):
        tune(model, tmp_path / "rows.jsonl", tmp_path / "out")
    assert TASK.called == "multihop"


def test_documents_for_all_questions(model: Path, file: Path, tmp_path: Path) -> None:
    source = random.Random(3)
    rows = [row(source, number) for number in range(4)]
    documents = tmp_path / "docs.jsonl"
    pages = {f"{title} {one['_id']}" if title in PEOPLE else title: text for one in rows for title, text in one["context"]}
    documents.write_text("".join(json.dumps({"title": title, "text": " ".join(text)}) + "\n" for title, text in pages.items()))
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(json.dumps({name: value for name, value in one.items() if name != "context"}) + "\n" for one in rows))
    tune(model, bare, tmp_path / "out", documents=documents, epochs=1.0)
    assert len(plume.load(tmp_path / "out").predict(rows[0]["question"])) == 1
    with pytest.raises(PlumeError, match="--documents are what"):
        start_from_options(model, task="qa", train=str(file), out=tmp_path / "qa", documents=documents, quiet=True)
