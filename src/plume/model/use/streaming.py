"""Tokens as they come, told as pieces of text: never half a character, nor a space that may yet go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from plume.text.tokenizer import Tokenizer

# What may yet change: spaces (none stand before signs and between Chinese characters), bytes of a character that is not whole, and what
# follows an apostrophe as long as it may become a contraction (`plume.text.tidy`).
_LOOSE = " \ufffd"
_APOSTROPHE = re.compile(r" ?' ?\w{0,2}\Z")


def pieces(tokenizer: Tokenizer, begun: Sequence[int], tokens: Iterable[int], *, echo: bool = True) -> Iterator[str]:
    """What each token adds to the text that begins with `begun`, whose own text comes first. Joined they are the text of all tokens.

    Without `echo` they are what stands behind the text of `begun`.
    """
    ids, told = list(begun), "" if echo else tokenizer.decode(begun)
    for new in chain([[]], ([token] for token in tokens)):
        ids += new
        text = settled(tokenizer.decode(ids))
        if len(text) > len(told) and text.startswith(told):
            yield text[len(told) :]
            told = text
    whole = tokenizer.decode(ids)
    if len(whole) > len(told):
        yield whole[len(told) :]


def settled(text: str) -> str:
    """The beginning of a text that stays as it is, whatever is written next.

    >>> settled("the cat"), settled("the cat "), settled("it doesn't"), settled("it doesn't h"), settled("你\ufffd")
    ('the cat', 'the cat', 'it doesn', "it doesn't h", '你')
    """
    text = text.rstrip(_LOOSE)
    return _APOSTROPHE.sub("", text).rstrip(_LOOSE)
