"""Hits out of what the two sides found: merged by reciprocal ranks (Cormack, Clarke and Büttcher 2009), read at once."""

from __future__ import annotations

from collections.abc import Sequence

from plume.search.backend import Backend, Matches, StoredPassage
from plume.search.hits import Hit
from plume.search.settings import Analysis

CANDIDATES = 100  # of each side that are merged or re-ranked
_K = 60


def reciprocal_ranks(*rankings: Sequence[int]) -> dict[int, float]:
    """Keys with the sum of 1 / (60 + rank) over the rankings, the best first; of equals the one that was first in the first ranking.

    >>> list(reciprocal_ranks([7, 8, 9], [8, 7]))
    [7, 8, 9]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (_K + rank)
    return dict(sorted(scores.items(), key=lambda one: -one[1]))


def make_hits(
    backend: Backend, queries: Sequence[str], near: Matches | None, said: Matches | None, *, top: int, analysis: Analysis | None
) -> list[list[Hit]]:
    """The best of each query; a side that was not asked is None."""
    sides = [(_scores(near, number), _scores(said, number)) for number in range(len(queries))]
    both = near is not None and said is not None
    ranked = [reciprocal_ranks(list(vectors), list(words)) if both else vectors or words for vectors, words in sides]
    best = [list(one)[:top] for one in ranked]
    wanted = list(dict.fromkeys(key for keys in best for key in keys))
    passages = dict(zip(wanted, backend.get(wanted), strict=True))
    return [
        [_hit(passages[key], scores[key], vectors.get(key), words.get(key), query, analysis) for key in keys]
        for query, keys, scores, (vectors, words) in zip(queries, best, ranked, sides, strict=True)
    ]


def _scores(matches: Matches | None, number: int) -> dict[int, float]:
    if matches is None:
        return {}
    return {key: score for key, score in zip(matches.keys[number].tolist(), matches.scores[number].tolist(), strict=True) if key >= 0}


def _hit(passage: StoredPassage, score: float, vectors: float | None, words: float | None, query: str, analysis: Analysis | None) -> Hit:
    return Hit(
        id=passage.document, text=passage.text, start=passage.start, end=passage.end, metadata=passage.metadata,
        score=score, vectors=vectors, words=words, query=query, analysis=analysis,
    )  # fmt: skip
