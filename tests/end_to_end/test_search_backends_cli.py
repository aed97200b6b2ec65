"""--backend as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    rows = [{"id": "a", "text": "How to reset your password.", "year": 2021}, {"id": "c", "text": "如何重置密码。", "year": 2023}]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return tmp_path / "docs.jsonl"


def test_an_index_in_milvus_from_building_to_its_end(plume: Run, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    monkeypatch.chdir(tmp_path)
    built = plume("index", documents, "--no-vectors", "--out", "idx", "--backend", "milvus://./x.db")
    assert (built.code, built.err.split(" →")[0]) == (0, "2 documents, 2 passages")
    kept = json.loads((tmp_path / "idx" / "index.json").read_text())
    assert kept["backend"] == f"milvus://{tmp_path}/x.db"
    first = kept["extra"]["name"]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert json.loads(plume("search", "../idx", "密码", "--where", "year > 2022", "--json").out)["id"] == "c"
    assert json.loads(plume("search", "../idx", "password", "--backend", f"milvus://{tmp_path}/x.db", "--json").out)["id"] == "a"
    assert plume("index", "remove", "../idx", "a").err == "removed 1 of 1 documents; 1 left\n"
    assert plume("index", documents, "--no-vectors", "--out", "../idx", "--backend", "milvus://../x.db", "--overwrite").code == 0
    assert json.loads((tmp_path / "idx" / "index.json").read_text())["extra"]["name"] != first
    info = json.loads(plume("index", "info", "../idx", "--json").out)
    assert (info["documents"], info["columns"]) == (2, {"year": "int"})
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n')
    assert plume("index", tmp_path / "bad.jsonl", "--no-vectors", "--out", "../bad", "--backend", f"milvus://{tmp_path}/x.db").code == 2
    assert not (tmp_path / "bad").exists()
    assert plume("index", "drop", "../idx", "--yes").code == 0 and not (tmp_path / "idx").exists()
    from pymilvus import MilvusClient

    assert MilvusClient(f"{tmp_path}/x.db").list_collections() == []


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("postgres://host/base", "did you mean postgresql?"),
        ("postgresql://me:secret@127.0.0.1:1/base", "No answer from PostgreSQL at postgresql://me@127.0.0.1:1/base"),
        ("milvus://127.0.0.1:1", "Milvus at milvus://127.0.0.1:1 refuses, or is not there"),
        ("elasticsearch://127.0.0.1:1", "No answer from Elasticsearch at elasticsearch://127.0.0.1:1"),
        ("elasticsearch://127.0.0.1:port", "is no address of a backend"),
    ],
)
def test_addresses_that_lead_nowhere(plume: Run, documents: Path, tmp_path: Path, backend: str, said: str) -> None:
    pytest.importorskip({"milvus": "pymilvus", "elasticsearch": "elasticsearch"}.get(backend.partition(":")[0], "psycopg"))
    result = plume("index", documents, "--no-vectors", "--out", tmp_path / "idx", "--backend", backend)
    assert result.code == 2 and said in result.err and "secret" not in result.err
    assert not (tmp_path / "idx").exists()
