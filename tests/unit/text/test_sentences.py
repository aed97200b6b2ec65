import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.text.languages import is_han
from plume.text.sentences import sentence_starts, split_sentences

KEPT_TOGETHER = [
    "Dr. Smith met Mrs. Jones and Prof. Lee.",
    "It costs $3.50, or 1,000.25 in all.",
    "The U.S. Senate and J. K. Rowling agreed.",
    "See e.g. Chomsky, i.e. the linguist, cf. Fig. 3 of vol. 2.",
    "On Jan. 5 the No. 1 player won.",
    'He said "Why?" and left.',
    "Wait... maybe not.",
    "Yahoo! is a company.",
    "Version 2.0 of the file read.me is at example.com.",
    "1. Introduction",
    "他说：“你好，世界”，然后走了。",
    "圆周率是3.14，不是3.。",
    "“真的吗？”，他问。",
]
SPLIT = [
    ("One. Two! Three? Four.", ["One.", "Two!", "Three?", "Four."]),
    ('He left. "Come back!" she cried. Nothing.', ["He left.", '"Come back!" she cried.', "Nothing."]),
    ('She said "Stop." Then he stopped.', ['She said "Stop."', "Then he stopped."]),
    ("It ended (finally.) Then rain.", ["It ended (finally.)", "Then rain."]),
    ("Made in the U.S. The end.", ["Made in the U.S.", "The end."]),
    ("He works at Foo Inc. The firm is big.", ["He works at Foo Inc.", "The firm is big."]),
    ("Really?! Yes... No.", ["Really?!", "Yes...", "No."]),
    ("In 1999. 25 people came.", ["In 1999.", "25 people came."]),
    ("今天很好。我们走吧！去哪？不知道；算了……好。", ["今天很好。", "我们走吧！", "去哪？", "不知道；", "算了……", "好。"]),
    ("他说：“走吧！”她笑了。（完。）结束", ["他说：“走吧！”", "她笑了。", "（完。）", "结束"]),
    ("「好。」『是！』完", ["「好。」", "『是！』", "完"]),
    ('他说。"走吧。"好', ["他说。", '"走吧。"', "好"]),
    ("真的吗?我不信!走", ["真的吗?", "我不信!", "走"]),
    ("用句点.也可以", ["用句点.", "也可以"]),
    ("中文。English follows. 再来中文。", ["中文。", "English follows.", "再来中文。"]),
    ("line one\nline two\r\n\r\nline three", ["line one", "line two", "line three"]),
    ("Привет. Как дела?", ["Привет.", "Как дела?"]),
]


@pytest.mark.parametrize("text", KEPT_TOGETHER)
def test_no_cut_within_a_sentence(text):
    assert split_sentences(text) == [text]


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_cuts_between_sentences(text, expected):
    assert split_sentences(text) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000"])
def test_nothing_gives_nothing(text):
    assert split_sentences(text) == []


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet=st.one_of(st.sampled_from("aB3 .!?。！？；…”’\"')）\n\r\t“(（，、"), st.characters(codec="utf-8")), max_size=60))
def test_no_character_is_lost(text):
    def bare(string):
        return "".join(string.split())

    found = split_sentences(text)
    assert bare("".join(found)) == bare(text)
    assert all(sentence == sentence.strip() != "" for sentence in found)
    starts = sentence_starts(text)
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert all(start < len(text) for start in starts[1:])


class Counted(str):
    """Counts the characters that are copied or searched through Python; what a compiled pattern does is linear by its shape."""

    looked_at = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Counted.looked_at += len(found)
        return found

    def count(self, sign, begin, end):
        Counted.looked_at += end - begin
        return super().count(sign, begin, end)


ENDLESS = {
    "one letter": "a",
    "base64": "Qm9/+zE0",
    "words": "word and ",
    "a Chinese run": "天地玄黄宇宙洪荒",
    "dots": ".",
    "signs": ".,'!\"-;",
    "initials": "A. ",
    "numbers": "1 . ",
    "spaces": " ",
    "blank lines": "\n \r",
    "marks": "e\u0301",
    "open quotes": '好。"，',
}


@pytest.mark.parametrize("unit", ENDLESS.values(), ids=ENDLESS.keys())
def test_time_grows_with_the_text_and_not_with_its_square(unit):
    seen = []
    for size in (40_000, 80_000):
        Counted.looked_at = 0
        starts = sentence_starts(Counted(f"a{unit * (size // len(unit))} b"))
        seen.append(Counted.looked_at)
        assert max(np.diff(starts), default=0) <= 1_300  # so that whatever is done to a sentence cannot grow with the text
    assert seen[1] <= 2.1 * seen[0] + 1_000


def test_text_without_sentence_ends_is_cut_every_32_words_at_spaces():
    words = [f"w{number}" for number in range(1_000)]
    found = split_sentences(" ".join(words))
    assert [word for piece in found for word in piece.split()] == words
    assert [len(piece.split()) for piece in found] == [32] * 31 + [8]


def test_chinese_without_sentence_ends_is_cut_every_32_characters():
    text = "天地玄黄，宇宙洪荒" * 200
    found = split_sentences(text)
    assert "".join(found) == text
    assert all(sum(map(is_han, piece)) <= 32 for piece in found)
    assert len(found) < 80


def test_a_long_sentence_is_left_alone_up_to_a_thousand_characters():
    text = "Word " * 199 + "end."
    assert (len(text), split_sentences(text)) == (999, [text])
    assert split_sentences(f"Short one. {text} Short two.") == ["Short one.", text, "Short two."]
    longer = "Word " * 200 + "end."
    assert split_sentences(f"Short one. {longer} Short two.")[::8] == ["Short one.", "Short two."]


def test_many_sentences_are_many():
    assert len(split_sentences("好。" * 100_000)) == 100_000
