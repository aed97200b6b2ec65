"""What can be counted of a question and a relation: the letters they share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")


class Alike(NamedTuple):
    """Of a relation and a question."""

    share: float  # of the relation's parts that the question has
    weighed: float  # the same, rare parts counting more
    run: float  # the longest stretch of its letters that the question has, over all of them
    shared: float  # how many parts are shared, in fives


@lru_cache(maxsize=200_000)
def parts_of(text: str) -> frozenset[str]:
    """Han characters, and the stems of other words.

    >>> sorted(parts_of("directed by 作者"))
    ['by', 'direc', '作', '者']
    """
    return frozenset(word[:5] for word in _WORDS.findall(text))


class Likeness:
    """Of questions and the relations of one knowledge base, by which it knows what is rare."""

    def __init__(self, relations: Sequence[str]) -> None:
        often = Counter(part for relation in set(relations) for part in parts_of(relation))
        count = len(set(relations))
        self._rarity = {part: math.log((count + 1) / (number + 0.5)) for part, number in often.items()}
        self._unknown = math.log((count + 1) / 0.5)

    def of(self, question: str, relation: str, used: Collection[str] = ()) -> Alike:
        """Both as `flat` and `relation_text` leave them; `used` are relations that were followed before, whose parts were asked for then."""
        asked, parts = parts_of(question), parts_of(relation)
        for before in used:
            asked -= parts_of(before)
        if not parts & asked:
            return Alike(0.0, 0.0, 0.0, 0.0)
        shared = parts & asked
        whole = sum(self._rarity.get(part, self._unknown) for part in parts)
        weighed = sum(self._rarity.get(part, self._unknown) for part in shared) / whole if whole else 0.0
        return Alike(len(shared) / len(parts), weighed, _longest_run(question, relation) / len(relation), min(len(shared), 10) / 5)


def _longest_run(question: str, relation: str) -> int:
    """Letters of the longest stretch of the relation that the question has.

    >>> _longest_run("who directed it", "directed by")
    9
    """
    for size in range(len(relation), 0, -1):
        if any(relation[first : first + size] in question for first in range(len(relation) - size + 1)):
            return size
    return 0
