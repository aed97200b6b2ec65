"""An Index over every backend: what users do, and what is refused."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.search import adding
from plume.search.backends import drop_backend
from plume.search.index import Index
from plume.search.settings import Analysis
from plume.search.terms import terms

Open = Callable[..., Index]
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "a", "text": "How to reset your password: open the settings.", "lang": "en", "year": 2021, "tags": ["help"]},
    {"id": "b", "text": "Cats sleep most of the day. Dogs do not.", "lang": "en", "year": 2019},
    {"id": "c", "text": "如何重置密码：打开设置。", "lang": "zh", "year": 2023},
]


class FewWords:
    """A text's vector counts its words, folded into a few places."""

    def __init__(self, width: int = 24, turned: bool = False) -> None:
        self.width, self._turned = width, turned

    def embed(self, texts: str | Sequence[str], *, pooling: str | None = None, language: str | None = None) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.width), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in terms(text, Analysis.JIEBA):
                row[sum(word.encode()) % self.width] += 1
        return rows[:, ::-1] * 1.0 if self._turned else rows


@pytest.fixture
def index(url: str, tmp_path: Path) -> Iterator[Index]:
    made = Index.create(tmp_path / "idx", model=FewWords(), backend=url, type="flat")
    made.add(DOCUMENTS)
    yield made
    made.close()
    drop_backend(tmp_path / "idx")


def ids(hits: Any) -> list[str]:
    return [hit.id for hit in hits]


def test_from_adding_to_finding(index: Index, tmp_path: Path) -> None:
    for by in ("vectors", "words", "hybrid"):
        assert ids(index.search("reset password", top=1, by=by)) == ["a"]  # type: ignore[arg-type]
        assert ids(index.search("重置密码", top=1, by=by, where="lang = 'zh' AND year > 2020")) == ["c"]  # type: ignore[arg-type]
    index.update([{"id": "b", "text": "A password for dogs.", "score": 0.5}, {"id": "z", "text": "Nothing."}])
    assert index.remove(["a", "nobody"]) == 1
    other = Index.open(tmp_path / "idx", model=FewWords())
    assert len(other) == 3 and other.check() == []
    assert ids(other.search("password", by="words")) == ["b"]
    best = other.search("password dogs", top=1)[0]
    assert (best.id, best.text, dict(best.metadata)) == ("b", "A password for dogs.", {"score": 0.5})
    assert other.info()["columns"] == {"lang": "text", "year": "int", "tags": "list", "score": "real"}
    other.close()


def test_what_is_refused_leaves_it_as_it_was(index: Index, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="there is a document 'a' already"):
        index.add([{"id": "new", "text": "x"}, {"id": "a", "text": "x"}])
    with pytest.raises(PlumeError, match="NaN"):
        index.add([{"id": "new", "text": "x"}], vectors=np.full((1, 24), np.nan, np.float32))
    with pytest.raises(PlumeError, match="'year' holds"):
        index.update([{"id": "a", "text": "x"}, {"id": "b", "text": "x", "year": "soon"}])
    with pytest.raises(PlumeError, match="filter cannot be read"):
        index.search("password", where="year = 1; DROP TABLE passages")
    with pytest.raises(PlumeError, match="cannot be compared"):
        Index.open(tmp_path / "idx", model=FewWords(turned=True)).search("password")
    assert len(index) == 3 and index.check() == []
    assert ids(index.search("reset", by="words")) == ["a"]


def test_other_vectors_take_the_place_of_the_old(index: Index, tmp_path: Path) -> None:
    before = json.loads((tmp_path / "idx" / "index.json").read_text())
    made = index.embed_again(FewWords(width=30, turned=True))
    after = json.loads((tmp_path / "idx" / "index.json").read_text())
    assert after["dimension"] == 30 and after["backend"] == before["backend"]
    assert ids(made.search("reset password", top=1)) == ["a"] and len(made) == 3
    if before["backend"] != "embedded":  # what the old one had on the server is gone
        (tmp_path / "old").mkdir()
        (tmp_path / "old" / "index.json").write_text(json.dumps(before))
        with pytest.raises(PlumeError, match="it was removed there"):
            Index.open(tmp_path / "old")
    made.close()


@pytest.mark.parametrize("scheme", ["milvus", "postgresql", "elasticsearch"])
def test_a_server_that_is_not_there(scheme: str, tmp_path: Path) -> None:
    pytest.importorskip({"milvus": "pymilvus", "postgresql": "psycopg"}.get(scheme, scheme))
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(PlumeError) as refused:
            Index.create(tmp_path / "idx", dimension=4, backend=f"{scheme}://someone:secret@{where}/base")
    assert f"{scheme}://someone@{where}" in str(refused.value) and "secret" not in str(refused.value)


def test_a_password_is_not_kept(postgresql: str, tmp_path: Path) -> None:
    address = postgresql.replace("postgres:@", "postgres:secret@")
    with Index.create(tmp_path / "idx", dimension=4, backend=address) as index:
        assert "secret" not in str(index.info())
    assert "secret" not in (tmp_path / "idx" / "index.json").read_text()
    with Index.open(tmp_path / "idx", backend=address) as index:
        assert len(index) == 0
    with pytest.raises(PlumeError, match="of another kind"):
        Index.open(tmp_path / "idx", backend="milvus://127.0.0.1:1")
    drop_backend(tmp_path / "idx", address)


@pytest.mark.parametrize("scheme", ["milvus", "postgresql", "elasticsearch"])
def test_a_client_that_is_not_installed(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pymilvus", "psycopg", "elasticsearch", "elasticsearch.helpers"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PlumeError, match=rf"pip install 'plume-lm\[{scheme}\]'"):
        Index.create(tmp_path / "idx", dimension=4, backend=f"{scheme}://127.0.0.1:1/base")


def test_a_name_that_nobody_gave_is_not_asked_for(milvus: str, tmp_path: Path) -> None:
    Index.create(tmp_path / "idx", dimension=4, backend=milvus).close()
    file = tmp_path / "idx" / "index.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"extra": {"name": "x; DROP TABLE y"}}))
    with pytest.raises(PlumeError, match="does not say what the index is called"):
        Index.open(tmp_path / "idx")


def in_another_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(60)


@pytest.mark.parametrize("by", ["vectors", "words"])
def test_a_thread_finds_what_was_committed_while_another_adds(by: Any, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one Index; among what is added are a new field and documents that are replaced."""
    monkeypatch.setattr(adding, "CHUNK", 2)
    before = {"How to reset your password: open the settings."}
    found = lambda: {hit.text for hit in index.search("password settings", by=by, where="lang != 'zh'") if "password" in hit.text}
    seen: list[Any] = []

    def documents() -> Iterator[dict[str, Any]]:
        for number in range(4):
            seen.append(in_another_thread(lambda: (found(), len(index))))
            yield {"id": f"new {number}", "text": f"password {number}", "lang": "en", "pages": number}
        yield {"id": "a", "text": "no password", "lang": "en"}

    index.update(documents())
    assert seen == 4 * [(before, 3)]
    assert found() == {"no password", *(f"password {number}" for number in range(4))} == in_another_thread(found)
    assert ids(index.search("password", where="pages = 3")) == ["new 3"] and index.check() == []


def test_what_was_taken_back_leaves_nothing_behind(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The field of a document that was refused later may come again, with another type."""
    monkeypatch.setattr(adding, "CHUNK", 1)
    with pytest.raises(PlumeError):
        index.add([{"id": "one", "text": "a blue fox", "pages": 1}, {"id": "two", "text": 3}])
    assert "pages" not in index.info()["columns"] and len(index) == 3
    index.add([{"id": "one", "text": "a blue fox", "pages": "seven"}])
    assert ids(index.search("blue", by="words", where="pages = 'seven'")) == ["one"] and index.check() == []
