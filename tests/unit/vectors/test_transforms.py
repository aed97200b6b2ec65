"""What each transform promises, against scikit-learn, scipy and plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from plume.core.errors import PlumeError
from plume.vectors.transforms.centre import Centre
from plume.vectors.transforms.cut import Cut
from plume.vectors.transforms.flow import Flow
from plume.vectors.transforms.normalise import Normalise
from plume.vectors.transforms.principal_components import PrincipalComponents
from plume.vectors.transforms.whiten import Whiten


def rows(count: int = 500, width: int = 12, seed: int = 0) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return (chance.normal(size=(count, width)) @ chance.normal(size=(width, width)) + 3).astype(np.float32)


@pytest.mark.parametrize("dimensions", [None, 5])
def test_whitening_and_pca_are_scikit_learns(dimensions: int | None) -> None:
    data = rows()
    for transform, whiten in ((Whiten(dimensions=dimensions), True), (PrincipalComponents(dimensions=dimensions), False)):
        ours = transform.fit(data).apply(data)
        theirs = PCA(dimensions, whiten=whiten, svd_solver="full").fit_transform(data.astype(np.float64))
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-4)


def test_whitened_vectors_have_no_covariance_left() -> None:
    data = rows()
    np.testing.assert_allclose(np.cov(Whiten().fit(data).apply(data).T), np.eye(12), atol=1e-4)


def test_whitening_drops_what_is_only_rounding() -> None:
    """As the mean of a post-norm layer, which lies in a hyperplane."""
    data = rows()
    data -= data.mean(1, keepdims=True)
    fitted = Whiten().fit(data)
    assert fitted.width(12) == 11
    assert np.abs(fitted.apply(data)).max() < 8


def test_too_few_sentences_are_said() -> None:
    (said,) = Whiten().advice(100, 12)
    assert "100 sentences" in said and "120" in said
    assert not list(Whiten().advice(120, 12)) and not list(Normalise().advice(1, 12))


def test_a_flow_makes_the_vectors_more_gaussian() -> None:
    """The likelihood of other vectors grows from the start, and what comes out keeps every bit: the map can be inverted."""
    data = rows(2500)
    data[:, 0] = data[:, 1] ** 2 / 3 + 0.3 * data[:, 2]  # nothing linear
    fitted = Flow(epochs=5, batch=32).fit(data[:1500])
    found = fitted.apply(data[1500:])
    assert found.shape == (1000, 12)
    start = Flow(epochs=1, rate=0.0).fit(data[:1500])

    def unlikely(flow: Flow) -> float:
        scale = sum(array.sum() for name, array in flow.arrays.items() if name.endswith("scale"))
        return float((flow.apply(data[1500:]) ** 2).sum(1).mean() / 2 - scale)

    assert unlikely(fitted) < unlikely(start) - 0.5
    once, again = (Flow(epochs=1, batch=32).fit(data[:200]).apply(data[:200]) for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_a_flow_survives_dimensions_that_never_change() -> None:
    """all-MiniLM-L6-v2 has some: nine steps would make 1e54 of their rounding."""
    data = rows(600, width=32)
    data[:, 5] = 0.25
    data[:, 9] = 1e-7 * rows(600, width=1)[:, 0]
    assert np.abs(Flow().fit(data).apply(data)).max() < 100


def test_what_cannot_be_done_is_said() -> None:
    data = rows()
    with pytest.raises(PlumeError, match="cannot be cut to 20"):
        Cut(dimensions=20).apply(data)
    with pytest.raises(PlumeError, match="cannot be reduced to 20"):
        Whiten(dimensions=20).fit(data)
    with pytest.raises(PlumeError, match="All vectors are the same"):
        Whiten().fit(np.ones((30, 4), np.float32))
    with pytest.raises(PlumeError, match="too narrow"):
        Flow().fit(rows(width=7))
    with pytest.raises(PlumeError, match="0 dimensions"):
        Cut(dimensions=0)
    with pytest.raises(PlumeError, match="0 dimensions"):
        Whiten(dimensions=0)
    np.testing.assert_allclose(Centre().fit(data).apply(data).mean(0), 0, atol=1e-4)
