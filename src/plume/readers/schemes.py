"""Tags word by word (B-PER I-PER O) and the spans that they mean. Files are read in any scheme; inside plume tags are IOB2, here called BIO."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plume.core.errors import PlumeError

WORD = "W"  # the label of spans in files whose tags have no types: segmentation into words
SHAPE = "Tags look like B-PER, I-PER, O (or with E- and S- for the end and for a single word)"

# BMES, BILOU and BMEWO are BIOES in other letters.
_LETTERS = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}
_TYPED = re.compile(rf"[{''.join(_LETTERS)}]-.+", re.DOTALL)
_UNDERSCORED = re.compile(rf"([{''.join(_LETTERS)}])_(.+)", re.DOTALL)
_BEHIND = re.compile(rf"(.+)-([{''.join(_LETTERS)}])", re.DOTALL)


class Scheme(enum.StrEnum):
    """How a file says where an entity begins and ends."""

    BIO = "bio"  # IOB2: every entity begins with B-
    IOB1 = "iob1"  # B- only where an entity directly follows another of its type (Ramshaw and Marcus 1995; CoNLL-2003)
    BIOES = "bioes"  # E- ends it, S- is one of a single word; BMES and BILOU too
    IO = "io"  # neighbours of one type cannot be told apart
    PLAIN = "plain"  # no spans: parts of speech, taken as they are


@dataclass(frozen=True, kw_only=True)
class Span:
    """A labelled stretch: in characters of a text, or in words where that is said; `end` is the first place behind it."""

    start: int
    end: int
    label: str


def mistake_in(tag: str) -> str | None:
    """What is wrong with a tag that should say where an entity stands, and what to write instead; None for a good one.

    >>> mistake_in("B-PER.NOM"), mistake_in("B_PER")
    (None, "'B_PER' is no tag: write B-PER, with a hyphen")
    """
    if tag == "O" or tag in _LETTERS or _TYPED.fullmatch(tag):
        return None
    if found := _UNDERSCORED.fullmatch(tag):
        return f"'{tag}' is no tag: write {found[1]}-{found[2]}, with a hyphen"
    if tag in ("0", "o"):
        return f"'{tag}' is no tag: outside an entity write the capital letter O"
    if found := _BEHIND.fullmatch(tag):
        return f"'{tag}' is no tag: write {found[2]}-{found[1]}, the letter first"
    return f"'{tag}' is no tag. {SHAPE}"


def first_mistake(tags: Iterable[str]) -> tuple[str, str] | None:
    """The first tag of a file that is wrong, by itself or beside the others, and why."""
    tags = list(tags)
    typed = any(_TYPED.fullmatch(tag) for tag in tags)
    for tag in tags:
        if wrong := mistake_in(tag):
            return tag, wrong
        if typed and tag in _LETTERS:
            return tag, f"'{tag}' has no type, while other tags have one: write {tag}-PER, or whatever it is"
    return None


def find_scheme(sentences: Iterable[Sequence[str]]) -> Scheme:
    """Which scheme the tags of a file are written in.

    >>> find_scheme([["I-PER", "I-PER", "O"]]), find_scheme([["B", "E", "S"]])
    (<Scheme.IO: 'io'>, <Scheme.BIOES: 'bioes'>)
    """
    tags: dict[str, None] = {}  # in the order in which they are met
    by_b = by_i = 0  # entities that begin with B- and with I-, but for those right behind one of their type
    for sentence in sentences:
        tags.update(dict.fromkeys(sentence))
        before = ("O", "")
        for tag in sentence:
            letter, label = _parts(tag)
            if letter in "BI" and (before[0] == "O" or before[1] != label):
                by_b += letter == "B"
                by_i += letter == "I"
            before = letter, label
    wrong = first_mistake(tags)
    if wrong and "O" not in tags and not any(_TYPED.fullmatch(tag) for tag in tags):
        return Scheme.PLAIN
    if wrong:
        raise PlumeError(f"{wrong[1]}.")
    letters = {_parts(tag)[0] for tag in tags}
    if letters & {"E", "S"} or any(tag[0] == "M" for tag in tags):
        return Scheme.BIOES
    if "B" not in letters:
        return Scheme.IO if "I" in letters else Scheme.BIO
    # Most files have a few wrong tags, so the larger number decides: IOB1 has no B- but between two entities of one type.
    return Scheme.IOB1 if by_i > by_b else Scheme.BIO


def to_bio(tags: Sequence[str], scheme: Scheme) -> tuple[list[str], int]:
    """The same entities in IOB2, and how many tags broke the scheme. An I- that continues nothing begins an entity, as in conlleval.

    >>> to_bio(["I-PER", "B-PER", "I-LOC"], Scheme.IOB1)
    (['B-PER', 'B-PER', 'B-LOC'], 0)
    """
    if scheme is Scheme.PLAIN:
        return list(tags), 0
    result: list[str] = []
    broken = 0
    before, label_before = "O", ""
    for tag in tags:
        letter, label = _parts(tag)
        unfinished = before in "BI"
        continues = letter in "IE" and unfinished and label == label_before
        broken += _breaks(letter, scheme, continues=continues, unfinished=unfinished)
        result.append("O" if letter == "O" else f"{'I' if continues else 'B'}-{label}")
        before, label_before = letter, label
    return result, broken + (scheme is Scheme.BIOES and before in "BI")


def _breaks(letter: str, scheme: Scheme, *, continues: bool, unfinished: bool) -> bool:
    """Is the letter out of place? What is out of place is still read: only its count depends on the scheme."""
    if scheme is Scheme.BIOES:
        return not continues if letter in "IE" else unfinished
    if letter in "ES":
        return True
    if scheme is Scheme.BIO:
        return letter == "I" and not continues
    return scheme is Scheme.IO and letter == "B"


def spans_of(tags: Sequence[str]) -> list[Span]:
    """The entities of BIO tags, in words, as seqeval's `get_entities` and conlleval find them: an I- that continues nothing begins one.

    >>> spans_of(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(start=0, end=2, label='PER'), Span(start=3, end=4, label='LOC')]
    """
    spans: list[Span] = []
    start, label = 0, None  # of the entity that is open, if any
    for place, tag in enumerate([*tags, "O"]):
        kind = None if tag == "O" else tag[1:].split("-", 1)[-1] or "_"
        if label is not None and (kind != label or tag[0] == "B"):
            spans.append(Span(start=start, end=place, label=label))
            label = None
        if kind is not None and label is None:
            start, label = place, kind
    return spans


def bio_of(spans: Sequence[Span], length: int) -> list[str]:
    """The tags of spans that do not overlap: the inverse of `spans_of`.

    >>> bio_of([Span(start=1, end=3, label="LOC")], 4)
    ['O', 'B-LOC', 'I-LOC', 'O']
    """
    tags = ["O"] * length
    for span in spans:
        if not 0 <= span.start < span.end <= length or any(tag != "O" for tag in tags[span.start : span.end]):
            raise ValueError(f"{span} overlaps another, or is not within 0 … {length}.")
        tags[span.start : span.end] = [f"B-{span.label}"] + [f"I-{span.label}"] * (span.end - span.start - 1)
    return tags


def in_characters(spans: Iterable[Span], words: Sequence[tuple[int, int]]) -> list[Span]:
    """Spans in words as spans of the text in which the words stand.

    >>> in_characters([Span(start=1, end=3, label="LOC")], [(0, 2), (3, 6), (7, 11)])
    [Span(start=3, end=11, label='LOC')]
    """
    return [Span(start=words[span.start][0], end=words[span.end - 1][1], label=span.label) for span in spans]


def _parts(tag: str) -> tuple[str, str]:
    """The letter, in BIOES, and the type; a letter alone marks words."""
    if tag == "O":
        return "O", ""
    return _LETTERS.get(tag[:1], tag[:1]), tag[2:] or WORD
