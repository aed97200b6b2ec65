"""The words of texts, and the texts cut so that no two words share a token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from plume.readers.example import Example
from plume.text.languages import HAN
from plume.text.pieces import Joined, bounds
from plume.tuning.rows.rows import Array, Coder, runs

# What is a unit of its own where characters are labelled: Han, and the marks that stand between without a space. Other scripts go by words.
ALONE = re.compile(rf"[{HAN}\u3001-\u3003\u3008-\u3020\ufe30-\ufe4f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”…—]")
_BLANK = np.array([chr(code).isspace() for code in range(0x3002)])  # U+3000 is the last one
# Beside these every tokenizer cuts by itself; other white space (\x0c, \x1f) some of them drop.
_CUTTING = [ord(blank) for blank in " \t\n\r"]
_PREFIXES = ("▁", "Ġ")  # what tokenizers put before a text, when it stands alone


@dataclass(frozen=True, kw_only=True)
class FoundWords:
    """Words of all texts put together: the file's own, or else the tokenizer's."""

    cut: Joined
    bounds: Array  # [E + 1] by example
    start: Array  # [W] in characters of all texts put together
    end: Array  # [W]
    language: Array | None = None  # [E] where the model has a vector for each


def find_words(examples: Sequence[Example], coder: Coder, *, characters: bool = False) -> FoundWords:
    """With `characters`, each Han character is a unit, whatever the tokenizer thinks of it."""
    texts = [example.texts[0] for example in examples]
    size = bounds(map(len, texts))
    text = "".join(texts)
    own = all(example.words is not None for example in examples)
    sizes, start, end = _files_words(examples, size) if own else (size, size[:0], size[:0])
    inked = ~_blank(text)
    edge = np.zeros(len(text) + 1, np.bool_)
    edge[start] = edge[end] = True
    if characters:
        alone = np.array([found.start() for found in ALONE.finditer(text)], np.int64)
        edge[alone] = edge[alone + 1] = True
    joined = ~np.isin(_codes(text), _CUTTING)
    edge[:-1] &= joined
    edge[1:] &= joined
    edge[size] = False
    cut = coder.linked(_cut_at(np.flatnonzero(edge), text, size, coder), texts) if edge.any() else coder.cut(texts)
    if not own:
        sizes, start, end = _own_words(cut, np.flatnonzero(inked))
    told = coder.languages_of(examples, [cut])
    return FoundWords(cut=cut, bounds=sizes, start=start, end=end, language=None if told is None else told[:, 0])


def _files_words(examples: Sequence[Example], size: Array) -> tuple[Array, Array, Array]:
    sizes = bounds(len(example.words or ()) for example in examples)
    flat = np.fromiter(chain.from_iterable(chain.from_iterable(example.words or () for example in examples)), np.int64, 2 * int(sizes[-1]))
    base = np.repeat(size[:-1], np.diff(sizes))
    return sizes, flat[0::2] + base, flat[1::2] + base


def _blank(text: str) -> NDArray[np.bool_]:
    """`str.isspace` of each character."""
    return _BLANK[np.minimum(_codes(text), len(_BLANK) - 1)]


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _cut_at(edges: Array, text: str, size: Array, coder: Coder) -> Joined:
    """Pieces go to the tokenizer one by one, each different one once, and their tokens are put together again."""
    places = np.union1d(edges, size)
    pieces = [text[begin:end] for begin, end in pairwise(places.tolist())]
    number = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    once = coder.tokens(list(number))
    piece = np.fromiter(map(number.__getitem__, pieces), np.int64, len(pieces))
    begin, count = once.token_bounds[:-1][piece], np.diff(once.token_bounds)[piece]
    # The text goes on before these pieces, so that no mark of a beginning belongs there.
    prefixes = [found for found in map(coder.tokenizer.id, _PREFIXES) if found is not None]
    prefixed = (count > 1) & np.append(np.isin(once.ids, prefixes), False)[begin] & np.isin(places[:-1], edges)
    begin, count = begin + prefixed, count - prefixed
    token = runs(begin, count)
    shift = np.repeat(places[:-1] - once.character_bounds[piece], count)
    token_bounds = bounds(count)
    word_start = once.word_start[token]
    word_start[token_bounds[:-1][count > 0]] = True
    return Joined(
        ids=once.ids[token],
        word_start=word_start,
        start=once.start[token] + shift,
        end=once.end[token] + shift,
        token_bounds=token_bounds[np.searchsorted(places, size)],
        character_bounds=size,
    )


def _own_words(cut: Joined, inked: Array) -> tuple[Array, Array, Array]:
    """The tokenizer's first cut. Pieces of one character belong together; white space belongs to no word."""
    if not len(cut.ids):
        return np.zeros(len(cut.token_bounds), np.int64), cut.start, cut.end
    reached = np.maximum.accumulate(cut.end)
    begins = cut.word_start.copy()
    begins[1:] &= cut.start[1:] >= reached[:-1]
    first = np.flatnonzero(begins)
    start, end = cut.start[first], reached[np.append(first[1:], len(cut.ids)) - 1]
    one, after = np.searchsorted(inked, start), np.searchsorted(inked, end)
    there = one < after
    start, end = inked[one[there]], inked[after[there] - 1] + 1
    return np.searchsorted(start, cut.character_bounds), start, end


def first_tokens(words: FoundWords) -> Array:
    """[W] the first token of each word; -1 where no token stands for it."""
    cut, start, end = words.cut, words.start, words.end
    if not len(cut.ids):
        return np.full(len(start), -1)
    token = np.searchsorted(np.maximum.accumulate(cut.end), start, side="right")  # the first that ends after the word begins
    found = token < len(cut.ids)
    token = np.minimum(token, len(cut.ids) - 1)
    return np.where(found & (cut.start[token] < end), token, -1)
