"""What can be said of a column of a table from its name and its first cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

LABELS = [
    *("label", "labels", "gold_label", "class", "category", "target", "quality", "judgment", "judgement", "gold", "stars", "rating"),
    *(
        "sentiment",
        "polarity",
        "emotion",
        "topic",
        "intent",
        "stance",
        "tag",
        "tags",
        "genres",
        "is_duplicate",
        "acceptability",
        "entailment",
    ),
    *("coarse", "y", "answer", "标签", "类别", "分类", "情感"),
]
SCORES = ["score", "similarity", "relatedness", "gold", "rating", "stars", "label", "target", "value", "y", "分数", "相似度"]
TEXTS = [
    *(
        "text",
        "sentence",
        "question",
        "premise",
        "hypothesis",
        "title",
        "content",
        "string",
        "review",
        "comment",
        "body",
        "document",
        "article",
    ),
    *(
        "tweet",
        "query",
        "utterance",
        "headline",
        "description",
        "abstract",
        "message",
        "passage",
        "context",
        "claim",
        "evidence",
        "sent",
        "txt",
    ),
    *("文本", "句子", "内容", "评论", "标题", "正文"),
]
IDS = ["id", "ids", "idx", "index", "guid", "uid", "uuid", "key", "number", "编号", "序号"]
# Thai to Burmese, Khmer, kana and Han are written without spaces: a character counts as a word.
_SPACELESS = r"\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNITS = re.compile(rf"[{_SPACELESS}]|[^\s{_SPACELESS}]+")
FEW = 10  # rows from which on it means something that a value comes again, or does not


def words_of(title: str) -> list[str]:
    """
    >>> words_of("#1 String"), words_of("sentenceA"), words_of("gold_label2")
    (['1', 'string'], ['sentence', 'a'], ['gold', 'label', '2'])
    """
    return re.findall(r"[^\W\d_]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", title).lower())


def rank(title: str, names: Sequence[str]) -> int | None:
    """How well a title fits the names: a whole one before one that has such a word in it, and those listed first before others."""
    words = words_of(title)
    if "_".join(words) in names:
        return names.index("_".join(words))
    return min((len(names) + names.index(word) for word in words if word in names), default=None)


def is_number(text: str) -> bool:
    """Does it read as a number?"""
    return re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", text) is not None


@dataclass(frozen=True)
class Column:
    """A column of a sample of the table, and what can be told from its values."""

    name: str  # as a layout calls it
    title: str  # as the file calls it; empty where it does not
    values: Sequence[Any]  # of the first rows: text, or what JSON held

    @cached_property
    def cells(self) -> list[str]:
        """The values as text."""
        return ["" if value is None else str(value).strip() for value in self.values]

    @cached_property
    def full(self) -> bool:
        """Is there something in every cell?"""
        return all(self.cells)

    @cached_property
    def distinct(self) -> int:
        """How many different values it has."""
        return len(set(self.cells))

    @cached_property
    def is_plain(self) -> bool:
        """No lists and no objects."""
        return not any(isinstance(value, list | dict) for value in self.values)

    @cached_property
    def is_numeric(self) -> bool:
        """Numbers only."""
        return any(self.cells) and all(is_number(cell) for cell in self.cells if cell)

    @cached_property
    def is_whole(self) -> bool:
        """Whole numbers only."""
        return self.is_numeric and all(cell.lstrip("-").isdecimal() for cell in self.cells if cell)

    @cached_property
    def is_id(self) -> bool:
        """By its title, or because it counts the rows."""
        return words_of(self.title)[-1:] in [[name] for name in IDS] or (
            self.is_whole and len(self.cells) >= 5 and self.distinct == len(self.cells)
        )

    @cached_property
    def words(self) -> float:
        """The mean of a cell, a Chinese character counting as one."""
        return sum(len(_UNITS.findall(cell)) for cell in self.cells) / max(1, len(self.cells))

    @cached_property
    def is_text(self) -> bool:
        """Several words, and seldom the same ones; a class may have such a name too, but comes again. Long ones may come again ten times."""
        if not self.is_plain or self.is_numeric or self.words < 3:
            return False
        return len(self.cells) < FEW or 3 * self.distinct >= len(self.cells) or (self.words >= 6 and 10 * self.distinct >= len(self.cells))

    @cached_property
    def comes_again(self) -> bool:
        """Do its values repeat, as labels do?"""
        return len(self.cells) >= FEW and 2 * self.distinct <= len(self.cells)

    @cached_property
    def is_label(self) -> bool:
        """In every row, short, and one of few."""
        if not (self.full and self.is_plain) or self.is_text or self.is_id or (self.is_numeric and not self.is_whole):
            return False
        return len(self.cells) < FEW or self.comes_again
