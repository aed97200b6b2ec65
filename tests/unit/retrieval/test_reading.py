"""Questions and documents out of files, and which passage answers which question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.readers.example import Reading
from plume.retrieval.collection import passages_of, read_passages
from plume.retrieval.pairing import Paired, filled_up, pair
from plume.retrieval.questions import SearchQuestion, read_questions
from plume.retrieval.rag.finding import load_retriever
from plume.retrieval.words import WordIndex

SQUAD = {"data": [{"title": "Rain", "paragraphs": [{"context": "Rain falls in Bergen.", "qas": [
    {"id": "1", "question": "Where does rain fall?", "answers": [{"text": "Bergen", "answer_start": 14}]},
]}]}]}  # fmt: skip
DPR = [
    {
        "question": "who?",
        "answers": ["Ann"],
        "positive_ctxs": [{"title": "A", "text": "Ann did."}],
        "hard_negative_ctxs": [{"text": "Bob did."}],
    }
]
LINE = {"question": "who?", "positive": "Ann did.", "negatives": ["Bob did."], "answer": "Ann"}


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps(DPR)),
        ("a.jsonl", json.dumps(LINE) + "\n"),
        ("a.tsv", "question\tpositive\tnegative\tanswers\nwho?\tAnn did.\tBob did.\tAnn\n"),
    ],
)
def test_every_format_says_the_same(name: str, text: str, tmp_path: Path) -> None:
    (found,) = read_questions(written(tmp_path, name, text), Reading(file=tmp_path / name))
    assert (found.question, found.answers, found.positives, found.negatives) == ("who?", ("Ann",), ("Ann did.",), ("Bob did.",))


def test_squad_and_tables_without_a_header(tmp_path: Path) -> None:
    path = written(tmp_path, "s.json", json.dumps(SQUAD))
    (found,) = read_questions(path, Reading(file=path))
    assert found.positives == ("Rain falls in Bergen.",) and found.answers == ("Bergen",)
    path = written(tmp_path, "t.tsv", "who?\tAnn|Bob\nwhere?\tthere\n")
    as_passages, as_answers = (read_questions(path, Reading(file=path), second=second) for second in ("positives", "answers"))
    assert as_passages[0].positives == ("Ann|Bob",) and as_answers[0].answers == ("Ann", "Bob")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"answers": ["x"]}\n', "line 1: no question"),
        ("a.jsonl", '{"question": "q", "positive": 3.5e1}\n{"question": "q", "positive": {"x": 1}}\n', "line 2: 'positive' holds"),
        ("a.jsonl", '{"question": "q"\n', "line 1"),
        ("a.tsv", "only a question\n", "one column"),
        ("a.tsv", "q\tp\nq\tp\tn\n", "line 2: 3 columns"),
        ("a.tsv", "", "is empty"),
    ],
)
def test_a_broken_file_is_named_with_its_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(PlumeError, match=said):
        read_questions(path, Reading(file=path))


def test_documents_are_cut_and_carry_their_title(tmp_path: Path) -> None:
    path = written(tmp_path, "d.jsonl", json.dumps({"id": "a", "title": "Rain", "text": "One two three. Four five six."}) + "\n")
    found = read_passages([path], words=3)
    assert found.texts == ["Rain\nOne two three.", "Rain\nFour five six."]
    assert found.fingerprint != read_passages([path], words=6).fingerprint


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "a", "text": "x"}, {"id": "b", "text": " "}], r"line 2: document 'b' has no text"),
        ([{"id": "a", "title": "x"}], "line 1: there is no field 'text'"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "line 2: the id 'a' was given before, at .*line 1"),
    ],
)
def test_bad_documents_are_named_with_their_line(lines: list[dict[str, str]], said: str, tmp_path: Path) -> None:
    path = written(tmp_path, "d.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    with pytest.raises(PlumeError, match=said):
        read_passages([path], words=100)


def test_no_documents(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="is empty"):
        read_passages([written(tmp_path, "d.jsonl", "")], words=100)


def test_hard_negatives_hold_no_answer_and_given_ones_come_first() -> None:
    passages = passages_of(["the cat sat in Rome", "the cat sat in Paris", "the cat in rome again", "a dog", "the cat sat"])
    asked = SearchQuestion(question="where sat the cat?", answers=("Rome",), positives=("the cat sat in Rome",), negatives=("a dog",))
    (found,) = pair([asked], passages, WordIndex(passages.texts), negatives=2).pairs
    assert found.right == (0,) and found.wrong[0] == 3 and found.wrong[1] in (1, 4), "a given one, and none with the answer"


def test_a_question_without_a_passage_gets_the_first_that_holds_its_answer() -> None:
    passages = passages_of(["the cat sat", "the cat sat in Rome", "Rome"])
    asked = SearchQuestion(question="where sat the cat?", answers=("Rome",), place="q.tsv, line 1")
    (found,) = pair([asked], passages, WordIndex(passages.texts), negatives=1).pairs
    assert found.right == (1,) and found.wrong == (0,)


def test_of_a_document_that_was_cut_the_passages_with_the_answer(tmp_path: Path) -> None:
    text = "我们在河边。老师喜欢苹果。小猫看见一封信。"
    path = written(tmp_path, "d.jsonl", json.dumps({"id": "a", "text": text}) + "\n")
    passages = read_passages([path], words=7)
    assert len(passages) == 3
    asked = SearchQuestion(question="谁？", answers=("苹果",), positives=(text,))
    assert pair([asked], passages, None, negatives=0).pairs[0].right == (1,)


def test_questions_whose_passage_is_nowhere_are_counted_and_refused_where_all_are() -> None:
    passages = passages_of(["one", "two"])
    here, gone = (SearchQuestion(question="?", answers=("x",), positives=(text,), place="q.tsv, line 4") for text in ("one", "three"))
    made = pair([here, gone], passages, None, negatives=0)
    assert len(made.pairs) == 1 and made.lines("training") == [
        "training: 1 questions are left out: the passage stands in none of the documents"
    ]
    with pytest.raises(PlumeError, match=r"q\.tsv, line 4: of none of the 1 questions is a passage known"):
        pair([gone], passages, None, negatives=0)


def test_negatives_are_filled_up_by_chance_that_follows_from_the_seed() -> None:
    pairs = [Paired(asked=SearchQuestion(question="?"), right=(0,), wrong=(2,)) for _ in range(50)]
    hard, drawn = (filled_up(pairs, 9, negatives=2, random=random, seed=1) for random in (False, True))
    assert all(one[0] == 2 and len(one) == 2 and 0 not in one for one in hard)
    assert drawn == filled_up(pairs, 9, negatives=2, random=True, seed=1) and len({one for pair in drawn for one in pair}) == 8


def test_a_model_that_was_tuned_for_something_else_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PlumeError, match="was tuned for a task, and not to find passages: plume tune MODEL --task retrieval"):
        load_retriever(tmp_path)
