"""The official scores of SQuAD 1.1, SQuAD 2.0 and CMRC 2018, worked out by hand."""

from __future__ import annotations

import pytest

from plume.core.errors import PlumeError
from plume.metrics.squad import answer_scores, cmrc_scores, squad_scores


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        (["the Eiffel Tower"], "Eiffel  tower.", 1, 1),  # article, case, punctuation, white space
        (["Denver Broncos"], "the Denver Broncos of Colorado", 0, 2 * 2 / (2 + 4)),  # 2 words in common, of 2 and 4
        (["in 1066", "1066"], "1066", 1, 1),  # the best of several
        (["in 1066", "year 1066 AD"], "1066", 0, 2 / 3),  # 2·1/(2+1) beats 2·1/(3+1)
        (["yes yes no"], "yes yes yes", 0, 2 * 2 / 6),  # words count as often as they occur
        (["New-York"], "new york", 0, 0),  # punctuation leaves no space: newyork
        (["“Hamlet”"], "Hamlet", 0, 0),  # only ASCII punctuation goes
        (["Rome"], "", 0, 0),
        (["The A."], "an", 1, 0),  # 1.1's script: nothing is left of either, which is a match with no word in common
    ],
)
def test_squad_one(gold, predicted, exact, f1):
    assert squad_scores([gold], [predicted]) == pytest.approx({"exact_match": exact, "f1": f1})


def test_squad_two():
    """Right, half right, rightly none, wrongly some, wrongly none."""
    scores = squad_scores([["Rome"], ["old Rome"], [], [], ["Oslo"]], ["Rome", "Rome", "", "Bonn", ""])
    assert scores == pytest.approx(
        {
            "exact_match": 2 / 5,
            "f1": (1 + 2 / 3 + 1) / 5,
            "has_answer/exact_match": 1 / 3,
            "has_answer/f1": (1 + 2 / 3) / 3,
            "no_answer/exact_match": 1 / 2,
            "no_answer/f1": 1 / 2,
        }
    )
    # 2.0's script drops a right answer of which nothing is left, and counts the question among those with an answer
    scores = squad_scores([["The"], []], ["a", "an"])
    assert scores["f1"] == 1 and scores["has_answer/f1"] == 1 and scores["no_answer/f1"] == 1
    assert set(squad_scores([[], []], ["", "x"])) == {"exact_match", "f1", "no_answer/exact_match", "no_answer/f1"}


@pytest.mark.parametrize(
    ("gold", "predicted", "exact", "f1"),
    [
        (["《红楼梦》"], "红楼梦。", 1, 1),
        (["北京大学"], "北京的大学", 0, 2 * 2 / (4 + 5)),  # the longest stretch is 2 characters, though 4 are in common
        (["北京大学", "北大"], "北京大学校", 0, 2 * 4 / (4 + 5)),
        (["使用Wi-Fi联盟"], "WiFi 联盟", 0, 2 * 3 / (5 + 3)),  # 使 用 wifi 联 盟: the hyphen is removed, a word is one
        (["Tim's Kitchen"], "tim 's kitchen", 0, 1),  # tim, 's, kitchen; exact match sees the space
        (["3,000.5米"], "3,000.5", 0, 2 * 1 / (2 + 1)),  # a number is one word; ASCII commas and points stay
        (["他说……"], "他说", 0, 2 * 2 / (3 + 2)),  # the script lists … as two signs, and so keeps it: …… is one word
        (["。"], "，", 1, 0),  # nothing is left of either
        (["北京"], "", 0, 0),
        (["曼尼托巴省"], "曼尼托巴", 0, 2 * 4 / 9),  # DRCD
    ],
)
def test_cmrc(gold, predicted, exact, f1):
    assert cmrc_scores([gold], [predicted]) == pytest.approx({"exact_match": exact, "f1": f1})


def test_cmrc_is_a_mean_over_questions():
    assert cmrc_scores([["北京"], ["上海"], []], ["北京", "海", ""]) == pytest.approx(
        {
            "exact_match": 2 / 3,
            "f1": (1 + 2 / 3 + 1) / 3,
            "has_answer/exact_match": 1 / 2,
            "has_answer/f1": (1 + 2 / 3) / 2,
            "no_answer/exact_match": 1,
            "no_answer/f1": 1,
        }
    )


def test_the_language_of_the_answers_chooses():
    """大学 of 北京大学 is half right in Chinese, and wrong as a word of English text. Years do not vote."""
    assert answer_scores([["北京大学"], ["1898"], ["1900"], ["1901"]], ["大学", "1898", "1900", "1901"])["f1"] == pytest.approx(
        (2 / 3 + 3) / 4
    )
    assert answer_scores([["北京大学"], ["Oslo"], ["Rome"]], ["大学", "Oslo", "Rome"])["f1"] == pytest.approx(2 / 3)


def test_what_cannot_be_scored():
    with pytest.raises(PlumeError, match="2 questions, but 1 predicted"):
        squad_scores([["a"], ["b"]], ["a"])
    with pytest.raises(PlumeError, match="no questions"):
        cmrc_scores([], [])
