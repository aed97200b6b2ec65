import os
import subprocess
import sys

import jieba
import numpy as np
import pytest

from plume.text.words import Words, _Cutter, chinese_word_starts

SENTENCES = [
    "我来到北京清华大学学习自然语言处理",
    "他来到了网易杭研大厦",  # 杭研 is in no dictionary
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造。",
    "工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作",
    "奥巴马在1953年买了3件T恤，A股大涨100%不含税",
    "永和服装饰品有限公司 and Python3 编程-入门",
    "結過婚的和尚未結過婚的",
    "㐀龘一二三，。！only English here.",
]


def cut(text: str) -> list[str]:
    starts = np.flatnonzero(chinese_word_starts(text)).tolist()
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


@pytest.mark.parametrize("text", SENTENCES)
def test_chinese_words_are_jiebas_own(text):
    expected = np.ones(len(text), bool)
    place = 0
    for word in jieba.cut(text):
        if any("\u4e00" <= sign <= "\u9fd5" for sign in word):
            expected[place + 1 : place + len(word)] = False
        place += len(word)
    assert chinese_word_starts(text).tolist() == expected.tolist()


def test_known_words():
    assert cut("我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]
    assert cut("杭研大厦") == ["杭研", "大厦"]  # found by the hidden Markov model


def test_of_equally_likely_cuts_the_longest_word_is_taken_as_jieba_does():
    frequencies = {"甲": 2, "乙": 2, "甲乙": 1}  # 2/4 · 2/4 = 1/4
    theirs = jieba.Tokenizer()
    theirs.FREQ, theirs.total, theirs.initialized = frequencies, 4, True
    assert _Cutter(frequencies, 4, iter).cut("甲乙") == list(theirs.cut("甲乙")) == ["甲乙"]


def test_latin_words_are_not_grouped():
    assert chinese_word_starts("hello world").all()


def test_a_word_longer_than_any_in_the_dictionary():
    text = "一" * 300
    assert len(chinese_word_starts(text)) == 300


def test_it_is_silent_and_needs_no_temporary_folder(tmp_path):
    """jieba itself prints to stderr, and dies when no temporary folder can be written."""
    script = "from plume.text.words import chinese_word_starts as f; print(f('北京大学').tolist())"
    gone = str(tmp_path / "gone")
    environment = os.environ | {"TMPDIR": gone, "TEMP": gone, "TMP": gone}
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[True, False, False, False]\n"
    assert done.stderr == ""


def test_names():
    assert [str(words) for words in Words] == ["spaces", "jieba"]
