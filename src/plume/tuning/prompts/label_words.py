"""Label words (verbalizers): what is said for each label, and which tokens that is in a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.tuning.prompts.template import Fixed

Said = str | Sequence[str] | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class LabelWords(Part):
    """Several words of one label count alike."""

    label: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class PlacedWord:
    """One word in the blank, in tokens, with what of the template's piece stands around it."""

    before: tuple[int, ...]
    word: tuple[int, ...]
    after: tuple[int, ...]


def read_words(said: Said) -> tuple[LabelWords, ...]:
    """From the command line or from Python.

    >>> [(one.label, one.words) for one in read_words("0=bad|awful,1=good")]
    [('0', ('bad', 'awful')), ('1', ('good',))]
    """
    if isinstance(said, Mapping):
        pairs = [(str(label), (words,) if isinstance(words, str) else tuple(words)) for label, words in said.items()]
    else:
        listed = [one.strip() for one in said.split(",")] if isinstance(said, str) else list(said)
        pairs = [_named(one) for one in listed]
    found = tuple(LabelWords(label=label, words=tuple(word.strip() for word in words)) for label, words in pairs)
    if not found or not all(one.label and one.words and all(one.words) for one in found):
        raise PlumeError(f"A label is empty in {str(said)[:60]!r}: write --labels sports,politics or --labels 0=sports,1=politics.")
    _refuse_twice([one.label for one in found], "A label comes twice")
    _refuse_twice([word for one in found for word in one.words], "A label's word comes twice")
    return found


def _named(label: str) -> tuple[str, tuple[str, ...]]:
    name, equals, words = label.partition("=")
    return (name.strip(), tuple(words.split("|"))) if equals else (label, (label,))


def _refuse_twice(words: Sequence[str], what: str) -> None:
    twice = [word for word in dict.fromkeys(words) if words.count(word) > 1]
    if twice:
        raise PlumeError(f"{what}: '{twice[0]}'. Each must be said in its own words.")


def worded(piece: Fixed, word: str, tokenizer: Tokenizer, *, strict: bool = True) -> PlacedWord:
    """The piece of the template with the word in its blank: put in before it is cut into tokens, as it would stand in running text."""
    slot = piece.slot
    assert slot is not None, "only called for the piece with the blank"
    return in_text(piece.said, slot.start(), slot.end(), word, tokenizer, strict=strict)


def in_text(text: str, start: int, end: int, word: str, tokenizer: Tokenizer, *, strict: bool = True) -> PlacedWord:
    """The same where the blank is any stretch of a text.

    The space before the word is the word's, whether or not the tokenizer has a piece for both: otherwise it would be shown to some words only.
    So is a token that reaches over the word's bounds: without it the word would not be whole. `strict`: signs that the vocabulary lacks are an
    error. In words that a data set brings along they are not.
    """
    cut = tokenizer.encode_joined([text[:start] + word + text[end:]], words=Words.SPACES)
    first = start - text[:start].endswith(" ")
    place = np.flatnonzero((cut.end > first) & (cut.start < start + len(word)))
    ids = cut.ids.tolist()
    found = ids[place[0] : place[-1] + 1] if len(place) else []
    if not found or (strict and tokenizer.unknown in found):
        raise PlumeError(f"The label '{word}' holds signs that this model's vocabulary lacks: say it in other words (--labels NAME=WORDS).")
    return PlacedWord(tuple(ids[: place[0]]), tuple(found), tuple(ids[place[-1] + 1 :]))
