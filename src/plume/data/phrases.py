"""Phrases and names found in a corpus, for families that mask them (ERNIE, arXiv:1904.09223) where no lexicon is given.

The paper used tools of its own. Here phrases are words that stay together more than chance has it, and stand in many surroundings; names are
those that jieba's tagger finds in Chinese (`text/names.py`), and phrases in capitals elsewhere.
Togetherness is the pointwise mutual information of the phrase's worst cut in two; freedom is the entropy of the words beside it, on the side
where it is smaller. A Chinese character counts as a word.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.data.corpus import Corpus
from plume.data.lexicon import LexiconEntry, UnitKind, read_lexicon, write_lexicon
from plume.data.store import cache_home
from plume.data.train_tokenizer import sample_paragraphs
from plume.text.languages import HAN, has_han
from plume.text.names import chinese_names

_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['’.&-][^\W_{HAN}]+)*|[^\w\s]|_")
VERSION = 1  # of the lists kept; a change of what is found needs a new number
SAMPLE = 16_000_000  # bytes of text that are mined: a few seconds, and a gigabyte at most
NAMES = 4_000_000  # bytes of text that are searched for Chinese names, at some 100,000 characters a second
_BREAK = 0  # the id of punctuation and of line ends: no phrase holds one
Array = NDArray[np.int64]


def lexicon_for(corpus: Corpus, path: Path | None = None, *, cache: Path | None = None) -> list[LexiconEntry]:
    """The user's lexicon, or what the corpus itself shows, which is kept in the cache; `mark_units` then finds the entries in a store."""
    if path is not None:
        return read_lexicon(path)
    kept = (cache_home() if cache is None else cache) / "phrases" / f"{VERSION}-{corpus.census().fingerprint[:32]}.txt"
    if kept.exists():
        return read_lexicon(kept)
    names = Counter(name for text in sample_paragraphs(corpus, limit=NAMES) if has_han(text) for name in chinese_names(text))
    found = [LexiconEntry(text=name, kind=UnitKind.ENTITY) for name in sorted(names, key=lambda name: (-names[name], name))]
    found += [phrase for phrase in Mining()(sample_paragraphs(corpus, limit=SAMPLE)) if phrase.text not in names]
    if found:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_lexicon(kept, found)
    return found


@dataclass(frozen=True, kw_only=True)
class MinedPhrase(LexiconEntry):
    """A phrase found in the text, and what speaks for it."""

    count: int
    togetherness: float  # nats
    freedom: float  # nats


@dataclass(frozen=True, kw_only=True)
class Mining:
    """What a phrase must have. An English phrase whose words are nearly always capitalised counts as an entity; Chinese shows no such sign."""

    longest: int = 4  # words
    least_count: int = 5
    togetherness: float = 5.0
    chinese_togetherness: float = 4.0  # the same between characters, which are fewer than words and each in more use
    freedom: float = 1.0
    capitalised: float = 0.9

    def __call__(self, texts: Iterable[str]) -> list[MinedPhrase]:
        """Best first: by togetherness times freedom.

        >>> found = Mining(togetherness=1.0)(f"From{n} New York to{n}" for n in range(50))
        >>> [(phrase.text, phrase.kind.value) for phrase in found]
        [('New York', 'entity')]
        """
        words, names = _words_of(texts)
        grams = {1: _Grams(number=words, count=np.bincount(words, minlength=len(names)), first=np.zeros(0, np.int64))}
        for length in range(2, self.longest + 2):  # one longer than phrases are: what a phrase is part of
            grams[length] = _longer(grams[length - 1], grams[1], length, least=self.least_count)
        found: list[MinedPhrase] = []
        for length in range(2, self.longest + 1):
            found += self._chosen(grams, length, names)
        return sorted(found, key=lambda phrase: (-phrase.togetherness * phrase.freedom, phrase.text))

    def _chosen(self, grams: dict[int, _Grams], length: int, names: list[str]) -> list[MinedPhrase]:
        own, words = grams[length], grams[1].number
        if not len(own.count):
            return []
        together = _togetherness(grams, length, total=int((words != _BREAK).sum()))
        free = np.minimum(_freedom(own, words, -1), _freedom(own, words, length))
        inside = _mostly_inside(own, grams[length + 1])
        chinese = np.array([has_han(name) for name in names])[words[own.first]]
        bar = np.where(chinese, self.chinese_togetherness, self.togetherness)
        kept = np.flatnonzero((together >= bar) & (free >= self.freedom) & ~inside)
        capital = np.array([name[:1].isupper() for name in names])[words]
        capitals = np.logical_and.reduce([np.roll(capital, -step) for step in range(length)])
        present = own.number >= 0
        share = np.bincount(own.number[present], weights=capitals[present], minlength=len(own.count)) / own.count
        made = []
        for gram in kept.tolist():
            parts = [names[word] for word in words[own.first[gram] : own.first[gram] + length].tolist()]
            text = _joined(parts)
            kind = UnitKind.ENTITY if share[gram] >= self.capitalised and not has_han(text) else UnitKind.PHRASE
            made.append(
                MinedPhrase(text=text, kind=kind, count=int(own.count[gram]), togetherness=float(together[gram]), freedom=float(free[gram]))
            )
        return made


@dataclass(frozen=True, kw_only=True)
class _Grams:
    number: Array  # [W] which n-gram begins at each word; -1: none, or a rare one
    count: Array  # [G]
    first: Array  # [G] where it first occurs


def _words_of(texts: Iterable[str]) -> tuple[Array, list[str]]:
    """All words one after another as numbers, and what they are."""
    numbers: dict[str, int] = {"": _BREAK}
    found: list[int] = []
    for text in texts:
        found += [numbers.setdefault(word, len(numbers)) if word[-1].isalnum() else _BREAK for word in _WORD.findall(text)]
        found.append(_BREAK)
    return np.array(found, np.int64), list(numbers)


def _longer(shorter: _Grams, words: _Grams, length: int, *, least: int) -> _Grams:
    """n-grams out of (n - 1)-grams: only frequent ones can be the beginning of a frequent one."""
    total = len(words.number)
    last = np.full(total, _BREAK)
    last[: total - length + 1] = words.number[length - 1 :]
    whole = (shorter.number > 0 if length == 2 else shorter.number >= 0) & (last != _BREAK)
    place = np.flatnonzero(whole)
    key = shorter.number[place] * len(words.count) + last[place]
    _, first, inverse, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    frequent = count >= least
    renumbered = np.where(frequent, np.cumsum(frequent) - 1, -1)
    number = np.full(total, -1)
    number[place] = renumbered[inverse]
    return _Grams(number=number, count=count[frequent], first=place[first[frequent]])


def _togetherness(grams: dict[int, _Grams], length: int, *, total: int) -> NDArray[np.float64]:
    """[G] of the cut at which the two parts are most independent."""
    own = grams[length]
    worst = np.full(len(own.count), np.inf)
    for cut in range(1, length):
        left, right = grams[cut], grams[length - cut]
        apart = left.count[left.number[own.first]] * right.count[right.number[own.first + cut]]
        worst = np.minimum(worst, np.log(own.count * total / apart))
    return worst


def _freedom(own: _Grams, words: Array, step: int) -> NDArray[np.float64]:
    """[G] the entropy of the word `step` further on; a break there is a neighbour like no other."""
    place = np.flatnonzero(own.number >= 0)
    there = place + step
    beside = np.where((there >= 0) & (there < len(words)), words[np.clip(there, 0, len(words) - 1)], _BREAK)
    known = int(words.max()) + 1
    beside = np.where(beside == _BREAK, known + np.arange(len(place)), beside)
    pair, count = np.unique(own.number[place] * (known + len(place)) + beside, return_counts=True)
    owner = pair // (known + len(place))
    share = count / own.count[owner]
    return np.bincount(owner, weights=-share * np.log(share), minlength=len(own.count)).astype(np.float64)


def _mostly_inside(own: _Grams, longer: _Grams) -> NDArray[np.bool_]:
    """[G] is it nearly always (four times in five) a part of one longer n-gram? Then that one is the phrase."""
    most = np.zeros(len(own.count), np.int64)
    for step in (0, 1):
        np.maximum.at(most, own.number[longer.first + step], longer.count)
    return most >= 0.8 * own.count


def _joined(parts: list[str]) -> str:
    text = parts[0]
    for before, after in itertools.pairwise(parts):
        text += after if has_han(before) or has_han(after) else f" {after}"
    return text
