"""The same random rows and filters give the same documents in every backend as in the embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plume.search.backend import ID, Backend, Matches, StoredPassage
from plume.search.backends import addressed, create_backend, drop_backend
from plume.search.settings import IndexSettings
from plume.search.where.tree import (
    AllOf,
    AmongValues,
    AnyOf,
    Compare,
    Comparing,
    Condition,
    Has,
    IsMissing,
    Like,
    MetadataType,
    Negated,
)

TYPES = {
    "whole": MetadataType.INT, "real": MetadataType.REAL, "text": MetadataType.TEXT, "truth": MetadataType.BOOL, "many": MetadataType.LIST,
    ID: MetadataType.TEXT,
}  # fmt: skip
WHOLE = [-(2**63), -(2**53) - 1, -3, 0, 1, 2, 2**53 + 1, 2**62]
REAL = [-1e300, -2.5, -1e-07, 0.0, 0.1, 1.0, 2.0, 1e22]
TEXT = ["", "a", "A", "aB", "Ab%", "a_b", "a\\b", 'say "no"', "it's", "line\nline\ttab", "É", "é", "中文", "*?", "😀", "ß", "SS", "x" * 300]
MANY: list[list[Any]] = [[], ["a"], ["A", 1], [True, 2.5], [0, "1"], [1.0, "中文", "a\\b"], ["list", "tx"]]
ROWS = 40


def documents() -> list[StoredPassage]:
    """Every value, and every field missing, in many combinations."""
    source = np.random.default_rng(5)
    values: dict[str, list[Any]] = {"whole": WHOLE, "real": REAL, "text": TEXT, "truth": [False, True], "many": MANY}
    made = []
    for number in range(ROWS):
        metadata = {name: some[int(source.integers(len(some)))] for name, some in values.items() if source.random() < 0.75}
        name = f"{TEXT[number % len(TEXT)]}{number}"
        text = " ".join(source.choice(["cat", "dogs", "the", "北京", "清华大学", "tree"], size=4))
        made.append(StoredPassage(document=name, text=text, metadata=metadata))
    return made


VALUES: dict[MetadataType, st.SearchStrategy[Any]] = {
    MetadataType.INT: st.sampled_from([*WHOLE, 0.5, -2.5, 1.0, 1e30, -1e30, float("inf")]),
    MetadataType.REAL: st.sampled_from([*REAL, 0, 1, -3, 5, float("inf"), float("-inf")]),
    MetadataType.TEXT: st.sampled_from([*TEXT, "b", "a0", "É2"]),
    MetadataType.BOOL: st.booleans(),
    MetadataType.LIST: st.sampled_from(["a", "A", "1", 1, 1.0, 0, 2.5, True, False, "中文", "a\\b", "list", "tx", "x"]),
}
PATTERNS = st.sampled_from(["%", "a%", "A_", "_", "%b%", "%\\%", '%"%', "é", "É%", "%\n%", "*%", "?", "%'%", "ss", "中_", "", "%0", "x%x"])


@st.composite
def simple(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(list(TYPES)))
    kind = TYPES[column]
    questions: list[st.SearchStrategy[Condition]] = [st.builds(IsMissing, column=st.just(column))]
    if kind is MetadataType.LIST:
        questions.append(st.builds(Has, column=st.just(column), value=VALUES[kind]))
    else:
        questions.append(st.builds(Compare, column=st.just(column), operator=st.sampled_from(Comparing), value=VALUES[kind]))
        questions.append(st.builds(AmongValues, column=st.just(column), values=st.lists(VALUES[kind], min_size=1, max_size=4).map(tuple)))
    if kind is MetadataType.TEXT:
        questions.append(st.builds(Like, column=st.just(column), pattern=PATTERNS))
    return draw(st.one_of(questions))


def several(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(Negated, condition=inner) | st.builds(AllOf, conditions=parts) | st.builds(AnyOf, conditions=parts)


def made(folder: Path, url: str) -> Backend:
    folder.mkdir(exist_ok=True)
    declared = addressed(folder, IndexSettings(dimension=8, type="flat", backend=url))
    declared.save(folder)
    backend = create_backend(folder, declared)
    backend.declare({name: kind for name, kind in TYPES.items() if name != ID})
    vectors = np.random.default_rng(6).normal(size=(ROWS, 8)).astype(np.float32)
    backend.add(documents(), vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    backend.commit()
    backend.prepare()
    return backend


@pytest.fixture(scope="module")
def both(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Backend, Backend]]:
    """The backend, and an embedded one with the same rows."""
    if url == "embedded":
        pytest.skip("is what the others are held against")
    folder = tmp_path_factory.mktemp("alike")
    pair = made(folder / "other", url), made(folder / "embedded", "embedded")
    yield pair
    for backend in pair:
        backend.close()
    drop_backend(folder / "other")


def found_by(backend: Backend, found: Matches) -> list[str]:
    return [one.document for one in backend.get([key for key in found.keys[0].tolist() if key >= 0])]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(condition=st.recursive(simple(), several, max_leaves=5), seed=st.integers(0, 3))
def test_the_same_documents_in_the_same_order(both: tuple[Backend, Backend], condition: Condition, seed: int) -> None:
    query = np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32)
    other, embedded = (found_by(one, one.search_vectors(query, top=ROWS, where=condition)) for one in both)
    assert other == embedded


@pytest.mark.parametrize("query", ["cat", "the dogs", "北京", "大学 tree", "清华大学 cat cat"])
def test_the_same_words(both: tuple[Backend, Backend], query: str) -> None:
    other, embedded = (one.search_words([query], top=ROWS) for one in both)
    assert set(found_by(both[0], other)) == set(found_by(both[1], embedded))
    np.testing.assert_allclose(other.scores, embedded.scores, rtol=1e-4)


def test_metadata_come_back(both: tuple[Backend, Backend]) -> None:
    assert list(both[0].passages()) == list(both[1].passages()) == documents()
