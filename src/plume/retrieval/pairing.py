"""Which passages of a collection answer a question, and which look as if they did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plume.core.errors import PlumeError
from plume.retrieval.collection import Passages
from plume.retrieval.questions import SearchQuestion
from plume.retrieval.words import WordIndex

_LOOKED_AT = 100  # passages that BM25 finds, of which the first with an answer, or without, is taken


@dataclass(frozen=True, kw_only=True)
class Paired:
    """A question, and the numbers of its passages."""

    asked: SearchQuestion
    right: tuple[int, ...]  # the first of them is learned
    wrong: tuple[int, ...] = ()  # hard negatives, the hardest first


@dataclass(kw_only=True)
class Pairing:
    """What became of the questions."""

    pairs: list[Paired] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)  # why others are left out

    def lines(self, called: str) -> list[str]:
        """In words."""
        return [f"{called}: {count:,} questions are left out: {why}" for why, count in self.lost.items()]


def pair(questions: Sequence[SearchQuestion], passages: Passages, words: WordIndex | None, *, negatives: int) -> Pairing:
    """Each question with the passages that answer it, and with `negatives` that BM25 finds and that hold none of its answers.

    A question that names no passage gets the first that BM25 finds with one of its answers (DPR §4.2, of TriviaQA); `words` None looks for none.
    """
    places, made = _Places(passages), Pairing()
    for asked in questions:
        found = [] if words is None else words.best(asked.question, top=_LOOKED_AT)[0].tolist()
        right = tuple(dict.fromkeys(number for text in asked.positives for number in places.of(text, asked.answers)))
        if not right and not asked.positives:
            right = tuple(number for number in found if holds(passages.passages[number].text, asked.answers))[:1]
        if not right:
            made.lost["the passage stands in none of the documents" if asked.positives else _unanswered(asked)] += 1
            continue
        given = [number for text in asked.negatives for number in places.of(text, ())]
        hard = (one for one in found if one not in right and not holds(passages.passages[one].text, asked.answers))
        wrong = [number for number in dict.fromkeys([*given, *hard]) if number not in right][:negatives]
        made.pairs.append(Paired(asked=asked, right=right, wrong=tuple(wrong)))
    if not made.pairs:
        first = questions[0]
        raise PlumeError(
            f"{first.place}: of none of the {len(questions):,} questions is a passage known ({'; '.join(made.lost)}). "
            "Give the documents that the passages come from: --documents FILE."
        )
    return made


def _unanswered(asked: SearchQuestion) -> str:
    return "no document that shares a word holds an answer" if asked.answers else "it names neither a passage nor an answer"


def holds(text: str, answers: Sequence[str]) -> bool:
    """Does a text hold one of the answers, whatever the case and the spaces?

    >>> holds("It lies in New  York.", ["new york"])
    True
    """
    told = _plain(text)
    return any(_plain(answer) in told for answer in answers)


class _Places:
    """Where texts stand in a collection: as passages, or as documents that were cut."""

    def __init__(self, passages: Passages) -> None:
        self.passages = passages
        self.whole: dict[str, int] = {}
        parts: dict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(passages.passages):
            self.whole.setdefault(_tight(one.text), number)
            self.whole.setdefault(_tight(one.read), number)
            parts[one.document].append(number)
        self.documents: dict[str, list[int]] = {}
        for numbers in parts.values():
            if len(numbers) > 1:
                self.documents.setdefault(_tight("".join(passages.passages[number].text for number in numbers)), numbers)

    def of(self, text: str, answers: Sequence[str]) -> list[int]:
        """The passage that is this text; of a document that was cut the passages with an answer."""
        tight = _tight(text)
        if tight in self.whole:
            return [self.whole[tight]]
        numbers = self.documents.get(tight, [])
        return [number for number in numbers if holds(self.passages.passages[number].text, answers)] or numbers[:1]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _tight(text: str) -> str:
    """Without any space: passages were trimmed where they were cut."""
    return "".join(text.lower().split())


def filled_up(pairs: Sequence[Paired], passages: int, *, negatives: int, random: bool, seed: int) -> list[tuple[int, ...]]:
    """The hard negatives of each, all as many; where there are too few, or with `random`, drawn from all passages."""
    source = np.random.default_rng([seed % 2**64, 7])
    found = []
    for one in pairs:
        held = [] if random else list(one.wrong[:negatives])
        while len(held) < negatives:
            drawn = int(source.integers(passages))
            if drawn not in one.right or passages <= len(one.right):
                held.append(drawn)
        found.append(tuple(held))
    return found
