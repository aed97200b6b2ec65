"""What users give that cannot be: each is told with its place, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.search.evaluating import read_queries
from plume.search.index import Index

GOOD = '{"id": "a", "text": "one", "year": 1}'


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "idx")


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("e.jsonl", "", "e.jsonl is empty"),
        ("b.jsonl", f"{GOOD}\n\n{{broken", "b.jsonl, line 3: not JSON"),
        ("l.jsonl", f"{GOOD}\n[1]", "l.jsonl, line 2: a JSON list, not an object"),
        ("d.jsonl", f"{GOOD}\n{GOOD}", "d.jsonl, line 2: the id 'a' was given before, at .*line 1"),
        ("t.jsonl", '{"id": "a", "body": "x"}', "t.jsonl, line 1: there is no field 'text'; there are id, body. .*--text FIELD"),
        ("n.jsonl", '{"id": "a", "text": 3}', "line 1: 'text' holds '3', which is no text"),
        ("i.jsonl", '{"id": null, "text": "x"}', "line 1: 'id' holds 'None', but every document needs an id"),
        (
            "m.jsonl",
            f'{GOOD}\n{{"id": "b", "text": "x", "year": "soon"}}',
            "line 2: 'year' holds 'soon' .text., but it is of type int.*--types",
        ),
        ("h.jsonl", '{"id": "a", "text": "x", "big": 123456789012345678901234}', "line 1: 'big' is a number of 24 digits"),
        ("o.jsonl", '{"id": "a", "text": "x", "odd": [[1]]}', "line 1: 'odd' holds"),
        ("f.jsonl", '{"id": "a", "text": "x", "odd": [1, NaN]}', "line 1: 'odd' holds .* no place for NaN or infinity"),
        ("g.jsonl", '{"id": "a", "text": "x", "in": {"odd": [-Infinity]}}', "line 1: 'in.odd' holds .* no place for NaN or infinity"),
        ("c.csv", "id,text,year\na,x,1\nb,y\n", "c.csv, line 3: 2 columns where the header has 3"),
        ("missing.jsonl", None, "There is no file"),
    ],
)
def test_files(name: str, text: str | None, said: str, index: Index, tmp_path: Path) -> None:
    path = tmp_path / name if text is None else write(tmp_path, name, text)
    with pytest.raises(PlumeError, match=said):
        index.add_files([path])
    assert len(index) == 0 and index.check() == []


def test_an_id_that_is_there(index: Index, tmp_path: Path) -> None:
    file = write(tmp_path, "d.jsonl", GOOD)
    index.add_files([file])
    with pytest.raises(PlumeError, match=r"d.jsonl, line 1: there is a document 'a' already.*plume index update"):
        index.add_files([file])
    assert index.add_files([file], skip_known=True).known == 1
    assert index.add_files([file], replace_known=True).documents == 1
    assert len(index) == 1


def test_a_number_that_appears_late_in_a_table(index: Index, tmp_path: Path) -> None:
    rows = "".join(f"{number},t,{number}\n" for number in range(1_000))
    file = write(tmp_path, "t.csv", f"id,text,code\n{rows}x,t,A7\n")
    with pytest.raises(PlumeError, match=r"t.csv, line 1002: 'code' holds 'A7', which is no number.*--types code=text"):
        index.add_files([file])
    index.add_files([file], types={"code": "text"})
    assert index.search("t", where="code = 'A7'")[0].id == "x"


def test_tables_and_texts(index: Index, tmp_path: Path) -> None:
    """A cell that is empty is missing, types are found, a text file has a text a line."""
    write(tmp_path, "t.tsv", "id\ttitle\tbody\tyear\topen\n1\tRed\tfox\t2020\tTrue\n2\tBlue\tfox\t\tfalse\n")
    write(tmp_path, "t.txt", "first fox\n\nsecond fox\n")
    index.add_files([tmp_path / "t.tsv"], text="title,body")
    index.add_files([tmp_path / "t.txt"])
    assert index.info()["columns"] == {"year": "int", "open": "bool"}
    hits = {hit.id: hit for hit in index.search("fox")}
    assert set(hits) == {"1", "2", f"{tmp_path}/t.txt:1", f"{tmp_path}/t.txt:3"}
    assert (hits["1"].text, dict(hits["1"].metadata), dict(hits["2"].metadata)) == (
        "Red\nfox",
        {"year": 2020, "open": True},
        {"open": False},
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers(value: float, tmp_path: Path) -> None:
    rows = np.ones((3, 4), np.float32)
    rows[1, 2] = value
    with Index.create(tmp_path / "idx", dimension=4) as index:
        with pytest.raises(PlumeError, match="document 1: document '1' has a vector with NaN or infinity"):
            index.add(["x", "y", "z"], vectors=rows)
        with pytest.raises(PlumeError, match="do not fit an index of 4 dimensions"):
            index.add(["x"], vectors=np.ones((1, 5)))
        with pytest.raises(PlumeError, match="a row a document"):
            index.add(["x"], vectors=np.ones(4))
        with pytest.raises(PlumeError, match="a row a document"):
            index.add(["x"], vectors=np.ones((1, 0)))
        with pytest.raises(PlumeError, match=r"not an \.npy file"):
            index.add(["x"], vectors=write(tmp_path, "x.npy", "no"))
        assert len(index) == 0 and index.check() == []


def test_a_newer_or_damaged_index(index: Index) -> None:
    file = index.folder / "index.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps(settings | {"version": 99}))
    with pytest.raises(PlumeError, match=r"written by a newer plume .index version 99.*update plume"):
        Index.open(index.folder)
    file.write_text(json.dumps(settings | {"metric": "no"}))
    with pytest.raises(PlumeError, match="is damaged"):
        Index.open(index.folder)
    file.write_text("{")
    with pytest.raises(PlumeError, match="not readable JSON"):
        Index.open(index.folder)
    file.write_text(json.dumps(settings))
    index.close()  # which leaves all in one file
    (index.folder / "texts.sqlite").write_bytes(b"no database at all, but long enough to be read as one" * 100)
    with pytest.raises(PlumeError, match=r"texts.sqlite is damaged"):
        len(Index.open(index.folder))
    (index.folder / "texts.sqlite").write_bytes(b"")
    with pytest.raises(PlumeError, match=r"texts.sqlite is damaged"):
        len(Index.open(index.folder))
    with pytest.raises(PlumeError, match=r"texts.sqlite is damaged"):
        Index.open(index.folder).remove(["a"])
    assert "is damaged" in Index.open(index.folder).check()[0]
    with pytest.raises(PlumeError, match="is not an index"):
        Index.open(index.folder.parent)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"words": None}, "finds nothing"), ({"words": "chars"}, "--words chars: give jieba, trigram"), ({"metric": "dot"}, "--metric dot"),
        ({"recall": 2.0}, "--recall 2.0"), ({"passage": 0}, "--passage 0"), ({"backend": "mongo://x"}, "no backend 'mongo'"),
        ({"model": "nowhere"}, "no model directory nowhere"), ({"dimension": 0}, "dimension 0: give a number of at least 1"),
    ],
)  # fmt: skip
def test_options(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        Index.create(tmp_path / "new", **options)
    assert not (tmp_path / "new" / "index.json").exists()


def test_searching_what_is_not_there(index: Index, tmp_path: Path) -> None:
    index.add(["some text"])
    for options, said in (({"by": "vectors"}, "has words only"), ({"by": "magic"}, "no way to search"), ({"top": 0}, "--top 0")):
        with pytest.raises(PlumeError, match=said):
            index.search("text", **options)  # type: ignore[arg-type]
    with pytest.raises(PlumeError, match="query is empty"):
        index.search("  ")
    with pytest.raises(PlumeError, match="is there already"):
        Index.create(index.folder)
    assert index.search("nothing of this") == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.tsv", "", "q.tsv is empty"), ("q.tsv", "only a query", "line 1: 1 columns"), ("q.tsv", "query\tid\nx\ta\tgood", "line 2: the grade is"),
        ("q.jsonl", '{"query": "x"}', "line 1: needs 'query' and 'ids'"),
    ],
)  # fmt: skip
def test_queries(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        read_queries(write(tmp_path, name, text))


def test_a_wrong_filter_is_told_before_a_model_is_loaded(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "v", dimension=2)
    index.add([{"id": "a", "text": "one"}], vectors=np.ones((1, 2), np.float32))
    with pytest.raises(PlumeError, match="colour"):
        index.search("one", by="vectors", where="colour = 'red'")
