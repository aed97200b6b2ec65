"""Names and dates in a corpus: what a model is asked for that looks things up (REALM, arXiv:2002.08909 §3.4).

The paper has a tagger trained on CoNLL and a regular expression for dates. Here names come from the user's list (`--lexicon`), which any tagger
may have written, or are found by their capitals, in Chinese by jieba's tagger; dates by regular expressions, in both languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.data.corpus import Corpus
from plume.data.lexicon import LexiconEntry, UnitKind, encoded_forms, found_phrases, read_lexicon
from plume.data.phrases import NAMES, SAMPLE
from plume.data.store import Store
from plume.data.train_tokenizer import sample_paragraphs
from plume.noise.salient import IN_SALIENT, SALIENT
from plume.text.languages import has_han
from plume.text.names import chinese_names
from plume.text.sentences import split_sentences
from plume.text.tokenizer import Tokenizer

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"\b(?:{_MONTH} \d{{1,2}}(?:, \d{{4}})?|\d{{1,2}} {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{4}}|(?:1[5-9]|20)\d\d)\b"
    r"|\d{2,4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]"
)
_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:(?:of|the|de|van|von|bin) )?[A-Z][\w'’-]*)*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_CAPITALISED = 0.8  # of a word's occurrences inside sentences, for it to be a name
_MOST = 50_000  # entries, the most frequent first


def salient_entries(corpus: Corpus, path: Path | None = None) -> list[LexiconEntry]:
    """The entities of the user's list and the corpus' dates; without a list also the names that the corpus' own writing shows."""
    found: Counter[str] = Counter()
    texts = list(sample_paragraphs(corpus, limit=SAMPLE))
    for text in texts:
        found.update(match.group() for match in _DATE.finditer(text))
    if path is None:
        found.update(_english_names(texts))
        found.update(_chinese_names(texts))
    names = [] if path is None else [entry for entry in read_lexicon(path) if entry.kind is UnitKind.ENTITY or not _has_entities(path)]
    entries = [text for text, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_MOST]]
    unique = dict.fromkeys([*(entry.text for entry in names), *entries])
    return [LexiconEntry(text=text, kind=UnitKind.ENTITY) for text in unique]


def mark_salient(store: Store, entries: Iterable[LexiconEntry], tokenizer: Tokenizer) -> dict[str, NDArray[np.bool_]]:
    """For `Store.units`: where names, dates and all other words begin, and which tokens belong to names and dates. Names of one token count."""
    place, size = found_phrases(store, encoded_forms([entry.text for entry in entries], tokenizer, least=1))
    begins, inside = np.array(store.word_start), np.zeros(len(store.tokens), bool)
    where = np.repeat(place, size) + np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    begins[where], inside[where] = False, True
    begins[place] = True
    return {SALIENT: begins, IN_SALIENT: inside}


def _has_entities(path: Path) -> bool:
    """A list that tells no kinds apart is a list of names."""
    return any(entry.kind is UnitKind.ENTITY for entry in read_lexicon(path))


def _english_names(texts: list[str]) -> Iterator[str]:
    """Words in capitals inside sentences, of which most occurrences are so; the first word of a sentence shows nothing, so it begins no name."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    runs: list[str] = []
    for text in texts:
        for sentence in split_sentences(text):
            first = _WORD.search(sentence)
            inner = sentence[first.end() :] if first is not None else ""
            for word in _WORD.findall(inner):
                (capital if word[0].isupper() else small)[word.lower()] += 1
            runs += _NAME.findall(inner)
    for run in runs:
        word = run.split(" ")[0].lower()
        if " " in run or capital[word] >= _CAPITALISED * (capital[word] + small[word]):
            yield run


def _chinese_names(texts: list[str]) -> Iterator[str]:
    left = NAMES
    for text in texts:
        if left > 0 and has_han(text):
            left -= len(text)
            yield from chinese_names(text)
