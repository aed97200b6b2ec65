"""Phrases: the score by hand, left to right, names, passes."""

from __future__ import annotations

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static.phrases import Phrases
from plume.static.text import Vocabulary, WordText


def made(*sentences: str) -> tuple[WordText, Vocabulary]:
    lines = [sentence.split() for sentence in sentences]
    words = [word for line in lines for word in line]
    names = sorted(set(words), key=lambda word: (-words.count(word), word))
    ids = np.array([names.index(word) for word in words], np.int32)
    start = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    return WordText(ids=ids, start=start), Vocabulary(words=tuple(names), counts=np.array([words.count(name) for name in names]))


def shown(text: WordText, vocabulary: Vocabulary) -> list[str]:
    assert (np.bincount(text.ids, minlength=len(vocabulary)) == vocabulary.counts).all()
    return [" ".join(vocabulary.words[word] for word in line) for line in np.split(text.ids, text.start[1:-1])]


def test_frequent_bigrams_are_joined_within_sentences() -> None:
    text = made("new york is big", "i saw new york", "new", "york was new")
    # new york: (2 - 1) / (4 · 3) · 12 = 1; is big, i saw, saw new, york is …: fewer
    assert shown(*Phrases(delta=1, threshold=0.99).apply(*text)) == ["new_york is big", "i saw new_york", "new", "york was new"]
    assert shown(*Phrases(delta=1, threshold=1.0).apply(*text)) == ["new york is big", "i saw new york", "new", "york was new"]
    assert shown(*Phrases(delta=2, threshold=0.0).apply(*text))[0] == "new york is big"  # discounted to nothing


def test_joins_do_not_overlap_and_go_from_the_left() -> None:
    text = made("a a a a a", "b")
    assert shown(*Phrases(delta=0, threshold=0.5).apply(*text)) == ["a_a a_a a", "b"]


def test_a_second_pass_makes_longer_phrases() -> None:
    text = made(*["new york times x"] * 4, "x", "x", "x")
    once, twice = (shown(*Phrases(delta=1, threshold=0.9, passes=passes).apply(*text)) for passes in (1, 2))
    assert once[0] == "new_york times_x" or once[0] == "new_york times x"
    assert twice[0].startswith("new_york_times")


def test_chinese_is_joined_without_a_sign_and_meets_words_that_are_there() -> None:
    text = made("北京 大学 x", "北京 大学 y", "北京大学 z", "大学", "iphone 手机", "iphone 手机")
    found, vocabulary = Phrases(delta=1, threshold=0.9).apply(*text)
    assert shown(found, vocabulary) == ["北京大学 x", "北京大学 y", "北京大学 z", "大学", "iphone_手机", "iphone_手机"]
    assert vocabulary.counts[vocabulary.index["北京大学"]] == 3 and "北京" not in vocabulary.index


def test_later_texts_are_joined_by_the_vocabulary() -> None:
    index = {"new_york": 0, "new_york_times": 1, "北京大学": 2}
    assert Phrases(passes=2).join(["the", "new", "york", "times", "in", "北京", "大学"], index) == [
        "the",
        "new_york_times",
        "in",
        "北京大学",
    ]
    assert Phrases(passes=1).join(["new", "york", "times"], index) == ["new_york", "times"]
    assert Phrases().join([], index) == []


def test_empty_text_and_bad_settings() -> None:
    assert shown(*Phrases().apply(*made("a b", "a"))) == ["a b", "a"]
    with pytest.raises(PlumeError, match="passes=0"):
        Phrases(passes=0)
