"""Training sentence vectors as a user runs it: under torchrun, from the command line."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from plume.model.checkpoint import save_model
from plume.sentences.options import train
from plume.sentences.static_distillation import distil_static
from plume.static.model import WordModel
from plume.static.sif import SIF

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
SCRIPT = """
import json, sys
from plume.sentences.options import train
train(**json.loads(sys.argv[1]))
"""
TEXTS = [
    f"{who} {does} {what}"
    for who in ("the cat", "my sister", "我们")
    for does in ("finds", "paints", "喜欢")
    for what in ("a letter", "苹果")
]


@pytest.fixture
def base(tmp_path: Path, miniature: Any, tokenizer_for: Any) -> Path:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(3)
    save_model(tmp_path / "base", model, tokenizer)
    rows = [f"{a}\t{b}\t{i % 2}\n" for i, (a, b) in enumerate(itertools.pairwise(TEXTS))]
    (tmp_path / "pairs.tsv").write_text("".join(rows), encoding="utf-8")
    return tmp_path / "base"


def losses(folder: Path) -> list[dict[str, float]]:
    lines = map(json.loads, (folder / "train/metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name.startswith("loss/")} for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "parts"), [("ranking", 1), ("ranking", 2), ("cosent", 1), ("simbert", 1), ("matryoshka", 1)])
def test_two_processes_equal_one(method: str, parts: int, base: Path, tmp_path: Path) -> None:
    """The negatives are those of all processes. Without dropout, which each process draws for itself."""
    given: dict[str, Any] = {
        "model": str(base), "method": method, "text": str(tmp_path / "pairs.tsv"), "batch": 8, "dropout": 0.0,
        "budget": "6steps", "log_every": 1, "quiet": True, "rate": 1e-3, "overrides": ["epsilon=1e-4"],
    }  # fmt: skip
    train(**given, out=tmp_path / "one", accumulate=parts)
    (tmp_path / "run.py").write_text(SCRIPT)
    call = [*TORCHRUN, str(tmp_path / "run.py"), json.dumps(given | {"out": str(tmp_path / "two"), "accumulate": parts})]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(losses(tmp_path / "one")) == len(losses(tmp_path / "two")) == 12
    for ours, theirs in zip(losses(tmp_path / "one"), losses(tmp_path / "two"), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-4, abs=1e-6)
    left, right = load_file(tmp_path / "one/model.safetensors"), load_file(tmp_path / "two/model.safetensors")
    for name, value in left.items():
        assert torch.allclose(value, right[name], atol=2e-4, rtol=0), name


def test_from_the_command_line(base: Path, tmp_path: Path, plume: Any) -> None:
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "out"
    call = ["sentences", "train", str(base), "--method", "simbert", "--text", str(pairs), "--dev", str(pairs), "--out", str(out)]
    done = plume(*call, "--budget", "4steps", "--batch", "4")
    assert done.code == 0 and "spearman" in done.out and "plume embed" in done.out
    done = plume("generate", str(out), "--paraphrase", TEXTS[0], "-n", "2", "--max-tokens", "8")
    assert done.code == 0 and 1 <= len(done.out.splitlines()) <= 2 and all("\t" in line for line in done.out.splitlines())
    done = plume("sentences", "train", "--resume", str(out), "--batch", "4")
    assert done.code == 2 and "give no other option" in done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--method", "cosent", "--text", "bare.tsv"], "cosent needs a score for each pair: bare.tsv has none"),
        (["--method", "simces", "--text", "pairs.tsv"], "There is no 'simces'"),
        (["--text", "pairs.tsv", "--dropout", "0"], "with --dropout 0 they are equal"),
        (["--text", "pairs.tsv", "--dev", "bare.tsv"], "--dev needs a score for each pair"),
        (["--text", "pairs.tsv", "--dimensions", "64,many"], "give numbers, such as 128,64"),
        (["--text", "pairs.tsv", "--dimensions", "64"], "this model's vectors have 32"),
        (["--text", "pairs.tsv", "--pooling", "middle"], "There is no pooling 'middle'"),
        (["--text", "nowhere.txt"], "nowhere.txt"),
        (["--method", "simcse"], "A model, a file of texts and an output directory are needed"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_left(given: list[str], said: str, base: Path, tmp_path: Path, plume: Any) -> None:
    (tmp_path / "bare.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in itertools.pairwise(TEXTS)), encoding="utf-8")
    made = [str(tmp_path / one) if one.endswith((".tsv", ".txt")) else one for one in given]
    done = plume("sentences", "train", str(base), *made, "--out", str(tmp_path / "out"))
    assert done.code == 2 and said in done.err.replace("\n", " ") and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_embedding_on_ray_gives_the_same_vectors(base: Path, tmp_path: Path, plume: Any, ray_address: str) -> None:
    """Four chunks over two workers, in the order of the lines; a run that was stopped goes on there."""
    (tmp_path / "corpus.txt").write_text("".join(f"{TEXTS[n % len(TEXTS)]} {n}\n" for n in range(3 * 4096 + 100)), encoding="utf-8")
    asked = ("embed", base, tmp_path / "corpus.txt", "--threads", 1, "-q")
    assert plume(*asked, "--out", tmp_path / "local.npy").code == 0
    there = plume(*asked, "--out", tmp_path / "ray.npy", "--engine", "ray", "--address", ray_address)
    assert there.code == 0, there.err
    assert (tmp_path / "ray.npy").read_bytes() == (tmp_path / "local.npy").read_bytes()


def test_an_engine_that_is_not_there(base: Path, tmp_path: Path, plume: Any) -> None:
    pytest.importorskip("ray")
    (tmp_path / "corpus.txt").write_text("a text\n")
    asked = ("embed", base, tmp_path / "corpus.txt", "--out", tmp_path / "v.npy")
    for more, said in (
        (("--engine", "ray", "--address", "127.0.0.1:1"), "No Ray answers"),
        (("--engine", "spark"), "There is no engine 'spark'"),
        (("--address", "127.0.0.1:1"), "add --engine ray"),
    ):
        refused = plume(*asked, *more)
        assert refused.code == 2 and said in refused.err


def test_static_vectors_have_one_default(plume: Any, base: Path, tmp_path: Path) -> None:
    """The same by the command line, in Python, and in what the help says."""
    (tmp_path / "corpus.txt").write_text("the cat finds a box\n" * 5, encoding="utf-8")
    made = {"python": distil_static(base, [str(tmp_path / "corpus.txt")], tmp_path / "python").vectors.matrix}
    for name, more in (("default", ()), ("said", ("--smoothing", SIF().smoothing))):
        ran = plume("sentences", "static", base, "--text", tmp_path / "corpus.txt", "--out", tmp_path / name, *more)
        assert ran.code == 0, ran.err
        made[name] = WordModel.load(tmp_path / name).vectors.matrix
    np.testing.assert_array_equal(made["default"], made["python"])
    np.testing.assert_array_equal(made["default"], made["said"])
    assert f"[default: {SIF().smoothing}]" in " ".join(plume("sentences", "static", "--help").out.split())
