"""Which characters a trained vocabulary knows: counted over the text, the rare ones left out, ties broken by code point.

The trainers of the `tokenizers` library number single characters in the order of a hash table, so that training twice gives two
vocabularies. Given the characters in a fixed order, they are deterministic.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.text.languages import UNSPACED
from plume.text.long_text import without_long_runs

COVERAGE = 0.9999  # of all characters; what is rarer becomes the unknown token
ALWAYS, NEVER_MORE = 0.25, 0.8  # the shares of the vocabulary that the alphabet may always take, and may not exceed

_RUNS = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]{{30,}}")  # text without spaces, and any other very long run


@dataclass(frozen=True, kw_only=True)
class CharacterSet:
    """The characters that a tokenizer knows."""

    alone: tuple[str, ...]  # characters that the pre-tokenizer makes words of their own: Han, punctuation
    joined: tuple[str, ...]  # characters that stand beside others in a word
    rare: dict[int, str]  # for str.translate: what is left out of the training text, as a space


def choose_alphabet(
    texts: Sequence[str], *, vocabulary: int, normalize: Callable[[str], str], words: Callable[[str], int], forms: int = 2
) -> CharacterSet:
    """The characters worth keeping. `words` counts the words of a string; a joined character costs `forms` places, a lone one one."""
    counts = count_characters(texts)
    mapped = {int(code): normalize(chr(code)).strip() for code in np.flatnonzero(counts)}
    totals: Counter[str] = Counter()
    for code, characters in mapped.items():
        for character in characters:
            totals[character] += int(counts[code])
    alone = {character for character in totals if words(f"a{character}a") > 1}
    kept = _most_frequent(totals, alone=alone, vocabulary=vocabulary, forms=forms)
    return CharacterSet(
        alone=tuple(sorted(kept & alone)),
        joined=tuple(sorted(kept - alone)),
        rare={code: " " for code, characters in mapped.items() if not kept.issuperset(characters)},
    )


def _most_frequent(totals: Counter[str], *, alone: set[str], vocabulary: int, forms: int) -> set[str]:
    needed = COVERAGE * totals.total()
    places = covered = 0
    kept: set[str] = set()
    for character, count in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        places += 1 if character in alone else forms
        if places > NEVER_MORE * vocabulary or (covered >= needed and places > ALWAYS * vocabulary):
            break
        covered += count
        kept.add(character)
    return kept


class CharacterCounter:
    """How often each code point occurs in the texts added.

    >>> counter = CharacterCounter()
    >>> counter.add("abba")
    >>> int(counter.totals()[ord("b")])
    2
    """

    def __init__(self) -> None:
        self._totals = np.zeros(0x110000, np.int64)
        self._waiting: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Count its characters."""
        self._waiting.append(text)
        self._size += len(text)
        if self._size > 1_000_000:  # large batches, as each pays for a table of all code points
            self.totals()

    def totals(self) -> NDArray[np.int64]:
        """[code points] how often each was seen so far."""
        # surrogatepass: a lone surrogate may come out of a JSON escape, and must not stop a count
        data = "".join(self._waiting).encode("utf-32-le", "surrogatepass")
        self._totals += np.bincount(np.frombuffer(data, np.uint32), minlength=0x110000)
        self._waiting, self._size = [], 0
        return self._totals


def count_characters(texts: Iterable[str]) -> NDArray[np.int64]:
    """[code points] how often each stands in the texts."""
    counter = CharacterCounter()
    for text in texts:
        counter.add(text)
    return counter.totals()


def thin_unspaced(texts: Sequence[str], *, limit: int) -> list[str]:
    """At most about `limit` characters of text that is not divided by spaces; the texts dropped are spread evenly.

    Words repeat, so that a trainer's memory grows slowly with English text; runs of Chinese do not, and cost it some 300 bytes a
    character. Endless runs of letters and signs are no text, and are left out first (unless there is nothing else).

    >>> thin_unspaced(["天地玄黄", "some English", "宇宙洪荒", "日月盈昃", "辰宿列张"], limit=8)
    ['some English', '宇宙洪荒', '辰宿列张']
    """
    texts = [text for text in map(without_long_runs, texts) if text.strip()] or texts
    lengths = [sum(map(len, _RUNS.findall(text))) for text in texts]
    share = min(1.0, limit / max(1, sum(lengths)))
    kept: list[str] = []
    due = taken = 0.0
    for text, length in zip(texts, lengths, strict=True):
        due += length * share
        if taken + length <= due + 0.5:  # half a character of rounding
            taken += length
            kept.append(text)
    return kept
