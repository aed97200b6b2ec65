"""One index, from adding to finding."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import plume
from plume.core.errors import PlumeError
from plume.core.files import locked
from plume.search.index import Index
from plume.vectors.sentence import SentenceVectors

DOCUMENTS: list[dict[str, Any]] = [
    {"id": "a", "text": "How to reset your password: open the settings.", "lang": "en", "year": 2021, "tags": ["help"]},
    {"id": "b", "text": "Cats sleep most of the day. Dogs do not.", "lang": "en", "year": 2019},
    {"id": "c", "text": "如何重置密码：打开设置。", "lang": "zh", "year": 2023, "score": 1},
    {"id": 7, "text": "The password of the castle was a song.", "lang": "en", "score": 0.5, "author": {"name": "Wu"}},
]


@pytest.fixture
def index(tmp_path: Path, hashed: Any) -> Index:
    made = Index.create(tmp_path / "idx", model=hashed)
    made.add(DOCUMENTS)
    return made


def ids(hits: Any) -> list[str]:
    return [hit.id for hit in hits]


def test_it_finds_by_meaning_by_words_and_by_both(index: Index) -> None:
    for by in ("vectors", "words", "hybrid"):
        hits = index.search("reset password", top=2, by=by)  # type: ignore[arg-type]
        assert ids(hits) == ["a", "7"]
        assert hits[0].matched == ("reset", "password")
    best = index.search("password reset")[0]
    assert best.vectors is not None and best.words is not None
    assert best.score == pytest.approx(1.0)  # the best of both sides
    assert (best.text[best.start : best.end], best.metadata) == (DOCUMENTS[0]["text"], {"lang": "en", "year": 2021, "tags": ["help"]})
    assert ids(index.search("重置密码", by="words")) == ["c"]


def test_types_are_found_and_filtered_by(index: Index) -> None:
    assert index.info()["columns"] == {"lang": "text", "year": "int", "tags": "list", "score": "real", "author.name": "text"}
    assert ids(index.search("password", where="year > 2020 AND lang = 'en'")) == ["a"]
    assert ids(index.search("password", where="author.name = 'Wu'")) == ["7"]
    assert ids(index.search("password", where="id IN ('c', '7')", by="words")) == ["7"]
    assert index.search("password", where="year = 1") == []
    with pytest.raises(PlumeError, match="no field 'yaer': did you mean year"):
        index.search("password", where="yaer = 1")


def test_removed_documents_are_gone_for_every_reader_after_the_commit(index: Index) -> None:
    reader = Index.open(index.folder, model=index.embedder)
    assert len(reader) == 4
    assert index.remove(["a", "nothing"]) == 1
    assert ids(reader.search("reset password", top=1)) == ["7"]
    assert ids(reader.search("reset password", by="words")) == ["7"]
    index.update([{"id": "b", "text": "A password for dogs.", "year": 2024}, {"id": "z", "text": "new"}])
    assert reader.search("password dogs", top=1)[0].metadata == {"year": 2024}
    assert len(reader) == 4
    assert reader.check() == []
    index.compact()
    assert ids(reader.search("password dogs", top=1)) == ["b"]
    assert reader.info()["removed"] == 0 and reader.check() == []
    reader.close()


def test_an_update_is_one_commit(index: Index) -> None:
    with pytest.raises(PlumeError, match="document 1: 'year' holds 'soon'"):
        index.update([{"id": "a", "text": "changed"}, {"id": "b", "text": "changed", "year": "soon"}])
    assert index.search("changed", by="words") == []
    assert ids(index.search("reset", by="words")) == ["a"]
    assert index.check() == []


def test_the_same_again_in_a_new_process(index: Index, hashed: Any) -> None:
    before = [hit.as_json() for hit in index.search("password")]
    index.close()
    with plume.Index.open(index.folder, model=hashed) as again:
        assert [hit.as_json() for hit in again.search("password")] == before
        assert json.dumps(before)


def test_long_documents_are_cut_with_their_places(tmp_path: Path, hashed: Any) -> None:
    text = " ".join(f"Sentence number {number} speaks of topic{number}." for number in range(100))
    with Index.create(tmp_path / "idx", model=hashed, passage=30) as index:
        index.add([{"id": "long", "text": text}])
        hit = index.search("topic57", top=1)[0]
        assert text[hit.start : hit.end] == hit.text and "topic57" in hit.text and len(hit.text) < 300
        index.update([{"id": "long", "text": "short"}])
        assert index.backend.count() == (1, 1)


def test_another_model_is_refused(index: Index, another: Any, hashed: Any) -> None:
    with pytest.raises(PlumeError, match=r"did not make the vectors.*embed-again"):
        Index.open(index.folder, model=another).search("password")
    assert Index.open(index.folder, model=another).search("password", by="words")
    with pytest.raises(PlumeError, match="does not know the model"):
        Index.open(index.folder).search("password")
    again = index.embed_again(another)
    assert ids(again.search("reset password", top=1)) == ["a"] and again.check() == []
    with pytest.raises(PlumeError, match="did not make the vectors"):
        Index.open(again.folder, model=hashed).search("password")


def test_a_model_directory_is_known_by_what_is_in_it(tmp_path: Path, language_model: Any) -> None:
    language_model("bert").save(tmp_path / "model")
    with Index.create(tmp_path / "idx", model=tmp_path / "model") as index:
        index.add(["one text", "another text"])
    with Index.open(tmp_path / "idx") as index:
        assert index.search("one text", top=1, by="vectors")[0].vectors == pytest.approx(1.0, abs=1e-5)
    (tmp_path / "model" / "card.md").write_text("changed")
    assert Index.open(tmp_path / "idx").search("one text")
    SentenceVectors(prompt="query: ").save(tmp_path / "model")
    with pytest.raises(PlumeError, match="did not make the vectors"):
        Index.open(tmp_path / "idx").search("one text")


def test_ready_vectors(tmp_path: Path, clustered: NDArray[np.float32]) -> None:
    np.save(tmp_path / "ready.npy", 3 * clustered[:50])
    with Index.create(tmp_path / "idx", dimension=32) as index:
        index.add([f"text {number}" for number in range(50)], vectors=tmp_path / "ready.npy")
        found = index.backend.search_vectors(clustered[:50], top=1)
        assert found.keys[:, 0].tolist() == list(range(50))
        assert np.allclose(found.scores, 1.0, atol=1e-5)
        with pytest.raises(PlumeError, match="came ready"):
            index.add(["one more"])
        with pytest.raises(PlumeError, match="50 vectors for 1 documents"):
            index.add([{"id": "x", "text": "one more"}], vectors=clustered[:50])
        with pytest.raises(PlumeError, match="document 1: there are only 1 vectors"):
            index.add([{"id": "x", "text": "1"}, {"id": "y", "text": "2"}], vectors=clustered[:1])
        assert len(index) == 50 and index.check() == []


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_metrics(metric: str, tmp_path: Path) -> None:
    rows = np.array([[1, 0], [3, 3], [0, 2]], np.float32)
    query = np.array([[0.2, 1.0]], np.float32)
    with Index.create(tmp_path / "idx", dimension=2, metric=metric, words=None) as index:
        index.add(["x", "y", "z"], vectors=rows)
        by_hand = {
            "cosine": rows @ query[0] / np.linalg.norm(rows, axis=1) / np.linalg.norm(query), "ip": rows @ query[0],
            "l2": -np.square(rows - query).sum(axis=1),
        }[metric]  # fmt: skip
        queries = query / np.linalg.norm(query) if metric == "cosine" else query
        found = index.backend.search_vectors(queries, top=3)
        assert found.keys[0].tolist() == np.argsort(-by_hand).tolist()
        assert np.allclose(found.scores[0], np.sort(by_hand)[::-1], atol=1e-6)


def test_a_reranker_has_the_last_word(index: Index) -> None:
    hits = index.search("password", rerank=lambda query, passages: [-len(passage) for passage in passages], top=2)
    assert [len(hit.text) for hit in hits] == sorted(len(str(one["text"])) for one in DOCUMENTS)[:2]
    assert hits[0].rerank == hits[0].score


def _write_while_held(folder: str, told: Any) -> None:
    try:
        Index.open(folder).remove(["a"])
    except PlumeError as error:
        told.put(str(error))


def test_one_writer_at_a_time(index: Index) -> None:
    index.backend.remove(["b"])  # begun, not committed
    told = multiprocessing.get_context("spawn").Queue()
    other = multiprocessing.get_context("spawn").Process(target=_write_while_held, args=(str(index.folder), told))
    other.start()
    assert "Another process is writing" in told.get(timeout=60)
    other.join()
    index.backend.rollback()
    assert len(index) == 4
    assert Index.open(index.folder).remove(["a"]) == 1


def test_more_hits_than_there_are_passages(index: Index) -> None:
    assert len(index.search("password", top=2_000_000_000)) == len(index.search("password", top=100))


def test_an_id_that_is_given_twice_far_apart_is_removed_once(index: Index) -> None:
    assert index.remove(["a", *(f"other {number}" for number in range(600)), "a"]) == 1
    assert index.check() == []


def test_segments_of_words_stay_apart_after_compaction(index: Index) -> None:
    index.add([{"id": "x", "text": "words that no other text has: zebra quagga okapi"}])
    index.remove(["x"])
    index.compact()
    index.add([{"id": "y", "text": "one more text"}])
    assert index.check() == []


def test_what_was_opened_before_a_replacement_says_so(tmp_path: Path, hashed: Any, index: Index) -> None:
    before = Index.open(tmp_path / "idx", model=hashed)
    index.embed_again(hashed)
    with pytest.raises(PlumeError, match="open it again"):
        before.add(["lost, had it been taken"])
    assert Index.open(tmp_path / "idx", model=hashed).search("password", top=1)


def test_a_replacement_that_was_interrupted_between_its_renames_is_undone(tmp_path: Path, hashed: Any, index: Index) -> None:
    index.backend.close()
    (tmp_path / "idx").rename(tmp_path / ".idx.old")
    assert Index.open(tmp_path / "idx", model=hashed).search("password", top=1)


def test_vectors_are_not_made_anew_while_another_writes(tmp_path: Path, hashed: Any, index: Index) -> None:
    with locked(tmp_path / "idx" / "lock", "held"), pytest.raises(PlumeError, match="Another process is writing"):
        index.embed_again(hashed)
