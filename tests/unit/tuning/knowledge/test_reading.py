"""Files of questions, in the formats that people have."""

from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.readers.kb_questions import KnownAnswers, read_kb_questions


def read(folder: Path, text: str, *, name: str = "q.tsv", labelled: bool = True) -> list[Example]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(read_kb_questions(path, Reading(file=path), labelled=labelled))


@pytest.mark.parametrize(
    ("text", "question", "said"),
    [
        ("who made X?\tAda|Ben |Ada\n", "who made X?", KnownAnswers(answers=("Ada", "Ben"))),
        ("who made [X], then\tAda\tmovie_to_director\n", "who made X, then", KnownAnswers(answers=("Ada",), topic="X")),
        (
            '{"question": "q", "answers": ["a", 3], "topic": "X", "path": [["by", true]]}',
            "q",
            KnownAnswers(answers=("a", "3"), topic="X", path=(("by", True),)),
        ),
        ('[{"qText": "q", "qId": "w1", "answers": "a"}]', "q", KnownAnswers(answers=("a",))),
        ('{"question": "q", "answer": "a", "triple": ["X", "by", "a"]}', "q", KnownAnswers(answers=("a",), topic="X", path=(("by", False),))),
        ("Q1\tR276\tQ2\twhat is in it\n", "what is in it", KnownAnswers(answers=("Q2",), topic="Q1", path=(("P276", True),))),
        (
            "<question id=1>\t谁写的\n<triple id=1>\t书 ||| 作者 ||| 甲\n<answer id=1>\t甲\n=====\n",
            "谁写的",
            KnownAnswers(answers=("甲",), topic="书", path=(("作者", False),)),
        ),
    ],
)  # fmt: skip
def test_every_format(tmp_path: Path, text: str, question: str, said: KnownAnswers) -> None:
    (example,) = read(tmp_path, text)
    assert example.texts == (question,) and example.answer == said
    assert read(tmp_path, text, labelled=False)[0].answer is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tb\nonly a question\n", "line 2: a question without its answers"),
        ('{"answers": ["a"]}', "line 1: there is no question"),
        ('{"question": "q"}', "line 1: there are no answers"),
        ('{"question": "q", "answers": {"a": 1}}', "line 1: the answers are no list"),
        ("<question id=1>\tq\n<answer id=1>\ta\nodd\n", "line 3: no <question id"),
        ("<question id=1>\tq\n<question id=2>\tq\n", "line 1: this question has no <answer"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "q", "answers": []}\n{"question": "r", "answers": ["a"]}\n',
        "q\t |\nr\ta\n",
        "<question id=1>\tq\n<answer id=1>\t\n<question id=2>\tr\n<answer id=2>\ta\n",
    ],
)
def test_a_question_whose_answers_are_empty_is_counted_and_nothing_to_score(tmp_path: Path, text: str) -> None:
    path = tmp_path / "q.txt"
    path.write_text(text, encoding="utf-8")
    reading = Reading(file=path)
    (example,) = read_kb_questions(path, reading, labelled=True)
    assert example.texts == ("r",) and reading.read == 1
    assert reading.skipped == {"no answer": 1} and reading.where["no answer"].endswith("line 1")


def test_plain_lines_are_questions_without_answers(tmp_path: Path) -> None:
    assert [one.texts[0] for one in read(tmp_path, "who?\n\nwhen?\n", labelled=False)] == ["who?", "when?"]
