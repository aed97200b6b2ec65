"""Names in Chinese text, against jieba's own tagger."""

from __future__ import annotations

import warnings

import pytest

from plume.text.names import TAGS, chinese_names, is_chinese_name

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jieba
    from jieba.posseg import POSTokenizer

TEXT = "李小明和司马光在北京大学见到了王芳。他们从莫斯科坐车去新西兰，高兴得很；国务院在纽约发表了声明，A股大涨。"


@pytest.fixture(scope="module")
def theirs() -> POSTokenizer:
    """With a dictionary read afresh, not from the shared temporary folder."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return POSTokenizer(tokenizer)


def test_names_are_those_of_jieba(theirs: POSTokenizer) -> None:
    expected = [pair.word for pair in theirs.cut(TEXT) if pair.flag in TAGS and len(pair.word) > 1]
    assert list(chinese_names(TEXT)) == expected
    assert {"李小明", "北京大学", "莫斯科", "新西兰", "国务院", "纽约"} <= set(expected)


@pytest.mark.parametrize(("word", "name"), [("阿布扎依", True), ("赵小燕", True), ("刘晓冬", True), ("微讯", False), ("很高", False)])
def test_a_new_word_is_tagged_as_jieba_tags_it(theirs: POSTokenizer, word: str, name: bool) -> None:
    """Words that its dictionary lacks, asked about alone."""
    assert word not in theirs.word_tag_tab
    found = list(theirs.cut(word))
    assert (len(found) == 1 and found[0].flag in TAGS) == name == is_chinese_name(word)


def test_other_scripts_have_none() -> None:
    assert list(chinese_names("Anna met Karl in Berlin. 12 % of them")) == []
