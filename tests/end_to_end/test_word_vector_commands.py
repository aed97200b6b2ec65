"""Word vectors on the command line: trained, asked, measured, drawn, given away; and what users get wrong."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]


@pytest.fixture
def run_folder(plume: Run, text: Path, tmp_path: Path) -> Path:
    out = tmp_path / "w2v"
    settings = ("dimension=8", "epochs=2", "least=1", "lowercase=true")
    assert plume("pretrain", "word2vec/tiny", "--corpus", text, "--out", out, "-q", *(w for s in settings for w in ("--set", s))).code == 0
    return out


@pytest.fixture
def words(run_folder: Path) -> list[str]:
    lines = (run_folder / "words.tsv").read_text(encoding="utf-8").splitlines()
    return [word for word, _ in (line.split("\t") for line in lines) if word.isalpha()]


def test_neighbours_and_the_folder_s_use(plume: Run, run_folder: Path, words: list[str]) -> None:
    found = plume("neighbours", run_folder, words[0], "--top", 3)
    assert found.code == 0
    assert len(found.out.splitlines()) == 3
    assert words[0] not in [line.split("\t")[1] for line in found.out.splitlines()]
    embedded = plume("embed", run_folder, " ".join(words[:3]))
    assert len(json.loads(embedded.out)["vector"]) == 8


def test_measured_against_files(plume: Run, run_folder: Path, words: list[str], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{a}\t{b}\t{n}\n" for n, (a, b) in enumerate(itertools.pairwise(words[:9]))) + "zzqq\tzzqx\t1\n")
    questions = tmp_path / "questions.txt"
    questions.write_text(f": some\n{' '.join(words[:4])}\n{' '.join(words[1:5])}\nzzqq a b c\n")
    found = plume("eval", run_folder, "--similarity", pairs, "--analogy", questions, "--json")
    assert found.code == 0, found.err
    result = json.loads(found.out)
    assert (result["similarity"][0]["pairs"], result["similarity"][0]["used"]) == (9, 8)
    assert result["analogy"][0]["total"]["used"] == 2
    shown = plume("eval", run_folder, "--similarity", pairs, "--analogy", questions)
    assert "Spearman" in shown.out
    assert "zzqq" in shown.out + shown.err


def test_drawn_given_away_and_taken_back(plume: Run, run_folder: Path, words: list[str], tmp_path: Path) -> None:
    assert plume("map", run_folder, *words[:6], "--out", tmp_path / "map.html").code == 0
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert all(word in page for word in words[:6])
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    for name in ("v.txt", "v.bin"):
        assert plume("export", run_folder, "--out", tmp_path / name).code == 0
        again = tmp_path / f"again-{name}"
        assert plume("import", tmp_path / name, "--out", again).code == 0
        assert plume("neighbours", again, words[0]).out == plume("neighbours", run_folder, words[0]).out
        assert plume("neighbours", tmp_path / name, words[0]).out == plume("neighbours", run_folder, words[0]).out


def test_shown_and_listed(plume: Run) -> None:
    assert "negatives" in plume("show", "word2vec").out
    assert "fasttext/tiny" in plume("recipes", "fasttext").out
    assert "skip_gram" in plume("recipes").out
    assert "buckets" in plume("show", "fasttext/tiny", "--against", "fasttext").out
    assert json.loads(plume("show", "glove", "--json").out)["x_max"] == 100.0


def refused(result: Any, *said: str) -> None:
    assert result.code == 2, result
    assert result.err.startswith("plume: ")
    assert "Traceback" not in result.err
    for word in said:
        assert word in result.err, f"'{word}' is not in: {result.err}"


def test_what_users_get_wrong(plume: Run, run_folder: Path, words: list[str], text: Path, tmp_path: Path) -> None:
    refused(plume("neighbours", run_folder, "zzqqzz"), "zzqqzz")
    refused(plume("fill", run_folder, "a ___ b"), "cannot fill")
    refused(plume("generate", run_folder, "a"), "cannot generate")
    refused(plume("score", run_folder, "a"), "cannot score")
    refused(plume("eval", run_folder), "--similarity")
    refused(plume("eval", run_folder, "--analogy", tmp_path / "none.txt"), "none.txt")
    unknown = tmp_path / "unknown.txt"
    unknown.write_text(": s\nzz qq xx yy\n")
    refused(plume("eval", run_folder, "--analogy", unknown), "unknown.txt")
    broken = tmp_path / "broken.txt"
    broken.write_text(": s\none two three\n")
    refused(plume("eval", run_folder, "--analogy", broken), "broken.txt", "2")
    damaged = tmp_path / "damaged.bin"
    assert plume("export", run_folder, "--out", damaged).code == 0
    damaged.write_bytes(damaged.read_bytes()[:-20])
    refused(plume("neighbours", damaged, words[0]), "damaged.bin")
    refused(plume("import", damaged, "--out", tmp_path / "half"), "damaged.bin")
    assert not (tmp_path / "half").exists()
    refused(plume("pretrain", "word2vec", "--corpus", text, "--out", run_folder), "exists already")
    refused(plume("pretrain", "word2vec", "--corpus", text, "--out", tmp_path / "x", "--objective", "masked_lm"), "objectives")
    refused(plume("pretrain", "word2vec", "--corpus", text, "--out", tmp_path / "x", "--set", "windw=3"), "windw")
    refused(plume("show", "word2vec", "--visibility"), "word vectors")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("family", ["word2vec", "fasttext"])
def test_tuned_word_vectors_embed(family: str, plume: Run, text: Path, tmp_path: Path) -> None:
    """As before where they stayed as they were; as the task has made them where they learned."""
    import plume as library

    words, data = tmp_path / "words", tmp_path / "train.tsv"
    settings = ("dimension=8", "epochs=1", "least=1", *(("buckets=50",) if family == "fasttext" else ()))
    assert (
        plume("pretrain", f"{family}/tiny", "--corpus", text, "--out", words, "-q", *(w for s in settings for w in ("--set", s))).code == 0
    )
    data.write_text("".join(f"{line} the cat\t{number % 2}\n" for number, line in enumerate(text.read_text().splitlines()[:20]) if line))
    texts = ["the cat finds a box", "zzqqx", "", "Two cats"]
    before = library.load(words)
    for mode, same in (("probe", True), ("full", False)):
        out = tmp_path / mode
        tuned = plume(
            "tune", words, "--task", "classification", "--train", data, "--dev", data, "--mode", mode, "--out", out, "--epochs", 2, "-q"
        )
        assert tuned.code == 0, tuned.err
        loaded = library.load(out)
        assert loaded.width == 8 and np.allclose(loaded.embed(texts), before.embed(texts), atol=1e-6) == same
        assert loaded.embed(texts[1]).any() == (family == "fasttext")
    fitted = plume("sentences", "fit", tmp_path / "full", "--sif", "--text", text, "--out", tmp_path / "sif")
    assert fitted.code == 0, fitted.err
    assert json.loads(plume("embed", tmp_path / "sif", "the cat").out)["vector"]
    refused = plume("generate", tmp_path / "full", "the cat")
    assert refused.code == 2 and "Traceback" not in refused.err
