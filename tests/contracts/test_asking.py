"""Questions to a knowledge base from files to replies: trained on a miniature, asked alone and together, with its own and with other knowledge."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.cli import main
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.kb.building import build
from plume.kb.store import Edit, KnowledgeBase
from plume.readers.example import Example
from plume.readers.kb_questions import KnownAnswers
from plume.static.exchange import import_vectors
from plume.tuning.knowledge.nearness import vectors_hash
from plume.tuning.tuned import TunedModel

BOOKS = {f"book {letter}": (f"author {letter}", f"town {letter}") for letter in "abcdefgh"}
TRIPLES = [
    line
    for book, (author, town) in BOOKS.items()
    for line in (f"{book}\tauthor\t{author}", f"{author}\thome\t{town}", f"{book}\tyear\t1990")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, base: Any) -> Path:
    """A knowledge base, questions to it of one step and of two, and what was tuned to answer them."""
    made = tmp_path_factory.mktemp("asked")
    (made / "kb.tsv").write_text("\n".join(TRIPLES) + "\n", encoding="utf-8")
    build([made / "kb.tsv"], made / "kb").close()
    rows = [f"the author of [{book}]?\t{author}" for book, (author, _) in BOOKS.items()]
    rows += [f"the home of the author of [{book}]?\t{town}" for book, (_, town) in BOOKS.items()]
    (made / "q.tsv").write_text("\n".join(rows * 2) + "\n", encoding="utf-8")
    options: dict[str, Any] = {"epochs": 4.0, "measurements": 1, "batch": 8, "rate": 3e-3, "quiet": True, "task_options": ["hops=2"]}
    plume.tune(base("bert"), task="kbqa", train=made / "q.tsv", dev=made / "q.tsv", kb=made / "kb", out=made / "out", **options)
    return made


@pytest.fixture(scope="module")
def tuned(folder: Path) -> TunedModel:
    return plume.load(folder / "out")


def test_it_answers_in_one_step_and_in_two(tuned: TunedModel, folder: Path) -> None:
    scores = tuned.evaluate(folder / "q.tsv").scores
    assert scores["hits@1"] > 0.8 and scores["topic"] == scores["topic_named"] == 1 and scores["given_topic_hits@1"] > 0.8
    one, other = tuned.ask(["the author of book c?", "the home of the author of book d?"])
    assert one.answers == ("author c",) and other.answers == ("town d",)
    assert [step.name for step in other.steps] == ["mention", "topic", "relation 1", "relation 2", "path"]
    assert [(edge.source, edge.label, edge.target) for edge in other.graph] == [
        ("book d", "author", "author d"),
        ("author d", "home", "town d"),
    ]


def test_a_question_is_answered_alone_as_together(tuned: TunedModel) -> None:
    questions = ["the author of book c?", "what is this?", "the home of the author of book d?"]
    for alone, together in zip([tuned.ask(one) for one in questions], tuned.ask(questions), strict=True):
        assert alone.answers == together.answers and alone.score == pytest.approx(together.score, abs=1e-5)


def test_the_score_is_the_product_of_the_stages(tuned: TunedModel) -> None:
    reply = tuned.ask("the home of the author of book d?")
    by_name = {step.name: step.score for step in reply.steps}
    assert reply.score == pytest.approx(by_name["topic"] * by_name["relation 1"] * by_name["relation 2"])
    assert by_name["mention"] == pytest.approx(by_name["topic"])  # one meaning


def test_what_names_nothing_has_no_answer(tuned: TunedModel) -> None:
    reply = tuned.ask("who are you?")
    assert reply.answers == () and "nothing of the knowledge base is named" in reply.steps[-1].said
    with pytest.raises(PlumeError, match="a text that is not empty"):
        tuned.ask(" ")
    with pytest.raises(PlumeError, match="not speed=3"):
        tuned.ask("who?", speed=3)


def test_facts_are_edited_without_training(folder: Path, tuned: TunedModel, tmp_path: Path) -> None:
    with build([folder / "kb.tsv"], tmp_path / "edited") as kb:
        kb.remove([Edit(subject="book c", relation="author", object="author c")])
        kb.add([Edit(subject="book c", relation="author", object="author a")])
    reply = tuned.ask("the author of book c?", kb=str(tmp_path / "edited"))
    assert reply.answers == ("author a",) and "has been edited since" in reply.steps[0].said


def test_another_knowledge_base_is_named(folder: Path, tuned: TunedModel, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("novel x\tauthor\tsomebody\nnovel x\tyear\t1900\n", encoding="utf-8")
    build([tmp_path / "t.tsv"], tmp_path / "other").close()
    reply = tuned.ask("the author of novel x?", kb=str(tmp_path / "other"))
    assert (
        reply.answers == ("somebody",) and "is not the one of training" in reply.steps[0].said and str(folder / "kb") in reply.steps[0].said
    )
    (tmp_path / "u.tsv").write_text("novel x\tcolour\tred\n", encoding="utf-8")
    build([tmp_path / "u.tsv"], tmp_path / "unlike").close()
    with pytest.raises(PlumeError, match=r"was trained with the knowledge base .* has none of the 2 relations that it learned"):
        tuned.ask("the colour of novel x?", kb=str(tmp_path / "unlike"))
    with pytest.raises(PlumeError, match=r"no knowledge base at .*gone \(kbqa was trained with .*--kb"):
        tuned.ask("the author of novel x?", kb=str(tmp_path / "gone"))


def test_all_answers_are_scored(folder: Path, tuned: TunedModel, tmp_path: Path) -> None:
    """However many there are: none is cut off before it is counted."""
    names = [f"heir {number}" for number in range(80)]
    (tmp_path / "t.tsv").write_text("".join(f"book x\tauthor\t{name}\n" for name in names), encoding="utf-8")
    build([tmp_path / "t.tsv"], tmp_path / "kb").close()
    (example,) = [Example(texts=("the author of book x?",), answer=KnownAnswers(answers=tuple(names)))]
    task = replace(tuned.task(), kb=str(tmp_path / "kb"))
    (found,), _ = task.respond(tuned, [example])
    assert task.measure([example], [found]) == {"hits@1": 1.0, "f1": 1.0, "exact": 1.0}


def test_on_the_command_line(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def typed(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["plume", *words])
        with suppress(SystemExit):
            main()
        said = capsys.readouterr()
        assert not said.err, said.err
        return said.out

    assert "—author→  author c" in typed("ask", str(folder / "out"), "the author of book c?")
    said = [json.loads(line) for line in typed("ask", str(folder / "out"), "the author of book c?", "who?", "--json").splitlines()]
    assert said[0]["answers"] == ["author c"] and said[1]["answers"] == []
    assert typed("ask", str(folder / "out"), "the author of book c?", "-q") == "author c\n"
    assert "book c  |  author  |  author c" in typed("kb", "info", str(folder / "kb"), "book c")


def test_vectors_find_a_relation_that_shares_no_letter(folder: Path, base: Any, tmp_path: Path) -> None:
    """The network and all weights are at their start: nothing but the vectors knows that a writer is an author."""
    (tmp_path / "vectors.txt").write_text("writer 1 0.1\nauthor 1 0\nhome 0 1\nyear -1 0\ntime -1 0.1\n", encoding="utf-8")
    import_vectors(tmp_path / "vectors.txt", tmp_path / "words")
    options: dict[str, Any] = {"train": folder / "q.tsv", "kb": folder / "kb", "epochs": 0.01, "rate": 1e-9, "quiet": True}
    without = plume.tune(base("bert"), task="kbqa", out=tmp_path / "out", task_options=["read_pairs=false", "crossed=false"], **options)
    settings = ["read_pairs=false", "crossed=false", f"vectors={tmp_path / 'words'}"]
    by_vectors = plume.tune(base("bert"), task="kbqa", out=tmp_path / "near", task_options=settings, **options)
    question, other = "the writer in book c", "the time in book c"
    assert [one.answers for one in by_vectors.ask([question, other])] == [("author c",), ("1990",)]
    assert len({one.answers for one in without.ask([question, other])}) == 1

    (tmp_path / "words").rename(tmp_path / "moved")
    moved = plume.load(tmp_path / "near")
    vectors_hash.cache_clear()
    with pytest.raises(PlumeError, match=r"words, whose sentence vectors .* is not there: .*vectors=DIRECTORY"):
        moved.ask(question)
    assert moved.ask(question, vectors=str(tmp_path / "moved")).answers == ("author c",)
    with pytest.raises(PlumeError, match="not the model whose vectors"):
        moved.ask(question, vectors=str(base("bert")))


def test_what_cannot_be(base: Any, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="needs a knowledge base: --kb"):
        plume.tune(base("bert"), task="kbqa", train=folder / "q.tsv", out=tmp_path / "out")
    with pytest.raises(PlumeError, match="--kb is for tasks that look something up"):
        plume.tune(base("bert"), task="classification", train=folder / "q.tsv", kb=folder / "kb", out=tmp_path / "out")
    with pytest.raises(PlumeError, match=r"There is no knowledge base at \S*none: name one with --kb"):
        plume.tune(base("bert"), task="kbqa", train=folder / "q.tsv", kb=tmp_path / "none", out=tmp_path / "out")
    (tmp_path / "q.tsv").write_text("what is up?\tnothing\n" * 3, encoding="utf-8")
    with pytest.raises(PlumeError, match="no question of the training file leads to its answers"):
        plume.tune(base("bert"), task="kbqa", train=tmp_path / "q.tsv", kb=folder / "kb", out=tmp_path / "out")


def test_what_takes_one_pass_is_refused(folder: Path, tuned: TunedModel, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="answered in several steps"):
        plume.export_graph(folder / "out", out=tmp_path / "onnx")
    with pytest.raises(PlumeError, match="answered in several steps"):
        plume.tune("tfidf", task="kbqa", train=folder / "q.tsv", dev=folder / "q.tsv", kb=folder / "kb", out=tmp_path / "linear")


def test_the_knowledge_base_itself_is_not_changed_by_asking(folder: Path, tuned: TunedModel) -> None:
    with KnowledgeBase.open(folder / "kb") as kb:
        before = kb.fingerprint
        tuned.ask("the author of book c?")
        assert kb.fingerprint == before and kb.revision == 0
