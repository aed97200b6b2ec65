"""Many vectors as a picture: two axes, clusters, nearest neighbours. All of unit length, so that directions are compared.

The map of one layer begins where that of the layer before ended, so that points wander instead of leaping.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.static.plot import pca, tsne

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
_CLUSTERS = range(2, 7)


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Which cluster each point is in, and how well they are apart: the mean silhouette (Rousseeuw 1987), from -1 to 1."""

    member: Numbers  # [N]
    silhouette: float

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.member.max()) + 1


def unit(vectors: Floats) -> Floats:
    """Each of length 1."""
    vectors = np.asarray(vectors, np.float64)
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def principal(vectors: Floats, before: Floats | None = None) -> tuple[Floats, float]:
    """[N, 2] the two principal components, and the share of the variance that they show; turned towards the map `before`."""
    wide = np.asarray(vectors, np.float64)
    flat, total = pca(wide), float(wide.var(0).sum())
    shown = float(flat.var(0).sum()) / total if total > 0 else 0.0
    return (flat if before is None else flat @ _turn(flat, before)).astype(np.float32), shown


def _turn(flat: NDArray[np.float64], before: Floats) -> NDArray[np.float64]:
    """[2, 2] the rotation, or reflection, that brings one map nearest to the other (orthogonal Procrustes)."""
    left, _, right = np.linalg.svd(flat.T @ (before - before.mean(0)))
    return left @ right


def neighbour_map(vectors: Floats, before: Floats | None = None, *, seed: int = 0) -> Floats:
    """[N, 2] by t-SNE (van der Maaten & Hinton 2008), from the principal components or from the map `before`."""
    if np.ptp(vectors, axis=0).max() < 1e-6:  # one point, many times
        return np.zeros((len(vectors), 2), np.float32)
    start = None if before is None or np.ptp(before) == 0 else before
    return tsne(np.asarray(vectors, np.float64), start=start, seed=seed).astype(np.float32)


def clusters(vectors: Floats, before: Clusters | None = None, *, seed: int = 0) -> Clusters | None:
    """k-means with as many clusters, 2 to 6, as are best apart; numbered as those `before`. None: there is nothing to tell apart."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    distinct = len(np.unique(np.round(vectors, 5), axis=0))
    found: Clusters | None = None
    for count in _CLUSTERS:
        if count >= distinct:
            break
        member = KMeans(count, n_init=4, random_state=seed).fit_predict(vectors).astype(np.int64)
        if len(np.unique(member)) < 2:
            continue
        score = float(silhouette_score(vectors, member))
        if found is None or score > found.silhouette:
            found = Clusters(member=member, silhouette=score)
    return found if found is None or before is None else _renumbered(found, before)


def _renumbered(found: Clusters, before: Clusters) -> Clusters:
    """The same clusters with numbers such that as many points as possible keep theirs, and so their colour."""
    from scipy.optimize import linear_sum_assignment

    count = max(found.count, before.count)
    shared = np.zeros((count, count))
    np.add.at(shared, (found.member, before.member), 1)
    rows, columns = linear_sum_assignment(-shared)
    number = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    member = np.array([number[one] for one in found.member.tolist()])
    return Clusters(
        member=np.unique(member, return_inverse=True)[1] if member.max() >= found.count else member, silhouette=found.silhouette
    )


def label_silhouette(vectors: Floats, labels: list[str]) -> float | None:
    """How well given labels lie apart; None where there are fewer than two of them, or as many as points."""
    from sklearn.metrics import silhouette_score

    if not 1 < len(set(labels)) < len(labels) or np.ptp(vectors, axis=0).max() < 1e-6:
        return None
    return float(silhouette_score(vectors, labels))


def shared_information(member: Numbers | list[str], labels: list[str]) -> float:
    """Normalised mutual information of two groupings, from 0 to 1 (arithmetic mean of the entropies)."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(labels, member))


def nearest(vectors: Floats, count: int) -> Numbers:
    """[N, count] the other points with the largest cosine, the nearest first; vectors are of unit length."""
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -np.inf)
    count = min(count, len(vectors) - 1)
    return np.argsort(-alike, axis=1, kind="stable")[:, :count].astype(np.int64)
