"""Words as tokens, Chinese ones cut by jieba or in characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.text.format import BERT
from plume.text.tokenizer import Tokenizer
from plume.text.word_level import WordLevel
from plume.text.words import Words, space_chinese_words

TEXTS = ["the cat, the 我在北京大学 ok A股大涨", "a cat saw 北京大学。", "The 3rd  cat"]


def made(**settings: object) -> Tokenizer:
    return Tokenizer(WordLevel(**({"vocabulary": 90} | settings)).train(iter(TEXTS), format=BERT), format=BERT)  # type: ignore[arg-type]


def test_words_by_falling_count_and_then_by_spelling() -> None:
    tokenizer = made(lowercase=True)
    words = tokenizer.tokens()[5:]
    assert words[:2] == ["cat", "the"]  # three times each
    assert words[2:4] == [",", "北京大学"] or words[2:3] == ["北京大学"]
    assert tokenizer.id("saw") is not None


def test_places_are_those_of_the_text_as_it_was_given(tmp_path: Path) -> None:
    """jieba's cut puts spaces in; what comes out must not count them. The file alone says that jieba has to cut."""
    tokenizer = made()
    tokenizer.save(tmp_path / "tokenizer.json")
    for one in (tokenizer, Tokenizer.load(tmp_path / "tokenizer.json", format=BERT)):
        joined = one.encode_joined(TEXTS, words=Words.SPACES)
        text = "".join(TEXTS)
        assert [text[start:end] for start, end in zip(joined.start, joined.end, strict=True)] == [
            one.token(number) for number in joined.ids
        ]
        assert joined.word_start.all()
        assert joined.character_bounds.tolist() == [0, *(sum(map(len, TEXTS[: n + 1])) for n in range(3))]
        assert [one.token(number) for number in one.encode(TEXTS[:1])[0]] == [
            "the",
            "cat",
            ",",
            "the",
            "我",
            "在",
            "北京大学",
            "ok",
            "A股",
            "大涨",
        ]
        assert one.decode(one.encode(["我在北京大学 ok"])[0]) == "我在北京大学 ok"


def test_characters_where_asked_for() -> None:
    tokenizer = made(chinese=Words.SPACES)
    assert [tokenizer.token(number) for number in tokenizer.encode(["北京大学"])[0]] == list("北京大学")


def test_rare_words_are_unknown() -> None:
    tokenizer = made(least=2)
    assert tokenizer.encode(["saw cat"])[0] == [tokenizer.unknown, tokenizer.id("cat")]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"least": 0}, "1 or more"), ({"vocabulary": 5}, "no room for words"), ({"least": 99}, "No word occurs 99 times")],
)
def test_what_cannot_be(settings: dict[str, int], reason: str) -> None:
    with pytest.raises(PlumeError, match=reason):
        made(**settings)


def test_spaces_are_put_between_chinese_words_only() -> None:
    assert space_chinese_words("two-by-two") == ("two-by-two", [])
    spaced, places = space_chinese_words("我来到北京 by bus")
    assert spaced == "我 来到 北京 by bus"
    assert places == [1, 3]
