"""CoNLL files: a word and its tag a line, in columns, a blank line between sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.data.documents import suffix
from plume.readers.conll_rows import ConllColumns, Row, find_columns, lines_of, read_rows
from plume.readers.example import Example, Reading
from plume.readers.schemes import Scheme, find_scheme, first_mistake, mistake_in, to_bio
from plume.text.languages import HAN, has_han

# Scripts and punctuation between which nobody writes a space: Han, kana, CJK and full-width marks, and the quotes and dashes of Chinese.
_NO_SPACE = re.compile(rf"[{HAN}\u3000-\u30ff\u31f0-\u31ff\ufe30-\ufe4f\uff00-\uffef“”‘’…—·]")
_MARKED = re.compile(r"(.+?)[0-9]+", re.DOTALL)
_SAMPLE = 400  # lines that tell a CoNLL file
_JSON = ('{"', "[{", '["')
_NAMES = (".bio", ".bioes", ".bmes", ".bmeso", ".iob", ".iob1", ".iob2", ".iobes")
_MENDED = "tags that break the scheme"


@dataclass(frozen=True, kw_only=True)
class Conll(Part):
    """How a training file is written; kept with the model, so that later files are read alike."""

    scheme: Scheme
    column: int = -1  # of the tag: 1 is the first, -1 the last; in CoNLL-U files -1 means UPOS
    characters: bool = False  # a character a line, so that no spaces belong between them
    marked: bool = False  # each character has its place in its word behind it, as in Weibo NER: 口0 腔1


def find_conll(path: Path, *, plain: bool, column: int = -1) -> Conll:
    """Look through a training file; `plain`: its tags are no spans but parts of speech."""
    words: set[str] = set()
    lines: dict[str, int] = {}  # where each tag is met first
    sentences: list[list[str]] = []
    count = single = 0
    for rows in read_rows(path, find_columns(path, labelled=True, column=column)):
        sentences.append([row.tag for row in rows])
        words.update(row.word for row in rows if row.word)
        for row in rows:
            lines.setdefault(row.tag, row.line)
            count += 1
            single += len(row.word) == 1
    if not sentences:
        raise PlumeError(f"{path} holds no tagged word: expected a word and its tag a line, and a blank line between sentences.")
    if not plain and (wrong := first_mistake(lines)):
        raise PlumeError(_no_tag(path, lines[wrong[0]], wrong[1]))
    marked = all(_MARKED.fullmatch(word) for word in words)
    return Conll(
        scheme=Scheme.PLAIN if plain else find_scheme(sentences),
        column=column,
        characters=marked or single > 0.9 * count,  # some files keep numbers and Latin words whole
        marked=marked,
    )


def read_conll(path: Path, reading: Reading, *, labelled: bool, conll: Conll) -> Iterator[Example]:
    """A sentence an example: its text, where its words stand in it, and its tags as BIO (or as they are)."""
    columns = find_columns(path, labelled=labelled, column=conll.column)
    reading.format = _describe(conll, columns)
    known: set[str] = set()
    for found in read_rows(path, columns):
        rows = _with_words(found, path, reading)
        if not rows:
            continue
        words = [_unmarked(row.word) for row in rows] if conll.marked else [row.word for row in rows]
        text, places = join_words(words, characters=conll.characters)
        tags = _tags(rows, conll, known, path, reading) if labelled else None
        reading.read += 1
        yield Example(texts=(text,), words=places, answer=tags, line=rows[0].line)


def _with_words(rows: list[Row], path: Path, reading: Reading) -> list[Row]:
    """Crawled files have lines whose word was a space, or a character that somebody's clean-up took away."""
    if all(row.word for row in rows):
        return rows
    for row in rows:
        if not row.word:
            reading.mend("a line without a word is passed over", f"{path.name}, line {row.line}")
    return [row for row in rows if row.word]


def _tags(rows: Sequence[Row], conll: Conll, known: set[str], path: Path, reading: Reading) -> tuple[str, ...]:
    tags = [row.tag for row in rows]
    if conll.scheme is Scheme.PLAIN:
        return tuple(tags)
    for row in rows:
        if row.tag not in known:
            if wrong := mistake_in(row.tag):
                raise PlumeError(_no_tag(path, row.line, wrong))
            known.add(row.tag)
    result, broken = to_bio(tags, conll.scheme)
    for _ in range(broken):
        reading.mend(_MENDED, f"{path.name}, sentence of line {rows[0].line}")
    return tuple(result)


def _no_tag(path: Path, line: int, wrong: str) -> str:
    return f"{path}, line {line}: {wrong}. If the tag stands in another column, name it; for parts of speech use --task pos."


def _unmarked(word: str) -> str:
    found = _MARKED.fullmatch(word)
    return found[1] if found else word


def _describe(conll: Conll, columns: ConllColumns) -> str:
    scheme = f", {conll.scheme.value.upper()} tags" if columns.tag and conll.scheme is not Scheme.PLAIN else ""
    marked = "; the digits behind each character, its place in the word, are taken off" if conll.marked else ""
    return f"CoNLL, {columns}{scheme}{marked}"


def join_words(words: Sequence[str], *, characters: bool = False) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A text of words, and where each stands in it. Spaces go where a writer would put them: none between Chinese words.

    >>> join_words(["plume", "是", "工作台", "。"])
    ('plume 是工作台。', ((0, 5), (6, 7), (7, 10), (10, 11)))
    """
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at, before = 0, ""
    for word in words:
        if before and _space_between(before, word, characters=characters):
            parts.append(" ")
            at += 1
        parts.append(word)
        places.append((at, at + len(word)))
        at, before = at + len(word), word
    return "".join(parts), tuple(places)


def _space_between(before: str, word: str, *, characters: bool) -> bool:
    if characters and (len(before) == 1 or len(word) == 1):
        return False
    return before.isascii() or word.isascii() or not (_NO_SPACE.match(before[-1]) and _NO_SPACE.match(word[0]))


def looks_like_conll(path: Path) -> bool:
    """By its first lines: as many columns everywhere, and a blank line between some or tags in the last column. Words alone: see `_are_words`."""
    columns = find_columns(path, labelled=False, column=-1)
    cells: list[list[str]] = []
    blank, gaps = False, 0
    for _, line in itertools.islice(lines_of(path), _SAMPLE):
        gaps += blank and bool(line) and bool(cells)
        blank = not line
        if line and not columns.is_comment(line):
            cells.append(columns.split(line))
    if columns.word == 2:
        return True
    if not cells or cells[0][0].startswith(_JSON) or any(len(row) != columns.width or any(" " in cell for cell in row) for row in cells):
        return False
    if columns.width == 1:
        return _is_named(path) or (gaps > 0 and _are_words([row[0] for row in cells], sentences=gaps + 1))
    return gaps > 0 or all(mistake_in(row[-1]) is None for row in cells)


def _is_named(path: Path) -> bool:
    ending = suffix(path).lower()
    return ending in _NAMES or ending.startswith(".conll")


def _are_words(lines: Sequence[str], *, sentences: int) -> bool:
    """Lines of Chinese have no spaces either, but are longer than its words; and where blank lines part them, few stand together."""
    chinese = [line for line in lines if has_han(line)]
    short = sum(map(len, chinese)) <= 3 * len(chinese) and max(map(len, chinese), default=0) <= 10 and max(map(len, lines)) <= 100
    return short and len(lines) >= 3 * sentences
