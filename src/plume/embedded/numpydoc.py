"""Prose out of docstrings, without examples, formulas, tables and references. Sections may be numpydoc's (NumPy, SciPy, scikit-learn) or Google's
(PyTorch)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plume.embedded.markup import plain
from plume.text.sentences import split_sentences

_RULE = re.compile(r"[-=~^*]{3,}\s*")
_GOOGLE = re.compile(
    r"(Args|Arguments|Keyword args|Keyword Arguments|Returns?|Raises|Yields|Shape|Inputs?|Outputs?|Attributes|Examples?|Notes?|Warnings?)::?\s*$"
)
_DROPPED = frozenset(
    {"Examples", "Example", "References", "See Also", "See also", "Methods", "Shape", "Citing", "Functions", "Classes", "Usage"}
)
_LISTS = frozenset({"Parameters", "Other Parameters", "Returns", "Return", "Yields", "Raises", "Warns", "Attributes", "Args", "Arguments"})
_KEPT_DIRECTIVES = frozenset({"note", "warning", "warnings", "important", "tip", "seealso"})
_DIRECTIVE = re.compile(r"\.\.\s+(?:([\w:-]+)::(.*)|.*)")
_NUMPY_ITEM = re.compile(r"(?P<names>\*{0,2}[A-Za-z_]\w*(?:\s*,\s*\*{0,2}[A-Za-z_]\w*)*)\s*(?::.*)?")
_GOOGLE_ITEM = re.compile(r"(?P<name>\*{0,2}[A-Za-z_]\w*)(?:\s*\([^)]*\))?:\s+(?P<rest>\S.*)")
_BULLET = re.compile(r"(?:[-*+•]|\d+[.)]|#\.|\([a-z0-9]\))\s+")
_NO_PROSE = re.compile(r">>>|\.\.\.\s|`|\\|\||__+|={2,}|-{3,}|\$|https?:|[{}<>]|\+-|~~|\^|@|:\w+$")


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Sentences of one section of a docstring."""

    section: str  # "" before the first heading
    sentences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Line:
    indent: int
    text: str


def passages(docstring: str) -> tuple[list[Passage], frozenset[str]]:
    """The paragraphs with their mark-up, and the names that are explained in lists of parameters."""
    names: set[str] = set()
    found: list[Passage] = []
    for section, lines in _sections([_Line(indent=len(line) - len(line.lstrip()), text=line.strip()) for line in docstring.splitlines()]):
        if section in _DROPPED:
            continue
        body = list(_without_items(lines, names)) if section in _LISTS else lines
        for paragraph in _paragraphs(body):
            if sentences := tuple(sentence for sentence in split_sentences(paragraph) if _is_prose(sentence)):
                found.append(Passage(section=section, sentences=sentences))
    return found, frozenset(names)


def _is_prose(marked: str) -> bool:
    """A whole sentence of words: it begins with a capital, ends with a stop, and holds no formula, table or address."""
    if ":math:" in marked or not 3 <= marked.count(" ") < 60:
        return False
    sentence = plain(marked)
    whole = sentence[0].isupper() and sentence[-1] in ".!?:" and sentence.count(" ") >= 3 and not _NO_PROSE.search(sentence)
    return whole and sum(map(str.isalpha, sentence)) > 0.65 * len(sentence)


def _sections(lines: Sequence[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    section = ""
    body: list[_Line] = []
    inside: int | None = None  # the indent of a heading in Google's style: what is not further in ends its section
    for line, following in itertools.pairwise([*lines, _Line(indent=0, text="")]):
        google = _GOOGLE.fullmatch(line.text)
        ruled = line.text and _RULE.fullmatch(following.text) and not _RULE.fullmatch(line.text)
        over = inside is not None and line.text and line.indent <= inside
        if google or ruled or over:
            yield section, body
            section, body = (google[1] if google else line.text if ruled else ""), []
            inside = line.indent if google else None
        if not google and not ruled and not _RULE.fullmatch(line.text):
            body.append(line)
    yield section, body


def _without_items(lines: Sequence[_Line], names: set[str]) -> Iterator[_Line]:
    """What is said about each item, a paragraph each; the items themselves are only noted."""
    left = min((line.indent for line in lines if line.text), default=0)
    for line in lines:
        if line.indent > left or not line.text:
            yield line
        elif google := _GOOGLE_ITEM.fullmatch(line.text):
            names.add(google["name"].strip("*"))
            yield _Line(indent=0, text="")
            yield _Line(indent=left + 4, text=google["rest"])
        elif numpy := _NUMPY_ITEM.fullmatch(line.text):
            names.update(name.strip("* ") for name in numpy["names"].split(","))
            yield _Line(indent=0, text="")


def _paragraphs(lines: Sequence[_Line]) -> Iterator[str]:
    """Lines that belong together, joined. Blocks that a directive or a double colon announces are passed over."""
    paragraph: list[str] = []
    hidden: int | None = None  # the indent of what announced the block
    for line in [*lines, _Line(indent=0, text="")]:
        if hidden is not None and (not line.text or line.indent > hidden):
            continue
        hidden = None
        directive = _DIRECTIVE.fullmatch(line.text)
        bullet = _BULLET.match(line.text)
        if paragraph and (not line.text or directive or bullet):
            yield " ".join(paragraph)
            paragraph = []
        if directive and directive[1] not in _KEPT_DIRECTIVES:
            hidden = line.indent
        elif directive:
            paragraph = directive[2].split()
        elif line.text.startswith(">>>"):
            hidden = line.indent - 1
        elif line.text:
            paragraph.append(line.text[bullet.end() :] if bullet else line.text)
            if line.text.endswith("::"):
                paragraph[-1] = paragraph[-1][:-1]
                yield " ".join(paragraph)
                paragraph, hidden = [], line.indent
