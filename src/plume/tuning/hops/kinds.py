"""What a question asks for, by its words: a span, yes or no, or one of two (CogQA §3.3)."""

from __future__ import annotations

import enum
import re

from plume.kb.names import normalised

_ASKS = re.compile(r"(is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE)
_ENDS = re.compile(r"[吗嗎][?？]?\s*$|是否|是不是")
_EITHER = re.compile(r"\bor\b|还是|還是")
YES_NO = {"yes": 1, "no": 0, "是": 1, "否": 0, "不是": 0}


class QuestionKind(enum.StrEnum):
    """How the answer is made of the graph."""

    SPAN = "span"
    YES_NO = "yes or no"
    EITHER = "one of two"


def kind_of(question: str, pages: int) -> QuestionKind:
    """Questions about two pages may compare them; all others ask for a span.

    >>> kind_of("Are both from Rome?", 2).value, kind_of("Which is older, A or B?", 2).value, kind_of("Who wrote A?", 1).value
    ('yes or no', 'one of two', 'span')
    """
    if pages < 2:
        return QuestionKind.SPAN
    if _EITHER.search(question):
        return QuestionKind.EITHER
    return QuestionKind.YES_NO if _ASKS.match(question.strip()) or _ENDS.search(question) else QuestionKind.SPAN


def either(question: str) -> bool:
    """Does it offer a choice?"""
    return _EITHER.search(question) is not None


def chosen_of_two(answers: tuple[str, ...], names: tuple[str, str]) -> int | None:
    """Which of the two a right answer names; None: neither, or both."""
    there = [any(_same(answer, name) for answer in answers) for name in names]
    return there.index(True) if sum(there) == 1 else None


def _same(answer: str, name: str) -> bool:
    one, other = normalised(answer), normalised(name)
    return bool(one) and (one in other or other in one)
