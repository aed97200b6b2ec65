"""Which of a model's languages a text is in: by script, by words, or nobody knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.text.known_languages import MARGIN, Languages, scripts_for
from plume.text.languages import count_scripts, scripts_of

XNLI = Languages.named(["ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh"])


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Ein schöner Hund", "latin"), ("这是中文", "han"), ("ひらがなとカタカナ", "kana"), ("한국어 문장", "hangul"), ("по-русски", "cyrillic"),
        ("Ελληνικά", "greek"), ("العربية", "arabic"), ("עברית", "hebrew"), ("हिन्दी", "devanagari"), ("ภาษาไทย", "thai"), ("தமிழ்", "tamil"),
    ],
)  # fmt: skip
def test_scripts(text: str, script: str) -> None:
    assert scripts_of(count_scripts(text)) == [script]


def test_a_foreign_word_does_not_change_the_script() -> None:
    assert scripts_of(count_scripts("我喜欢用 Python 编程"))[0] == "han"
    assert XNLI.find("我喜欢用 Python 编程", []) == XNLI.number("zh")
    assert XNLI.find("The word 猫 means cat in Chinese.", []) is None  # Latin has seven languages here
    assert scripts_of(count_scripts("3.14 % – 😀")) == []


@pytest.mark.parametrize(("text", "name"), [("Καλημέρα", "el"), ("नमस्ते", "hi"), ("สวัสดี", "th"), ("你好", "zh")])
def test_a_script_of_one_language_tells_it(text: str, name: str) -> None:
    assert XNLI.names[XNLI.find(text, []) or 0] == name


@pytest.mark.parametrize("text", ["Добър ден", "سلام", "Hello.", "", "12", "한국어"])
def test_a_script_of_several_or_of_none_tells_nothing(text: str) -> None:
    assert XNLI.find(text, []) is None


def test_japanese_is_told_from_chinese_by_its_kana() -> None:
    both = Languages.named(["ja", "zh"])
    assert both.find("猫が好きです", []) == 0
    assert both.find("我喜欢猫", []) is None  # Han is Japanese too
    assert scripts_for("JA_jp") == {"kana", "han"}


def counted() -> Languages:
    """Token 0 is English, 1 German, 2 in both, 3 in none, 4 nearly always English."""
    counts = np.array([[0, 400, 500, 0, 4], [400, 0, 500, 0, 50]])
    return Languages(names=("de", "en"), scripts=(frozenset({"latin"}),) * 2, counts=counts)


def test_words_tell_where_scripts_do_not() -> None:
    known = counted()
    assert known.find("the", [0]) == 1 and known.find("der", [1]) == 0
    assert known.find("taxi", [2]) is None and known.find("xyz", [3] * 50) is None and known.find("", []) is None
    odds = np.log((50.5 / 952.5) / (4.5 / 906.5))  # one such word speaks for English with so many nats
    assert odds < MARGIN < 2 * odds
    assert known.find("so", [4]) is None and known.find("so so", [4, 4]) == 1
    assert known.find("der taxi", [1, 2, 2, 2]) == 0


def test_a_language_without_words_is_not_ruled_out_by_those_of_others() -> None:
    known = counted()
    more = Languages(
        names=("de", "en", "fr"), scripts=(frozenset({"latin"}),) * 3, counts=np.vstack([known.counts, np.zeros((1, 5), np.int64)])
    )
    assert more.find("the", [0]) is None


def test_names_numbers_and_what_is_said_of_others() -> None:
    assert [XNLI.number(said) for said in ("en", "EN", 4, "4")] == [4] * 4
    with pytest.raises(PlumeError, match="This model has no language 'xx': say one of ar, bg, de"):
        XNLI.number("xx")
    with pytest.raises(PlumeError, match="no language '15'"):
        XNLI.number(15)
    old = Languages.unnamed(2)
    assert (old.number("1"), old.have_names, old.find("你好", [0])) == (1, False, None)
    with pytest.raises(PlumeError, match="does not know their names, so say a number from 0 to 1"):
        old.number("en")
    assert Languages.unnamed(1).find("whatever", []) == 0


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    for known in (counted(), XNLI):
        known.save(tmp_path / "languages.json")
        again = Languages.load(tmp_path / "languages.json")
        assert (again.names, again.scripts) == (known.names, known.scripts)
        np.testing.assert_equal(again.counts, known.counts)
    (tmp_path / "languages.json").write_text('[{"name": "en"}]')
    with pytest.raises(PlumeError, match=r"languages\.json does not name languages"):
        Languages.load(tmp_path / "languages.json")
