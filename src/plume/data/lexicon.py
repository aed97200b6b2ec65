"""Phrases and entities: a user's list of them, and where they stand in a store (ERNIE, arXiv:1904.09223, §3.2)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_text
from plume.data.lines import read_lines
from plume.text.languages import has_han
from plume.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from plume.data.store import Store

CHUNK = 1 << 22  # tokens looked at once
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class UnitKind(enum.StrEnum):
    """What is hidden as a whole (ERNIE, arXiv:1904.09223 §3.2)."""

    PHRASE = "phrase"
    ENTITY = "entity"


@dataclass(frozen=True, kw_only=True)
class LexiconEntry:
    """A phrase or the name of an entity."""

    text: str
    kind: UnitKind = UnitKind.PHRASE


def read_lexicon(path: Path) -> list[LexiconEntry]:
    """One entry a line; after a tab its kind, `phrase` or `entity` (a phrase, if none is given)."""
    entries: dict[str, LexiconEntry] = {}
    for number, line in read_lines(path, longest=None):
        text, _, kind = (part.strip() for part in line.partition("\t"))
        if not text and not kind:
            continue
        if not text:
            raise PlumeError(f"{path}, line {number}: a kind without an entry: write the entry, a tab, and phrase or entity.")
        if kind and kind.lower() not in list(UnitKind):
            raise PlumeError(f"{path}, line {number}: the kind of '{text}' is '{kind}', where it must be phrase or entity, or left out.")
        entries[text] = LexiconEntry(text=text, kind=UnitKind(kind.lower() or UnitKind.PHRASE))
    if not entries:
        raise PlumeError(f"{path} holds no entries: write one phrase or entity a line.")
    return list(entries.values())


def write_lexicon(path: Path, entries: Iterable[LexiconEntry]) -> None:
    """As `read_lexicon` reads it."""
    write_text(path, "".join(f"{entry.text}\t{entry.kind.value}\n" for entry in entries))


def mark_units(store: Store, entries: Iterable[LexiconEntry], tokenizer: Tokenizer) -> dict[str, NDArray[np.bool_]]:
    """`Store.units` for these entries: by kind, where a unit begins. Elsewhere words begin units, as they do in `word_start`.

    Each stage masks one kind: entities are no part of the phrases. In a script of which no entity is known (text in small letters, a
    lexicon of phrases only) phrases take their place, as single words would be a step back.
    """
    by_kind: dict[UnitKind, list[str]] = {kind: [] for kind in UnitKind}
    for entry in entries:
        by_kind[entry.kind].append(entry.text)
    scripts = {has_han(text) for text in by_kind[UnitKind.ENTITY]}
    by_kind[UnitKind.ENTITY] += [text for text in by_kind[UnitKind.PHRASE] if has_han(text) not in scripts]
    return {kind.value: unit_starts(store, encoded_forms(texts, tokenizer)) for kind, texts in by_kind.items()}


def encoded_forms(texts: Sequence[str], tokenizer: Tokenizer, *, least: int = 2) -> list[tuple[int, ...]]:
    """The ids of each text at the start of a line, after a space, and after a sign: the same for some tokenizers, not for all.

    Those of fewer than `least` tokens are left out: hiding them whole is nothing new."""
    before = "，"
    sign = tokenizer.encode([before])[0]
    after = [ids[len(sign) :] for ids in tokenizer.encode([before + text for text in texts]) if ids[: len(sign)] == sign]
    found = [*tokenizer.encode(texts), *tokenizer.encode([f" {text}" for text in texts]), *after]
    known = (tuple(ids) for ids in found if tokenizer.unknown not in ids)
    return list(dict.fromkeys(ids for ids in known if len(ids) >= least))


def unit_starts(store: Store, phrases: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """[N] true where a word or a phrase begins, false inside. From left to right, the longest phrase first; whole words only."""
    starts = np.array(store.word_start)
    place, size = found_phrases(store, phrases)
    inside = np.repeat(place, size - 1) + 1 + np.arange(int((size - 1).sum())) - np.repeat(np.cumsum(size - 1) - (size - 1), size - 1)
    starts[inside] = False
    return starts


def found_phrases(store: Store, phrases: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where phrases stand, and how long they are: from left to right, the longest first, none over another."""
    place, size = _matches(store, phrases)
    kept = _without_overlaps(place, size)
    return place[kept], size[kept]


def _matches(store: Store, phrases: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a phrase can begin, and the length of the longest that does."""
    by_length: dict[int, list[Sequence[int]]] = {}
    for phrase in phrases:
        if len(phrase):
            by_length.setdefault(len(phrase), []).append(phrase)
    hashes = {length: np.unique(_hash(np.array(group))) for length, group in by_length.items()}
    opens = np.zeros(store.vocabulary, bool)
    opens[[phrase[0] for group in by_length.values() for phrase in group]] = True
    places, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first in range(0, len(store.tokens), CHUNK):
        chunk = slice(first, first + CHUNK)
        place = first + np.flatnonzero(opens[store.tokens[chunk]] & store.word_start[chunk])
        best = np.zeros(len(place), np.int64)
        for length, known in sorted(hashes.items()):
            best[_is_match(store, place, length, known)] = length
        places.append(place[best > 0])
        sizes.append(best[best > 0])
    return np.concatenate(places), np.concatenate(sizes)


def _is_match(store: Store, place: NDArray[np.int64], length: int, known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    total = len(store.tokens)
    fits = place + length < total  # a separator follows every document, so that no phrase can end with the store
    after = np.minimum(place + length, total - 1)
    fits &= store.word_start[after]
    window = np.minimum(place[fits][:, None] + np.arange(length), total - 1)
    found = fits.copy()
    value = _hash(store.tokens[window])
    found[fits] = known[np.minimum(np.searchsorted(known, value), len(known) - 1)] == value
    return found


def _hash(ids: NDArray[np.generic]) -> NDArray[np.uint64]:
    """One 64-bit number for each row of ids; two different rows among a billion share one with odds of one in ten."""
    value = np.zeros(len(ids), np.uint64)
    with np.errstate(over="ignore"):
        for column in ids.T.astype(np.uint64):
            value = (value ^ (column + np.uint64(1))) * _MULTIPLIER
            value ^= value >> np.uint64(29)
    return value


def _without_overlaps(place: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """From left to right, each that begins after the last one kept. Only where matches overlap is there anything to decide one by one."""
    end = place + size
    furthest = np.maximum.accumulate(end) if len(end) else end
    overlaps = np.zeros(len(place), bool)
    overlaps[1:] = place[1:] < furthest[:-1]
    group = np.cumsum(~overlaps)
    alone = np.bincount(group, minlength=1)[group] == 1
    kept, last, last_group = np.flatnonzero(alone).tolist(), 0, 0
    disputed = np.flatnonzero(~alone)
    for number, begin, stop, which in zip(*(array[disputed].tolist() for array in (np.arange(len(place)), place, end, group)), strict=True):
        if which != last_group or begin >= last:
            kept.append(number)
            last, last_group = stop, which
    return np.sort(np.array(kept, np.int64))
