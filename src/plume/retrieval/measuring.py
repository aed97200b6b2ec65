"""How well questions find their passages: by vectors, by words, and by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.embedder import Embedder, question_vectors
from plume.retrieval.pairing import Paired
from plume.retrieval.words import WordIndex
from plume.search.ranking import merged as fused
from plume.vectors.nearest import Nearest
from plume.vectors.sentence import Similarity

DEPTHS = (1, 5, 20)
_MOST = 10  # ranks that count for MRR
CANDIDATES = 100  # of each side that are merged
WEIGHTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # of the vectors beside BM25, of which other questions choose
Floats = NDArray[np.float32]
Keys = NDArray[np.int64]
Found = tuple[Keys, Floats]  # the passages that one question finds, and their scores


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Questions, and the passages among which theirs are looked for."""

    questions: list[str]
    texts: list[str]
    right: list[tuple[int, ...]]  # of each question, into `texts`

    def by_words(self, words: WordIndex, *, top: int = CANDIDATES) -> list[Found]:
        """What BM25 finds for each question."""
        return [words.best(question, top=top) for question in self.questions]

    def scores(self, found: Sequence[Sequence[int]]) -> dict[str, float]:
        """From the passages found for each question, the best first."""
        ranks = [
            next((rank for rank, one in enumerate(keys) if one in set(right)), None) for keys, right in zip(found, self.right, strict=True)
        ]
        made = {"mrr": float(np.mean([0.0 if rank is None or rank >= _MOST else 1 / (rank + 1) for rank in ranks]))}
        return made | {f"top{k}": float(np.mean([rank is not None and rank < k for rank in ranks])) for k in DEPTHS}


def pool_of(pairs: Sequence[Paired], texts: Sequence[str], *, most: int | None = None, seed: int = 0) -> Pool:
    """These questions among all passages; or among `most`: their own, those that look alike, and as many others as there is room for."""
    kept = list(range(len(texts)))
    if most is not None and most < len(texts):
        own = dict.fromkeys(number for one in pairs for number in (*one.right, *one.wrong))
        others = np.random.default_rng([seed % 2**64, 3]).permutation(len(texts)).tolist()
        room = max(most - len(own), 0)
        kept = sorted([*own, *[number for number in others if number not in own][:room]])
    place = {number: position for position, number in enumerate(kept)}
    return Pool(
        questions=[one.asked.question for one in pairs],
        texts=[texts[number] for number in kept],
        right=[tuple(place[number] for number in one.right) for one in pairs],
    )


def compared(vectors: Floats, similarity: Similarity) -> Floats:
    """As an inner product compares them."""
    if similarity is Similarity.DOT:
        return vectors
    made: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return made


def nearest(asked: Floats, passages: Floats, *, top: int = CANDIDATES) -> list[Found]:
    """Of each question the passages with the largest inner products, the best first; of equals the earlier."""
    found = Nearest(passages).search(asked, min(top, len(passages)))
    return list(zip(found.index, found.score, strict=True))


def both(vectors: Found, words: Found, weight: float | None = None) -> list[int]:
    """What either side found, by BM25 + weight · inner product (DPR §5.1), where a side that did not find a passage says of it what it says of its
    last; without a weight merged as `plume search` does it."""
    near, said = (dict(zip(keys.tolist(), scores.tolist(), strict=True)) for keys, scores in (vectors, words))
    if weight is None:
        return list(fused(near, said, asked=CANDIDATES))
    low, least = min(near.values(), default=0.0), min(said.values(), default=0.0)
    total = {key: said.get(key, least) + weight * near.get(key, low) for key in dict.fromkeys([*said, *near])}
    return sorted(total, key=lambda key: -total[key])


def measured(model: Embedder, pool: Pool, similarity: Similarity) -> dict[str, float]:
    """By vectors alone."""
    return pool.scores([keys.tolist() for keys, _ in found_by_vectors(model, pool, similarity)])


def found_by_vectors(model: Embedder, pool: Pool, similarity: Similarity) -> list[Found]:
    """What a model finds for each question."""
    return nearest(compared(question_vectors(model, pool.questions), similarity), compared(model.embed(pool.texts), similarity))


def three_ways(near: Sequence[Found], said: Sequence[Found], pool: Pool, *, weight: float | None = None) -> dict[str, dict[str, float]]:
    """By words, by vectors, and by both."""
    return {
        "bm25": pool.scores([keys.tolist() for keys, _ in said]),
        "dense": pool.scores([keys.tolist() for keys, _ in near]),
        "both": pool.scores([both(one, other, weight) for one, other in zip(near, said, strict=True)]),
    }


def best_weight(pool: Pool, near: Sequence[Found], said: Sequence[Found]) -> float:
    """By which the vectors help the words most; of other questions than those that are measured."""
    return max(WEIGHTS, key=lambda one: three_ways(near, said, pool, weight=one)["both"]["mrr"])
