"""Which columns of a table are the texts, and which the answer: by their names where those are known, else by what is in them.

All the guessing is on this page. It may give several columns, or none, and then a person is asked: a wrong guess is worse than a question.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from plume.readers.table_columns import LABELS, SCORES, TEXTS, Column, rank, words_of

_THE_TEXT = ("text", "sentence", "文本", "句子")  # a column called so is meant, whatever others there are
_COUNTERPARTS = {
    ("1", "2"),
    ("a", "b"),
    ("first", "second"),
    ("left", "right"),
}  # sentence1 and sentence2, text_a and text_b, #1 String and #2 String
_PAIRS = {
    *(("premise", "hypothesis"), ("text", "hypothesis"), ("question", "sentence"), ("question", "passage"), ("question", "context")),
    *(("query", "passage"), ("query", "document"), ("claim", "evidence"), ("text", "text_pair")),
}
_SEPARATORS = ("|", ";", ",", "；", "，", "、", " ")


class AnswerKind(enum.StrEnum):
    """What the answer column holds."""

    LABEL = "label"  # str
    LABELS = "labels"  # tuple[str, ...]
    SCORE = "score"  # float


def split_labels(column: Column) -> tuple[Column, str | None]:
    """A column of several labels a cell as one of a label a cell, and what stood between them; JSON lists need nothing there."""
    if not column.is_plain:
        return Column(
            column.name, column.title, [item for value in column.values for item in (value if isinstance(value, list) else [value])]
        ), None
    for separator in _SEPARATORS:
        parts = [part for cell in column.cells for part in cell.split(separator) if part.strip()]
        # A space also stands within the name of a class: it separates only where the parts are fewer than the cells made of them.
        if any(separator in cell for cell in column.cells) and (separator != " " or len(set(parts)) < column.distinct):
            return Column(column.name, column.title, parts), separator
    return Column(column.name, column.title, [cell for cell in column.cells if cell]), None


def answer_candidates(columns: Sequence[Column], answer: AnswerKind) -> list[Column]:
    """The columns that may hold the answer; exactly one where it is clear."""
    if answer is AnswerKind.SCORE:
        return _best([column for column in columns if column.is_numeric], SCORES, _score_class)
    if answer is AnswerKind.LABELS:
        whole = {column.name: column for column in columns}
        split = [split_labels(column)[0] for column in columns]
        return [whole[column.name] for column in _best([column for column in split if column.values], LABELS, _label_class)]
    return _best([column for column in columns if column.is_plain and (not column.is_text or column.comes_again)], LABELS, _label_class)


def _best(columns: Sequence[Column], names: Sequence[str], class_of: Callable[[Column], int | None]) -> list[Column]:
    """By name if one is known; else those of the best class there is by what they hold."""
    named = [column for column in columns if rank(column.title, names) is not None]
    if named:
        return [min(named, key=lambda column: rank(column.title, names) or 0)]
    classes = {column.name: class_of(column) for column in columns}
    best = min((found for found in classes.values() if found is not None), default=None)
    equal = [column for column in columns if best is not None and classes[column.name] == best]
    # Of columns that come again, one of words is a class and one of whole phrases a text, however few there are (files made for trying out).
    short = [column for column in equal if column.words < 1.5 and column.words * 2 <= max(other.words for other in equal)]
    return short if len(short) == 1 else equal


def _label_class(column: Column) -> int | None:
    """Numbers of classes before words, which may also be a source or a genre (CoLA), and both before what never changes."""
    if not column.is_label:
        return None
    return 2 if column.distinct < 2 else 0 if column.is_whole else 1


def _score_class(column: Column) -> int | None:
    """Fractions before whole numbers, which may also be a year or a running number (STS-B)."""
    if column.is_id or not column.full:
        return None
    return 1 if column.is_whole else 0


def text_candidates(columns: Sequence[Column], count: int | None) -> list[Column]:
    """The texts among the columns that are not the answer."""
    if pair := _named_pair(columns):
        return pair
    named = [column for column in columns if _is_named_text(column)]
    the_text = [column for column in named if "_".join(words_of(column.title)) in _THE_TEXT]
    likely = [column for column in columns if column.is_text]
    either = [column for column in columns if column in named or column in likely]
    left = [column for column in columns if not column.is_id]
    wordy = [column for column in left if not column.is_numeric]  # texts of a word or two
    if count == 2:
        return next((found for found in (named, either, likely, wordy, left) if len(found) == 2), either)
    return next((found for found in (the_text, named, likely, wordy, left) if found), [])


def is_clear(texts: Sequence[Column], count: int | None) -> bool:
    """Whether they are what was asked for; None asks for one text, or for two that are plainly a pair."""
    if count is not None or len(texts) != 2:
        return len(texts) == (count or 1)
    one, other = texts
    # Without names, two texts of like length are a pair: a title and its article are not.
    unnamed = (
        not (one.title or other.title) and one.is_text and other.is_text and max(one.words, other.words) <= 3 * min(one.words, other.words)
    )
    return unnamed or bool(_named_pair(texts))


def _is_named_text(column: Column) -> bool:
    return (
        column.is_plain
        and not (column.is_numeric or column.is_id)
        and rank(column.title, TEXTS) is not None
        and rank(column.title, LABELS) is None
    )


def _named_pair(columns: Sequence[Column]) -> list[Column]:
    """Two texts whose names differ in a 1 and a 2, or are known to go together; of several such pairs (parses of the sentences) the plainest name."""
    found: list[tuple[int, list[Column]]] = []
    texts = [column for column in columns if column.title and column.is_plain and not column.is_numeric]
    for one in texts:
        for other in texts:
            first, second = words_of(one.title), words_of(other.title)
            unlike = [words for words in zip(first, second, strict=False) if words[0] != words[1]]
            if ("_".join(first), "_".join(second)) in _PAIRS:
                found.append((0, [one, other]))
            elif len(first) == len(second) and len(unlike) == 1 and unlike[0] in _COUNTERPARTS:
                base = "_".join(word for word in first if word != unlike[0][0])
                if base in TEXTS or (one.is_text and other.is_text):
                    found.append((0 if base in TEXTS else 1, [one, other]))
    return min(found, key=lambda entry: entry[0])[1] if found else []
