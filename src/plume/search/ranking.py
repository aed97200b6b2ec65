"""Hits out of what the two sides found: merged by their scores, read at once.

Scores of two sides have different scales: each side's are put between its best, which is 1, and what it did not find, which is 0, and averaged
(min–max CombSUM: Lee 1997, "Analyses of multiple evidence combination"). Reciprocal ranks (Cormack, Clarke and Büttcher 2009) need no scale, but
do not see by how much a side prefers its first, and where one side was clearly the better they fell behind it (docs/search.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plume.search.backend import Backend, Matches, StoredPassage
from plume.search.hits import Hit
from plume.search.settings import Analysis

CANDIDATES = 100  # of each side that are merged or re-ranked


def merged(vectors: Mapping[int, float], words: Mapping[int, float], *, asked: int) -> dict[int, float]:
    """Keys with the mean of what the sides say, the best first; of equals the one that the vectors have first. Of a side that was asked for so many
    and found them, the last says what is not worth finding; where words found fewer, the others have none of them, and a score of 0.

    >>> merged({7: 0.9, 8: 0.8, 9: 0.5}, {8: 12.0, 9: 3.0}, asked=3)
    {8: 0.875, 7: 0.5, 9: 0.125}
    """
    scores: dict[int, float] = {}
    for side, least in ((vectors, min(vectors.values(), default=0.0)), (words, min(words.values(), default=0.0) * (len(words) >= asked))):
        best = max(side.values(), default=0.0)
        for key, score in side.items():
            share = (score - least) / (best - least) if best > least else 1.0
            scores[key] = scores.get(key, 0.0) + 0.5 * share
    return dict(sorted(scores.items(), key=lambda one: -one[1]))


def make_hits(
    backend: Backend, queries: Sequence[str], near: Matches | None, said: Matches | None, *, top: int, analysis: Analysis | None
) -> list[list[Hit]]:
    """The best of each query; a side that was not asked is None."""
    sides = [(_scores(near, number), _scores(said, number)) for number in range(len(queries))]
    if near is None or said is None:
        ranked = [vectors or words for vectors, words in sides]
    else:
        ranked = [merged(vectors, words, asked=said.keys.shape[1]) for vectors, words in sides]
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
