"""Tokens as a reader sees them: what each one writes, and whether a space stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.text.languages import has_han
from plume.text.tokenizer import Tokenizer

_SPACES = ("Ġ", "▁")  # how tokenizers write the space before a word
_SPACE = dict.fromkeys(_SPACES, "␣")  # where one stands alone
_END = "</w>"  # or the end of one
_CLOSING = set(".,;:!?%)]}'’”»。，；：！？、）】》」")
_OPENING = set("([{“«（【《「$#@")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One token, shown."""

    text: str
    space: bool  # before it


def shown(tokenizer: Tokenizer, tokens: Sequence[str]) -> list[Piece]:
    """Of tokens in a row; special ones are shown as they are called.

    Tokenizers that write spaces say where they stand; others cut at spaces and signs, so that a space is guessed before each word.
    """
    special = {tokenizer.token(number) for number in tokenizer.special_ids.tolist()}
    marked = any(token.startswith(_SPACES) for token in tokens)
    ended = any(token.endswith(_END) for token in tokens)
    found: list[Piece] = []
    before = ""
    for number_before, token in enumerate(tokens, -1):
        number = tokenizer.id(token)
        text = token if number is None or token in special else tokenizer.decode([number]).strip() or _SPACE.get(token, token)
        text = text if "�" not in text else token
        if token in special:
            space = bool(found)
        elif marked:
            space = token.startswith(_SPACES)
        elif ended:
            space = bool(found) and (tokens[number_before].endswith(_END) or tokens[number_before] in special)
        else:
            space = bool(found) and not token.startswith("##") and not _joined(before, text)
        found.append(Piece(text=text.removeprefix("##").removesuffix(_END) or token, space=space))
        before = text
    return found


def _joined(before: str, text: str) -> bool:
    """Is there no space between these two, as people write?"""
    return text[:1] in _CLOSING or before[-1:] in _OPENING or (has_han(before[-1:]) and has_han(text[:1]))
