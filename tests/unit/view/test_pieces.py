"""Tokens as they are read: every kind of tokenizer gives the text back, spaces and all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from plume.model.use.language_model import LanguageModel
from plume.view.recording.pieces import shown


@pytest.mark.parametrize("family", ["bert", "gpt2", "gpt", "t5", "xlnet", "transformer", "elmo", "roberta"])
def test_text_comes_back(family: str, language_model: Callable[[str], LanguageModel]) -> None:
    tokenizer = language_model(family).tokenizer
    text = "the cat finds two apples near the river"
    tokens = [tokenizer.token(number) for number in tokenizer.encode([text])[0]]
    assert "".join(" " * piece.space + piece.text.strip("␣") for piece in shown(tokenizer, tokens)).strip() == text


def test_chinese_stands_together(language_model: Callable[[str], LanguageModel]) -> None:
    tokenizer = language_model("bert").tokenizer
    tokens = [tokenizer.token(number) for number in tokenizer.encode(["老师喜欢苹果。"])[0]]
    assert "".join(" " * piece.space + piece.text for piece in shown(tokenizer, tokens)) == "老师喜欢苹果。"
