"""Pieces of text as tokens come: never half a character, and joined they are the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.model.use.streaming import pieces, settled
from plume.recipes import _catalog as catalog

SAID = "He didn't say (much): “你好，世界！” It's 3 o'clock, isn't it? 我爱 python 编程。 🦆 naïve café's 'tis"


@pytest.fixture(params=["bert", "gpt", "gpt2", "t5", "xlm", "ctrl", "ulmfit", "glm", "transformer"])
def tokenizer(request: pytest.FixtureRequest, miniature: Any, tokenizer_for: Any) -> Any:
    """WordPiece, BPE with word ends, byte-level BPE, unigram pieces, whole words."""
    assert request.param in catalog.networks()
    return tokenizer_for(miniature(request.param))


def test_joined_they_are_the_text(tokenizer: Any) -> None:
    ids = tokenizer.encode([SAID])[0]
    for begun in (0, 1, len(ids) // 2, len(ids)):
        found = list(pieces(tokenizer, ids[:begun], ids[begun:]))
        assert "".join(found) == tokenizer.decode(ids)
        assert not any("\ufffd" in piece for piece in found)
    if tokenizer.unknown not in ids[:3]:  # a vocabulary of whole words lacks most of these
        assert len(list(pieces(tokenizer, [], ids))) > 20


def test_joined_they_are_the_text_of_any_tokens(tokenizer: Any) -> None:
    """Also of bytes that are no characters, and of signs in a row: what is told is never taken back."""
    source = np.random.default_rng(0)
    plain = [number for number in range(tokenizer.size) if number not in tokenizer.special_ids]
    signs = [number for number in plain if len(tokenizer.decode([number]).strip()) <= 1] + [
        number for sign in ("'s", "don't", "' t", "，", "( a") for number in tokenizer.encode([sign])[0]
    ]
    for _ in range(300):
        ids = source.choice(plain if source.random() < 0.3 else signs, size=12).tolist()
        assert "".join(pieces(tokenizer, [], ids)) == tokenizer.decode(ids)


def test_a_character_comes_whole(miniature: Any, tokenizer_for: Any) -> None:
    tokenizer = tokenizer_for(miniature("gpt2"))
    ids = tokenizer.encode(["🦆 鸭"])[0]
    assert len(ids) > 3, "a character is several tokens here"
    assert [piece.strip() for piece in pieces(tokenizer, [], ids)] == ["🦆", "鸭"]


def test_what_may_yet_change_waits() -> None:
    assert settled("it doesn't") == "it doesn" and settled("it doesn't hurt") == "it doesn't hurt"
    assert settled("a \ufffd") == "a" and settled("a \ufffd b") == "a \ufffd b"
