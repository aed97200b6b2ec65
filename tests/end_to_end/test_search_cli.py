"""plume index and plume search as a user types them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.files import locked

Run = Callable[..., Any]
DOCUMENTS = [
    {"id": "a", "text": "How to reset your password: open the settings.", "lang": "en", "year": 2021},
    {"id": "b", "text": "Cats sleep most of the day.", "lang": "en", "year": 2019},
    {"id": "c", "text": "如何重置密码：打开设置。", "lang": "zh", "year": 2023},
]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in DOCUMENTS), encoding="utf-8")
    return tmp_path / "docs.jsonl"


def found(result: Any) -> list[str]:
    assert result.code == 0, result.err
    return [json.loads(line)["id"] for line in result.out.splitlines()]


def test_words_only_from_building_to_compaction(plume: Run, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "idx"
    built = plume("index", documents, "--no-vectors", "--out", out)
    assert (built.code, built.err.split(" →")[0]) == (0, "3 documents, 3 passages")
    assert found(plume("search", out, "reset password", "--where", "lang = 'en' AND year > 2020", "--json")) == ["a"]
    assert found(plume("search", out, "密码", "--json")) == ["c"]
    shown = plume("search", out, "password").out
    assert "a  [0:46]" in shown and "matched: password" in shown
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"id": "d", "text": "A password for the castle."}\n'))
    assert plume("index", "add", out, "-").code == 0
    assert set(found(plume("search", out, "password", "--json"))) == {"a", "d"}
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"id": "d", "text": "Nothing."}\n'))
    assert plume("index", "update", out, "-").code == 0
    assert found(plume("search", out, "password", "--json")) == ["a"]
    assert "removed 1 of 2 documents; 3 left" in plume("index", "remove", out, "a", "nothing").err
    assert plume("index", "compact", out).code == 0
    assert "3 documents, 3 passages, no problem found" in plume("index", "check", out).out
    info = json.loads(plume("index", "info", out, "--json").out)
    assert (info["documents"], info["columns"]) == (3, {"lang": "text", "year": "int"})
    assert "year: int" in plume("index", "info", out).out


def test_with_a_model_and_measured(plume: Run, documents: Path, tmp_path: Path, language_model: Any) -> None:
    language_model("bert").save(tmp_path / "model")
    out = tmp_path / "idx"
    assert plume("index", "--out", out, "--model", tmp_path / "model", documents, "--type", "hnsw", "-q").code == 0
    assert found(plume("search", out, DOCUMENTS[1]["text"], "--by", "vectors", "--top", 1, "--json")) == ["b"]
    (tmp_path / "queries.tsv").write_text("query\tid\nreset password\ta\nsleep cats\tb\n")
    measured = plume("search", out, "--eval", tmp_path / "queries.tsv", "--json")
    rows = {row["by"]: row for row in map(json.loads, measured.out.splitlines())}
    assert set(rows) == {"vectors", "words", "hybrid"}
    assert rows["words"]["recall@1"] == rows["words"]["mrr"] == rows["words"]["ndcg@10"] == 1.0
    assert rows["vectors"]["against_exact"] == 1.0
    assert "nDCG@10" in plume("search", out, "--eval", tmp_path / "queries.tsv").out
    language_model("roberta").save(tmp_path / "other")
    refused = plume("search", out, "x", "--model", tmp_path / "other")
    assert refused.code == 2 and "embed-again" in refused.err
    assert plume("index", "embed-again", out, "--model", tmp_path / "other").code == 0
    assert found(plume("search", out, DOCUMENTS[1]["text"], "--by", "vectors", "--top", 1, "--json")) == ["b"]


def test_what_is_refused_leaves_nothing(plume: Run, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "idx"
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a", "text": "x"}\n{oops\n')
    refused = plume("index", broken, "--no-vectors", "--out", out)
    assert refused.code == 2 and "broken.jsonl, line 2: not JSON" in refused.err and not out.exists()
    refused = plume("index", documents, "--out", out)
    assert refused.code == 2 and "--no-vectors" in refused.err and not out.exists()
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    for arguments, said in (
        ((documents, "--no-vectors"), "is there already"),
        ((broken, "--no-vectors", "--overwrite"), "line 2"),
    ):
        refused = plume("index", *arguments, "--out", out)
        assert refused.code == 2 and said in refused.err
        assert len(found(plume("search", out, "password cats 密码", "--json"))) == 3  # the old one is intact
    again = plume("index", documents, "--no-vectors", "--out", out, "--resume")
    assert again.code == 0 and "3 there already, skipped" in again.err
    assert plume("index", documents, "--no-vectors", "--out", out, "--overwrite", "--words", "trigram", "-q").code == 0
    assert json.loads(plume("index", "info", out, "--json").out)["words"] == "trigram"
    for arguments, said in (
        (("search", out), "Give a query"),
        (("search", out, "x", "--where", "year = 1; DROP TABLE x"), "at character 9"),
        (("search", tmp_path, "x"), "is not an index"),
    ):
        refused = plume(*arguments)
        assert refused.code == 2 and said in refused.err
    (out / "texts.sqlite").unlink()
    assert plume("index", "check", out).code == 2


def test_what_is_empty_is_said(plume: Run, documents: Path, tmp_path: Path) -> None:
    blank, out = tmp_path / "blank.jsonl", tmp_path / "idx"
    blank.write_text('{"id": "a", "text": "  "}\n')
    refused = plume("index", blank, "--no-vectors", "--out", out)
    assert refused.code == 2 and "blank.jsonl: no document has text" in refused.err and not out.exists()
    refused = plume("index", tmp_path, "--no-vectors", "--out", out)
    assert refused.code == 2 and "is a folder: give the documents in it" in refused.err
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    assert plume("index", "remove", out, *[json.loads(line)["id"] for line in documents.read_text(encoding="utf-8").splitlines()]).code == 0
    refused = plume("search", out, "cats")
    assert refused.code == 2 and "is empty: add documents with plume index add" in refused.err


def test_ready_vectors(plume: Run, documents: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(3, 4, dtype=np.float32))
    assert plume("index", documents, "--vectors", tmp_path / "v.npy", "--out", tmp_path / "idx", "--metric", "l2").code == 0
    refused = plume("search", tmp_path / "idx", "password")
    assert refused.code == 2 and "--by words" in refused.err
    assert found(plume("search", tmp_path / "idx", "password", "--by", "words", "--json")) == ["a"]


def test_an_index_that_is_written_to_is_neither_replaced_nor_dropped(plume: Run, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "idx"
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    with locked(out / "lock", "held"):
        for arguments in ((documents, "--no-vectors", "--out", out, "--overwrite"), ("drop", out, "--yes")):
            refused = plume("index", *arguments)
            assert refused.code == 2 and "Another process is writing" in refused.err
    assert len(found(plume("search", out, "password cats 密码", "--json"))) == 3
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_link_to_an_index(plume: Run, documents: Path, tmp_path: Path) -> None:
    """What it names is replaced, and dropped with it."""
    out, link = tmp_path / "idx", tmp_path / "link"
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    link.symlink_to(out)
    assert plume("index", documents, "--no-vectors", "--out", link, "--overwrite", "--words", "trigram", "-q").code == 0
    assert link.is_symlink() and json.loads(plume("index", "info", out, "--json").out)["words"] == "trigram"
    assert plume("index", "drop", link, "-y").code == 0
    assert not out.exists() and not link.is_symlink()


def test_the_directory_that_one_is_in_is_not_replaced(plume: Run, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "idx"
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    monkeypatch.chdir(out)
    refused = plume("index", documents, "--no-vectors", "--out", ".", "--overwrite")
    assert refused.code == 2 and "is the directory you are in" in refused.err
    assert found(plume("search", ".", "sleep", "--json")) == ["b"]


def test_text_that_is_no_text(plume: Run, tmp_path: Path) -> None:
    """Half a surrogate pair: JSON can escape it, and a shell hands one over for each byte that is not UTF-8."""
    out, half = tmp_path / "idx", "\udcff"
    (tmp_path / "d.jsonl").write_text(
        json.dumps({"id": "a", "text": f"password {half}", f"na{half}me": {f"in{half}ner": f"x{half}"}, "tags": [f"y{half}"]}) + "\n"
    )
    assert plume("index", tmp_path / "d.jsonl", "--no-vectors", "--out", out, "-q").code == 0
    (line,) = plume("search", out, f"password {half}", "--json").out.splitlines()
    assert json.loads(line)["metadata"] == {"na\ufffdme.in\ufffdner": "x\ufffd", "tags": ["y\ufffd"]}
    for where in (f"id = 'x{half}'", f'"na{half}me" = 1', f"tags HAS '{half}'"):
        refused = plume("search", out, "password", "--where", where)
        assert refused.code == 2 and "half a surrogate pair" in refused.err
    assert "removed 0 of 1" in plume("index", "remove", out, half).err


def test_vectors_without_dimensions(plume: Run, documents: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros((3, 0), np.float32))
    refused = plume("index", documents, "--vectors", tmp_path / "v.npy", "--out", tmp_path / "idx")
    assert refused.code == 2 and "[3, 0]" in refused.err and not (tmp_path / "idx").exists()


def test_overwrite_replaces_nothing_but_an_index(plume: Run, documents: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for out in (tmp_path / "mine", tmp_path / "mine" / "thesis.txt"):
        refused = plume("index", documents, "--no-vectors", "--out", out, "--overwrite")
        assert refused.code == 2 and "is no index, and --overwrite replaces nothing else" in refused.err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert plume("index", documents, "--no-vectors", "--out", tmp_path / "new", "--overwrite", "-q").code == 0


def test_drop_asks(plume: Run, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "idx"
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    refused = plume("index", "drop", out)
    assert refused.code == 2 and "confirm with --yes" in refused.err and out.exists()

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert plume("index", "drop", out).code == 1 and out.exists()
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert plume("index", "drop", out).code == 0 and not out.exists()
    refused = plume("index", "drop", out, "-y")
    assert refused.code == 2 and "is not an index" in refused.err


def test_numbers_that_mean_nothing(plume: Run, documents: Path, tmp_path: Path) -> None:
    out, queries = tmp_path / "idx", tmp_path / "queries.tsv"
    queries.write_text("reset password\ta\n")
    refused = plume("index", documents, "--no-vectors", "--out", out, "--overlap", -5)
    assert refused.code == 2 and "--overlap -5" in refused.err and not out.exists()
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    for top in (0, -3):
        for asked in (("x",), ("--eval", queries)):
            refused = plume("search", out, *asked, "--top", top)
            assert refused.code == 2 and f"--top {top}: give a number of at least 1" in refused.err
    refused = plume("search", out, "x", "--where", "id = 1")
    assert refused.code == 2 and "quote it, '1'" in refused.err
    refused = plume("search", out, "x", "--where", "lang = en")
    assert refused.code == 2 and "text stands in quotes: 'en'" in refused.err


def test_scores_of_compressed_vectors_are_called_estimates(plume: Run, tmp_path: Path, language_model: Any) -> None:
    model, out, queries = tmp_path / "model", tmp_path / "idx", tmp_path / "queries.tsv"
    language_model("bert").save(model)
    (tmp_path / "docs.txt").write_text("".join(f"document {number} of {number % 7} pages\n" for number in range(300)))
    queries.write_text(f"document 3\t{tmp_path}/docs.txt:4\n")
    assert plume("index", tmp_path / "docs.txt", "--model", model, "--out", out, "--type", "pq", "-q").code == 0
    asked = ("search", out, "document 3", "--by", "vectors", "--top", 1)
    assert "vectors ≈ " in plume(*asked).out and "≈" not in plume(*asked, "--exact").out
    assert json.loads(plume(*asked, "--json").out)["estimated"] is True
    assert "estimated" not in json.loads(plume(*asked, "--json", "--exact").out)
    rows = [json.loads(plume("search", out, "--eval", queries, "--by", "vectors", "--json", *more).out) for more in ((), ("--exact",))]
    assert "against_exact" in rows[0] and "against_exact" not in rows[1]


def test_an_addition_that_fails_says_how_to_go_on(plume: Run, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from plume.search import adding

    monkeypatch.setattr(adding, "CHUNK", 1)
    out, more = tmp_path / "idx", tmp_path / "more.jsonl"
    assert plume("index", documents, "--no-vectors", "--out", out, "-q").code == 0
    lines = [json.dumps({"id": f"n{number}", "text": "a further one"}) for number in range(7)]
    more.write_text("\n".join([*lines[:6], '{"id": "n6", "text": 3}']))
    refused = plume("index", "add", out, more)
    assert refused.code == 2 and "more.jsonl, line 7" in refused.err and "5 documents were added before that: give --resume" in refused.err
    more.write_text("\n".join(lines))
    refused = plume("index", "add", out, more)
    assert refused.code == 2 and "pass over all that are there with --resume" in refused.err
    again = plume("index", "add", out, more, "--resume")
    assert again.code == 0 and "2 documents" in again.err and "5 there already" in again.err


def notes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.txt").write_text(f"a password for {folder}\n")


def texts(ran: Any) -> dict[str, str]:
    return {hit["id"]: hit["text"] for hit in map(json.loads, ran.out.splitlines())}


def test_files_of_one_name_in_two_folders(plume: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given together or one after the other, they are told apart, and each can be updated."""
    notes(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert plume("index", "one/notes.txt", "two/notes.txt", "--no-vectors", "--out", "together", "-q").code == 0
    assert plume("index", "one/notes.txt", "--no-vectors", "--out", "idx", "-q").code == 0
    assert plume("index", "add", "idx", "two/notes.txt", "-q").code == 0
    expected = {f"{folder}/notes.txt:1": f"a password for {folder}" for folder in ("one", "two")}
    assert texts(plume("search", "together", "password", "--json")) == expected == texts(plume("search", "idx", "password", "--json"))
    Path("two/notes.txt").write_text("another password\n")
    for index in ("together", "idx"):
        assert plume("index", "update", index, "./two/notes.txt", "-q").code == 0
        assert texts(plume("search", index, "password", "--json")) == expected | {"two/notes.txt:1": "another password"}
    refused = plume("index", "one/notes.txt", "./one/notes.txt", "--no-vectors", "--out", "twice")
    assert refused.code == 2 and "was given before" in refused.err


def test_an_index_keeps_the_names_that_it_was_made_with(plume: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 called documents without an id by their file's name: they are found again, and replaced."""
    notes(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert plume("index", "one/notes.txt", "--no-vectors", "--out", "idx", "-q").code == 0
    settings = tmp_path / "idx" / "index.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"version": 1}))
    assert plume("index", "remove", "idx", "one/notes.txt:1", "-q").code == 0
    assert plume("index", "add", "idx", "one/notes.txt", "-q").code == 0
    Path("one/notes.txt").write_text("a new password\n")
    assert plume("index", "update", "idx", "one/notes.txt", "-q").code == 0
    assert texts(plume("search", "idx", "password", "--json")) == {"notes.txt:1": "a new password"}
    assert json.loads(settings.read_text())["version"] == 1 and plume("index", "check", "idx").code == 0


def test_tables_without_a_header_or_the_name_text(plume: Run, tmp_path: Path) -> None:
    """Read as tasks read them: what separates the cells is found, and so is the text; `--text` and `--id` may be numbers."""
    table = tmp_path / "scored.csv"
    table.write_text("".join(f"genre\t{year}\ta password, {year}\n" for year in range(2001, 2031)))
    assert plume("index", table, "--no-vectors", "--out", tmp_path / "a", "--text", "3", "--id", "2", "-q").code == 0
    assert found(plume("search", tmp_path / "a", "2007", "--json")) == ["2007"]
    (tmp_path / "named.csv").write_text("number,sentence\n" + "".join(f'{one},"the word, {one}"\n' for one in range(30)))
    assert plume("index", tmp_path / "named.csv", "--no-vectors", "--out", tmp_path / "b", "-q").code == 0
    assert found(plume("search", tmp_path / "b", "word", "--where", "number = 3", "--json")) == [f"{tmp_path}/named.csv:5"]
    (tmp_path / "one.csv").write_text('text\n"a cat, a box"\n')
    assert plume("index", tmp_path / "one.csv", "--no-vectors", "--out", tmp_path / "c", "-q").code == 0
    assert json.loads(plume("search", tmp_path / "c", "cat", "--json").out)["text"] == "a cat, a box"
    refused = plume("index", table, "--no-vectors", "--out", tmp_path / "d", "--text", "body")
    assert refused.code == 2 and "there is no column 'body'" in refused.err
