"""What is PostgreSQL's own: transactions that others do not see, an index that goes on looking, texts that its types would not take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.search.backend import StoredPassage
from plume.search.backends import addressed, create_backend, drop_backend, open_backend
from plume.search.settings import IndexSettings
from plume.search.where.tree import Compare, Comparing, MetadataType


@pytest.fixture
def made(postgresql: str, tmp_path: Path) -> Any:
    settings = addressed(tmp_path, IndexSettings(dimension=8, type="hnsw", backend=postgresql))
    settings.save(tmp_path)
    backend = create_backend(tmp_path, settings)
    yield backend
    backend.close()
    drop_backend(tmp_path)


def test_iterative_scans_bring_what_a_filter_leaves(made: Any) -> None:
    """With no other plan to choose, pgvector's index alone has to find ten of the forty farthest among 2,000."""
    vectors = np.random.default_rng(2).normal(size=(2_000, 8)).astype(np.float32)
    query = np.ones((1, 8), np.float32)
    far = (vectors @ query[0]).argsort()[:40]
    made.declare({"rare": MetadataType.BOOL})
    made.add([StoredPassage(document=str(row), text="", metadata={"rare": row in far}) for row in range(2_000)], vectors)
    made.commit()
    assert made.prepare() == "PostgreSQL built hnsw over 2,000 passages"
    rare = Compare(column="rare", operator=Comparing.EQUAL, value=True)
    made._execute("SET enable_seqscan = off")
    statements = []
    with made.snapshot():
        plain = made._connection.execute
        made._connection.execute = lambda text, *rest: statements.append(text) or plain(text, *rest)
        found = made.search_vectors(query, top=10, where=rare)
        shown = plain(
            "EXPLAIN SELECT key FROM passages WHERE m1 ORDER BY vector <#> %s::vector LIMIT 10", [str(query[0].tolist())]
        ).fetchall()
    assert not any("+ 0" in one for one in statements), "comparing all was not needed"
    assert any("Index Scan using passages_vector" in line for (line,) in shown)
    best = sorted(far.tolist(), key=lambda row: -float(vectors[row] @ query[0]))[:10]
    assert [one.document for one in made.get(found.keys[0].tolist())] == [str(row) for row in best]


def test_nothing_is_seen_before_its_commit(made: Any, tmp_path: Path) -> None:
    other: Any = open_backend(tmp_path, IndexSettings.load(tmp_path))
    made.add([StoredPassage(document="a", text="cats")], np.ones((1, 8), np.float32))
    assert made.has(["a"]) == {"a"} and other.has(["a"]) == set()
    with other.snapshot():
        assert other.count() == (0, 0)
        made.commit()
        assert other.count() == (0, 0), "a state that is being read stays"
    assert other.count() == (1, 1)
    made.add([StoredPassage(document="b", text="dogs")], np.ones((1, 8), np.float32))
    made._connection.close()  # as if the process had died
    assert other.count() == (1, 1) and other.check() == []
    other.close()


def test_signs_that_it_does_not_take(made: Any) -> None:
    odd = StoredPassage(document="a\0b", text=f"nul \0 {'x' * 5_000} cats", end=9, metadata={"m": "\0", "many": ["\0", "\\u0000"]})
    made.declare({"m": MetadataType.TEXT, "many": MetadataType.LIST})
    made.add([odd], np.ones((1, 8), np.float32))
    made.commit()
    assert made.has(["a\0b"]) == {"a\0b"}
    (found,) = made.passages(["a\0b"])
    assert found.text == odd.text.replace("\0", "\ufffd") and len(found.text) == len(odd.text)
    assert (made.search_words(["cat", "x" * 5_000], top=1).keys[:, 0] >= 0).all()
    assert made.remove(["a\0b"]) == 1


def test_an_index_that_was_removed_there(made: Any, tmp_path: Path) -> None:
    drop_backend(tmp_path)
    with pytest.raises(PlumeError, match="it was removed there"):
        open_backend(tmp_path, IndexSettings.load(tmp_path))
