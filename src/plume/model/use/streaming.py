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


class Telling:
    """One text as its tokens come: how much of it can be told already. It ends where one of the stop strings is whole, and without it.

    Of several the one counts that is whole first, and of those that end at one place the longest: however the text is cut into tokens, it
    is told alike. What may yet become a stop string is held back.
    """

    def __init__(self, tokenizer: Tokenizer, begun: Sequence[int] = (), *, stops: Sequence[str] = ()) -> None:
        self.tokenizer, self.ids, self.stops = tokenizer, list(begun), [stop for stop in stops if stop]
        self._before = len(tokenizer.decode(begun)) if begun else 0
        self._told = 0
        self.text = ""  # what is settled of it
        self.stopped = self.closed = False

    def add(self, token: int) -> bool:
        """Is there no stop string so far?"""
        self.ids.append(token)
        self._settle(settled(self.tokenizer.decode(self.ids))[self._before :])
        return not self.stopped

    def close(self) -> None:
        """Nothing follows."""
        if not self.closed:
            self.closed = True
            self._settle(self.tokenizer.decode(self.ids)[self._before :])

    def take(self) -> str:
        """What can be told now and was not before."""
        first, self._told = self._told, max(self._told, len(self.text) - self._held_back())
        return self.text[first : self._told]

    @property
    def told(self) -> int:
        """How many characters were taken."""
        return self._told

    def _settle(self, text: str) -> None:
        if self.stopped or len(text) <= len(self.text):
            return
        known = len(self.text)
        places = [(text.find(stop, max(0, known - len(stop) + 1)), stop) for stop in self.stops]
        found = [(begin + len(stop), begin) for begin, stop in places if begin >= 0]
        self.stopped = bool(found)
        self.text = text[: min(found)[1]] if found else text

    def _held_back(self) -> int:
        if self.stopped or self.closed:
            return 0
        ends = (size for stop in self.stops for size in range(len(stop) - 1, 0, -1) if self.text.endswith(stop[:size]))
        return max(ends, default=0)


def settled(text: str) -> str:
    """The beginning of a text that stays as it is, whatever is written next.

    >>> settled("the cat"), settled("the cat "), settled("it doesn't"), settled("it doesn't h"), settled("你\ufffd")
    ('the cat', 'the cat', 'it doesn', "it doesn't h", '你')
    """
    text = text.rstrip(_LOOSE)
    return _APOSTROPHE.sub("", text).rstrip(_LOOSE)
