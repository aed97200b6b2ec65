"""The right answers to a question, and where they stand in its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean
from plume.readers.example import Reading


@dataclass(frozen=True)
class GoldAnswer:
    """A right answer and where it begins in the context, in characters; -1: it does not occur there."""

    text: str
    start: int


def given_answers(record: Mapping[str, Any], place: str, reading: Reading) -> list[tuple[str, int | None]]:
    """What the file says, texts and starts (None: not said): a list as SQuAD writes it, the columns of the library datasets, or plain text."""
    found = record["answers"] if record.get("answers") is not None else record.get("answer")
    if record.get("is_impossible") is True:
        if found:
            reading.mend("answers to a question marked as impossible ignored", place)
        return []
    if found is None:
        raise PlumeError(
            f"{place}: no 'answers'. To learn from a question or to score it they are needed, as "
            '[{"text": "…", "answer_start": 17}], or [] where the context has no answer.'
        )
    if isinstance(found, Mapping) and isinstance(found.get("text"), list):
        starts = found.get("answer_start")
        starts = [None] * len(found["text"]) if starts is None else starts
        if not isinstance(starts, list) or len(starts) != len(found["text"]):
            raise PlumeError(f"{place}: answers with {len(found['text'])} 'text' need as many 'answer_start'; found {starts!r:.80}.")
        return [_answer(text, start, place) for text, start in zip(found["text"], starts, strict=True)]
    if isinstance(found, str):
        return [_answer(found, record.get("answer_start"), place)]
    return [
        _answer(one.get("text"), one.get("answer_start"), place) if isinstance(one, Mapping) else _answer(one, None, place)
        for one in (found if isinstance(found, list) else [found])
    ]


def _answer(text: Any, start: Any, place: str) -> tuple[str, int | None]:
    if not isinstance(text, str):
        raise PlumeError(f"{place}: the 'text' of an answer must be text; found {text!r:.80}.")
    try:
        return clean(text), None if start is None else int(start)
    except (TypeError, ValueError, OverflowError):
        raise PlumeError(f"{place}: 'answer_start' must be a number of characters; found {start!r:.80}.") from None


def place_answers(given: Sequence[tuple[str, int | None]], context: str, place: str, reading: Reading) -> tuple[GoldAnswer, ...] | None:
    """The answers where they truly stand. None: there are some, but the context holds none of them."""
    answers: list[GoldAnswer] = []
    mended = {}
    for text, start in given:
        if not text.strip():
            mended["empty answer ignored"] = place
            continue
        answer = _find(text, start, context)
        if answer is None:
            mended["answer that does not occur in its context ignored"] = place
            continue
        if start is not None and answer != GoldAnswer(text, start):
            mended["answer moved to where it stands"] = place
        answers.append(answer)
    if not answers and any(text.strip() for text, _ in given):
        return None
    for reason, where in mended.items():
        reading.mend(reason, where)
    return tuple(answers)


def _find(text: str, start: int | None, context: str) -> GoldAnswer | None:
    """At `start`, else at the occurrence nearest to it, else the same without the white space around it.

    >>> _find(" Rome ", 0, "To Rome, from Rome.")
    GoldAnswer(text='Rome', start=3)
    """
    wanted = max(start or 0, 0)
    for form, near in ((text, wanted), (text.strip(), wanted + len(text) - len(text.lstrip()))):
        before, after = context.rfind(form, 0, near + len(form)), context.find(form, near)
        places = [found for found in (after, before) if found >= 0]
        if places:
            return GoldAnswer(form, min(places, key=lambda found: abs(found - near)))
    return None
