"""A corpus into a file: the same vectors whatever happens on the way."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.sentences import embedding
from plume.sentences.embedding import embed_files
from plume.sentences.fitting import fit_sentences
from plume.vectors.transforms.normalise import Normalise
from plume.vectors.transforms.whiten import Whiten

WORDS = ("the", "cat", "river", "box", "苹果", "storm", "bread", "sister", "paints", "two", "apples", "letter")
TEXTS = [" ".join(WORDS[(number * step) % 12] for step in range(number % 9)) for number in range(50)]


@pytest.fixture(scope="module")
def model(miniature: Any, built: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    recipe = miniature("bert", length=32)
    tokenizer = tokenizer_for(recipe)
    LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer).save(folder)
    return folder


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "CHUNK", 8)
    embedding._embedder.cache_clear()


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return tmp_path / "corpus.txt"


def expected(model: Path) -> Any:
    loaded = plume.load(model)
    return np.concatenate([loaded.embed(TEXTS[first : first + 8]) for first in range(0, 50, 8)])


def test_a_vector_a_line_whatever_is_read(model: Path, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert embed_files(model, [str(lines)], tmp_path / "a.npy") == 50
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy", mmap_mode="r"), expected(model))
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    embed_files(model, [str(tmp_path / "c.jsonl")], tmp_path / "b.npy", column="body", threads=2)
    assert (tmp_path / "b.npy").read_bytes() == (tmp_path / "a.npy").read_bytes()
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(TEXTS)))
    embed_files(model, ["-"], tmp_path / "d.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["text"] for line in lines] == TEXTS
    np.testing.assert_allclose([line["vector"] for line in lines], expected(model), atol=1e-6)
    assert not list(tmp_path.glob(".*part*"))


def test_a_column_of_a_table(model: Path, tmp_path: Path) -> None:
    """Found as tasks find it, or named; row n has vector n, an empty text too."""
    rows = [(str(number), text.replace("\t", " ") or "", number % 3) for number, text in enumerate(TEXTS)]
    (tmp_path / "t.tsv").write_text("id\tsentence\tlabel\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    with (tmp_path / "t.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows((text, "a, b") for text in TEXTS)
    for file, column in (("t.tsv", "sentence"), ("t.tsv", None), ("t.tsv", "2"), ("t.csv", "1")):
        assert embed_files(model, [str(tmp_path / file)], tmp_path / "v.npy", column=column, overwrite=True) == 50
        np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), expected(model))
    (tmp_path / "pairs.txt").write_text("one text\tanother\t1\nthe cat\tthe box\t0\n")
    embed_files(model, [str(tmp_path / "pairs.txt")], tmp_path / "v.npy", column="2", overwrite=True)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), plume.load(model).embed(["another", "the box"]))
    with pytest.raises(PlumeError, match="there is no column 'body'"):
        embed_files(model, [str(tmp_path / "t.tsv")], tmp_path / "w.npy", column="body")
    (tmp_path / "odd.csv").write_text("a text,1\nanother,2,3\n")
    with pytest.raises(PlumeError, match=r"odd.csv, line 2: 3 columns where 2"):
        embed_files(model, [str(tmp_path / "odd.csv")], tmp_path / "w.npy", column="1")
    (tmp_path / "one.csv").write_text('text\n"a cat, a box"\nthe river\n')
    assert embed_files(model, [str(tmp_path / "one.csv")], tmp_path / "w.npy") == 2


@pytest.mark.parametrize("suffix", ["npy", "jsonl"])
def test_a_run_that_was_killed_goes_on(model: Path, lines: Path, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, out = tmp_path / f"whole.{suffix}", tmp_path / f"out.{suffix}"
    embed_files(model, [str(lines)], whole)

    def die(done: int) -> None:
        if done == 24:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_files(model, [str(lines)], out, shown=die)
    assert not out.exists()
    with (tmp_path / f".out.{suffix}.part").open("ab") as handle:
        handle.write(b"half of the next chunk")  # which was not counted yet
    computed: list[int] = []
    work = embedding._work
    monkeypatch.setattr(embedding, "_work", lambda loaded, texts, options: computed.append(len(texts)) or work(loaded, texts, options))
    assert embed_files(model, [str(lines)], out, resume=True) == 50
    assert out.read_bytes() == whole.read_bytes()
    assert computed == [8, 8, 8, 2]


def test_what_does_not_belong_together_is_refused(model: Path, lines: Path, tmp_path: Path) -> None:
    def die(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        embed_files(model, [str(lines)], out, shown=die)
    with pytest.raises(PlumeError, match="another options"):
        embed_files(model, [str(lines)], out, options={"pooling": "max"}, resume=True)
    embed_files(model, [str(lines)], out, resume=True)
    with pytest.raises(PlumeError, match="exists already"):
        embed_files(model, [str(lines)], out)
    with pytest.raises(PlumeError, match=r"as \.npy or \.jsonl"):
        embed_files(model, [str(lines)], tmp_path / "out.bin")
    with pytest.raises(PlumeError, match="is an input itself"):
        embed_files(model, [str(lines)], lines)
    with pytest.raises(PlumeError, match="no file"):
        embed_files(model, [str(tmp_path / "absent.txt")], tmp_path / "x.npy")
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"txt": "b"}\n')
    with pytest.raises(PlumeError, match="line 2: no field 'text'"):
        embed_files(model, [str(tmp_path / "bad.jsonl")], tmp_path / "x.npy")
    with pytest.raises(PlumeError, match="cannot be read again"):
        embed_files(model, ["-"], tmp_path / "x.npy", resume=True)


def test_a_fit_is_a_model_directory_of_its_own(model: Path, lines: Path, tmp_path: Path) -> None:
    said: list[str] = []
    fit_sentences(model, [str(lines)], tmp_path / "white", transforms=[Whiten(dimensions=4), Normalise()], told=said.append)
    loaded = plume.load(tmp_path / "white")
    raw = plume.load(model).embed([text for text in TEXTS if text])
    whitened = Whiten(dimensions=4).fit(raw).apply(raw)
    np.testing.assert_allclose(
        loaded.embed([text for text in TEXTS if text]), whitened / np.linalg.norm(whitened, axis=1, keepdims=True), atol=1e-4
    )
    assert loaded.width == 4 and loaded.sentence.fitted_on == ("corpus.txt",)
    assert len(said) == 1 and "10 a dimension" in said[0]
    with pytest.raises(PlumeError, match="exists already"):
        fit_sentences(model, [str(lines)], tmp_path / "white")
    with pytest.raises(PlumeError, match="needs text"):
        fit_sentences(model, [], tmp_path / "other", transforms=[Whiten()])
