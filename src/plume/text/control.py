"""Control codes: one token that says what kind of text follows (CTRL, arXiv:1909.05858, §3)."""

from __future__ import annotations

import re

from plume.core.errors import PlumeError, suggest
from plume.text.tokenizer import Tokenizer

_CODE = re.compile(r"<\|(.+)\|>", re.DOTALL)


def control_token(code: str) -> str:
    """How a code is written as a token.

    >>> control_token("Books")
    '<|Books|>'
    """
    return f"<|{code}|>"


def control_id(tokenizer: Tokenizer, code: str) -> int | None:
    """The code's token; in published vocabularies, whose codes are plain words, the word's."""
    found = tokenizer.id(control_token(code))
    return tokenizer.id(code) if found is None else found


def control_codes(tokenizer: Tokenizer) -> tuple[str, ...]:
    """The codes that plume put in this tokenizer."""
    own = set(tokenizer.format.specials())
    tokens = [tokenizer.token(number) for number in tokenizer.special_ids]
    return tuple(found[1] for token in tokens if token not in own and (found := _CODE.fullmatch(token)))


def require_control_id(tokenizer: Tokenizer, code: str) -> int:
    """The code's token, or a word on which codes there are."""
    found = control_id(tokenizer, code)
    if found is None:
        known = control_codes(tokenizer)
        advice = suggest(code, known) if known else "this model was trained without any"
        raise PlumeError(f"Unknown control code '{code}': {advice}. Codes are the labels of the corpus that the model was trained on.")
    return found
