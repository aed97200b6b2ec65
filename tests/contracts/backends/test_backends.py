"""What every backend of an index must do alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.search.backend import ID, Backend, Matches, StoredPassage
from plume.search.backends import open_backend
from plume.search.backends._buffered import BufferedStore
from plume.search.settings import IndexSettings, Metric
from plume.search.where.parse import parse_where
from plume.search.where.tree import MetadataType

Make = Callable[..., tuple[Backend, Path]]
TYPES = {"year": MetadataType.INT, "lang": MetadataType.TEXT, "tags": MetadataType.LIST, "ok": MetadataType.BOOL}
PASSAGES = [
    StoredPassage(document="a", number=0, text="The cat sat.", start=0, end=12, metadata={"year": 2020, "lang": "En", "tags": ["x", 1]}),
    StoredPassage(
        document="a", number=1, text="清华大学在北京。", start=13, end=21, metadata={"year": 2020, "lang": "En", "tags": ["x", 1]}
    ),
    StoredPassage(document="b", number=0, text='Dogs and "cats"\n', end=16, metadata={"year": 2021, "lang": "zh\\%", "ok": True}),
    StoredPassage(document="ç'\"", number=0, text="!!!", end=3, metadata={"tags": []}),
]
VECTORS = np.array([[1, 0, 0, 0], [0.8, 0.6, 0, 0], [0, 0, 1, 0], [0, -0.6, 0.8, 0]], np.float32)
QUERY = np.array([[0.9, 0.4, 0.1, 0.1]], np.float32)


def filled(make: Make, **settings: Any) -> tuple[Backend, Path]:
    backend, folder = make(**settings)
    backend.declare(TYPES)
    backend.add(PASSAGES, VECTORS)
    backend.commit()
    backend.prepare()
    return backend, folder


def named(backend: Backend, found: Matches, query: int = 0) -> list[tuple[str, int]]:
    keys = [key for key in found.keys[query].tolist() if key >= 0]
    return [(one.document, one.number) for one in backend.get(keys)]


def where(backend: Backend, text: str) -> Any:
    return parse_where(text, {**backend.columns, ID: MetadataType.TEXT})


@pytest.fixture
def backend(make_backend: Make) -> Iterator[Backend]:
    return filled(make_backend)[0]


def test_what_was_added_is_there(backend: Backend) -> None:
    assert backend.count() == (3, 4)
    assert backend.columns == TYPES
    assert list(backend.passages()) == PASSAGES
    assert list(backend.passages(["b", "nobody"])) == [PASSAGES[2]]
    assert backend.has(["a", "b", "nobody", "ç'\""]) == {"a", "b", "ç'\""}
    assert backend.check() == []
    assert backend.info()


@pytest.mark.parametrize("metric", list(Metric))
def test_flat_search_is_exact_and_in_order(make_backend: Make, metric: Metric) -> None:
    backend, _ = filled(make_backend, metric=metric)
    queries = np.array([[0.9, 0.4, 0.1, 0.1], [-0.1, -0.9, 0.3, 0.0]], np.float32)
    expected = -((VECTORS[None] - queries[:, None]) ** 2).sum(axis=2) if metric is Metric.DISTANCE else queries @ VECTORS.T
    for exact in (False, True):
        found = backend.search_vectors(queries, top=6, exact=exact)
        assert found.keys.shape == found.scores.shape == (2, 6)
        for number in range(2):
            order = np.argsort(-expected[number])
            assert named(backend, found, number) == [(PASSAGES[place].document, PASSAGES[place].number) for place in order]
            np.testing.assert_allclose(found.scores[number, :4], expected[number][order], atol=2e-6)
        assert (found.keys[:, 4:] == -1).all() and np.isneginf(found.scores[:, 4:]).all()
    assert (backend.search_vectors(queries, top=2).keys == found.keys[:, :2]).all()


def test_words_are_found_chinese_ones_too(backend: Backend) -> None:
    found = backend.search_words(["cat", "清华", "北京 dogs", "?!", "nothing like it"], top=3)
    assert set(named(backend, found, 0)) == {("a", 0), ("b", 0)}
    assert named(backend, found, 1) == [("a", 1)]
    assert set(named(backend, found, 2)) == {("a", 1), ("b", 0)}
    assert named(backend, found, 3) == named(backend, found, 4) == []
    assert named(backend, backend.search_words(["cat"], top=3, where=where(backend, "year > 2020"))) == [("b", 0)]


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("year > 2020.5", {"b"}),
        ("year >= 2020.5 OR year < 1e30", {"a", "b"}),
        ("NOT year = 2020", {"b"}),
        ("year = 2020.5", set()),
        ("year != 2020.5", {"a", "b"}),
        ("year NOT IN (2.5)", {"a", "b"}),
        ("year IN (2021, -3)", {"b"}),
        ("lang LIKE 'eN'", {"a"}),
        ("lang LIKE '%\\%'", {"b"}),
        ("NOT lang LIKE '_n'", {"b"}),
        ("lang = 'en'", set()),
        ("lang = 'zh\\%'", {"b"}),
        ("lang >= 'a'", {"b"}),
        ("tags HAS 1", {"a"}),
        ("tags HAS TRUE", {"a"}),
        ("tags HAS '1'", set()),
        ("NOT tags HAS 'y'", {"a", "ç'\""}),
        ("tags IS NOT NULL", {"a", "ç'\""}),
        ("year IS NULL", {"ç'\""}),
        ("ok = TRUE OR ok < TRUE", {"b"}),
        ("NOT ok = FALSE", {"b"}),
        ("id IN ('a', 'ç''\"')", {"a", "ç'\""}),
        ("id LIKE 'A'", {"a"}),
        ("NOT (year = 2020 AND lang = 'En') AND NOT (ok = FALSE OR tags HAS 'x')", set()),
    ],
)
def test_filters(filtered: Backend, text: str, documents: set[str]) -> None:
    found = filtered.search_vectors(QUERY, top=9, where=where(filtered, text))
    assert {document for document, _ in named(filtered, found)} == documents


@pytest.fixture(scope="module")
def filtered(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """One for all filters."""
    from plume.search.backends import addressed, create_backend, drop_backend

    folder = tmp_path_factory.mktemp("filtered")
    settings = addressed(folder, IndexSettings(dimension=4, type="flat", backend=url))
    settings.save(folder)
    backend = create_backend(folder, settings)
    backend.declare(TYPES)
    backend.add(PASSAGES, VECTORS)
    backend.commit()
    yield backend
    backend.close()
    drop_backend(folder)


def test_documents_are_removed_and_replaced(backend: Backend) -> None:
    assert backend.remove(["a", "nobody"]) == 1
    backend.commit()
    assert backend.count() == (2, 2) and backend.has(["a"]) == set()
    assert ("a", 0) not in named(backend, backend.search_vectors(QUERY, top=4))
    assert named(backend, backend.search_words(["cat"], top=4)) == [("b", 0)]
    changed = StoredPassage(document="b", text="Birds.", end=6, metadata={"year": 1999})
    backend.remove(["b"])
    assert backend.has(["b"]) == set()
    backend.add([changed], VECTORS[:1])
    assert backend.has(["b"]) == {"b"}
    backend.commit()
    assert list(backend.passages(["b"])) == [changed]
    assert named(backend, backend.search_words(["dogs", "birds"], top=4), 0) == []
    backend.compact()
    assert list(backend.passages()) == [PASSAGES[3], changed]
    assert named(backend, backend.search_vectors(QUERY, top=1)) == [("b", 0)]
    assert backend.check() == []


def test_a_rollback_forgets(make_backend: Make) -> None:
    backend, _ = filled(make_backend)
    backend.declare({"new": MetadataType.REAL})
    backend.remove(["a"])
    backend.add([StoredPassage(document="c", text="new", metadata={"new": 1.5})], VECTORS[:1])
    backend.rollback()
    assert backend.count() == (3, 4) and backend.has(["a", "c"]) == {"a"} and "new" not in backend.columns
    assert backend.check() == []


def killed(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_kill_within_a_commit_loses_nothing(make_backend: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no transactions: between writing what is new and removing what is old."""
    backend: Any
    backend, folder = filled(make_backend)
    if not isinstance(backend, BufferedStore):
        pytest.skip("has transactions")
    backend.remove(["b"])
    backend.add([StoredPassage(document="b", text="Birds.")], VECTORS[:1])
    with monkeypatch.context() as patch:
        patch.setattr(type(backend), "_delete", killed)
        with pytest.raises(KeyboardInterrupt):
            backend.commit()
    backend._end_writing()  # the lock goes with the process
    other = open_backend(folder, IndexSettings.load(folder))
    assert other.check() == ["Document 'b' is there twice: put it in again with plume index update."]
    assert other.has(["a", "b"]) == {"a", "b"}
    assert other.remove(["b"]) == 1
    other.add([StoredPassage(document="b", text="Birds.")], VECTORS[:1])
    other.commit()
    assert other.check() == [] and [one.text for one in other.passages(["b"])] == ["Birds."]
    other.close()


def test_a_large_change_is_written_as_it_grows_and_taken_back(make_backend: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plume.search.backends._buffered._HELD", 2)
    backend, _ = filled(make_backend)
    backend.remove(["a"])
    backend.add([StoredPassage(document=f"new{n}", text="birds") for n in range(4)], VECTORS)
    backend.rollback()
    assert backend.count() == (3, 4) and backend.check() == []
    assert list(backend.passages()) == PASSAGES


def test_whole_numbers_become_real(make_backend: Make) -> None:
    backend, _ = filled(make_backend)
    backend.declare({"year": MetadataType.REAL})
    backend.add([StoredPassage(document="c", text="new", metadata={"year": 2020.5})], VECTORS[:1])
    backend.commit()
    assert backend.columns["year"] is MetadataType.REAL
    found = backend.search_vectors(QUERY, top=9, where=where(backend, "year >= 2020.25"))
    assert set(named(backend, found)) == {("b", 0), ("c", 0)}
    assert next(backend.passages(["a"])).metadata["year"] == 2020


def test_another_process_opens_it(make_backend: Make) -> None:
    _, folder = filled(make_backend)
    other = open_backend(folder, IndexSettings.load(folder))
    assert list(other.passages()) == PASSAGES and other.columns == TYPES
    assert named(other, other.search_vectors(QUERY, top=1)) == [("a", 1)]
    other.close()


def test_one_writer_at_a_time(make_backend: Make) -> None:
    backend, folder = filled(make_backend)
    other = open_backend(folder, IndexSettings.load(folder))
    backend.remove(["a"])
    with pytest.raises(PlumeError, match="Another process is writing"):
        other.remove(["b"])
    backend.commit()
    assert other.remove(["b"]) == 1
    other.commit()
    other.close()
    assert backend.count()[0] == 1


def test_an_index_of_words_and_one_of_vectors(make_backend: Make) -> None:
    words, _ = make_backend(dimension=None)
    words.add([StoredPassage(document="a", text="cats")], None)
    words.commit()
    words.prepare()
    assert named(words, words.search_words(["cat"], top=2)) == [("a", 0)]
    vectors, _ = make_backend(words=None)
    vectors.add([StoredPassage(document="a", text="cats")], VECTORS[:1])
    vectors.commit()
    assert named(vectors, vectors.search_vectors(QUERY, top=2)) == [("a", 0)]
    assert words.check() == vectors.check() == []
