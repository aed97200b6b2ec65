"""What users get wrong: one clear message, exit code 2, nothing half written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

Run = Callable[..., Any]


def refused(result: Any, *words: str) -> None:
    assert result.code == 2, result
    assert result.err.startswith("plume: ")
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err, f"'{word}' is not in: {result.err}"


@pytest.fixture
def trained(plume: Run, pretraining: Run, tmp_path: Path) -> Path:
    out = tmp_path / "trained"
    assert plume(*pretraining(out, budget="1steps")).code == 0
    return out


CORPORA = {
    "missing": (None, ("corpus.txt", "does not exist")),
    "empty": (b"", ("corpus.txt", "empty")),
    "binary": (bytes(range(256)) * 20, ("corpus.txt", "line 1")),
    "wrong encoding": ("第一行文字。\n第二行文字。\n".encode("gb18030"), ("line 1", "iconv", "GB18030")),
    "one word": (b"word\n", ("1 word", "at least")),
    "one line": (b"A single short line.\n", ("at least",)),
    "blank lines only": (b"\n\n  \n", ("corpus.txt",)),
}


@pytest.mark.parametrize("kind", CORPORA)
@pytest.mark.parametrize("command", ["pretrain", "doctor"])
def test_corpora(kind: str, command: str, plume: Run, tmp_path: Path) -> None:
    content, words = CORPORA[kind]
    path, out = tmp_path / "corpus.txt", tmp_path / "run"
    if content is not None:
        path.write_bytes(content)
    if command == "doctor":
        result = plume("doctor", path, "--no-probe")
        if kind == "wrong encoding":  # the doctor reports it
            assert result.code == 0
            assert "line 1" in result.out
            return
    else:
        result = plume("pretrain", "bert/tiny", "--corpus", path, "--out", out)
    refused(result, *words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("brt/tiny",), ("bert", "did you mean")),
        (("bert/tinny",), ("tiny", "did you mean")),
        (("bert/tiny", "--set", "network.dpth=3"), ("depth", "did you mean")),
        (("bert/tiny", "--set", "network.depth=three"), ("network.depth", "int")),
        (("bert/tiny", "--set", "layout=FullSentence()"), ("FullSentences", "did you mean")),
        (("bert/tiny", "--set", "layout=FullSentences()"), ("next_sentence", "SentencePairs")),
        (("bert/tiny", "--set", "network.heads=3"), ("128", "3 heads")),
        (("bert/tiny", "--set", "training.length=1024"), ("1024", "512")),
        (("bert/tiny", "--budget", "soon"), ("10m", "500steps")),
        (("bert/tiny", "--budget", "0steps"), ("0steps",)),
        (("bert/tiny", "--precision", "fp8"), ("bf16",)),
        (("bert/tiny", "--accumulate", "5"), ("5",)),
        (("bert/tiny", "--device", "cuda:7"), ("cuda:7",)),
        (("bert/tiny", "--tokenizer", "nowhere.json"), ("nowhere.json",)),
        (("bert/tiny", "--init", "nowhere"), ("nowhere",)),
    ],
)
def test_arguments_of_pretrain(arguments: tuple[str, ...], words: tuple[str, ...], plume: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    refused(plume("pretrain", *arguments, "--corpus", text, "--out", out), *words)
    assert not out.exists()


def test_out_directory_that_exists(plume: Run, pretraining: Run, trained: Path) -> None:
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    refused(plume(*pretraining(trained)), "exists already", "--resume")
    assert before == {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}


def test_nothing_to_resume(plume: Run, tmp_path: Path) -> None:
    refused(plume("pretrain", "--resume", tmp_path / "none"), "no run to resume")
    refused(plume("pretrain", "bert/tiny"), "--corpus")


def test_resuming_on_other_text(plume: Run, pretraining: Run, text: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_bytes(text.read_bytes())
    arguments = [str(copy) if word == str(text) else word for word in pretraining(tmp_path / "run", budget="1steps")]
    assert plume(*arguments).code == 0
    copy.write_text(copy.read_text(encoding="utf-8") + "\nOne more sentence was added here.\n", encoding="utf-8")
    refused(plume("pretrain", "--resume", tmp_path / "run", "--budget", "2steps"), "copy.txt", "--init")


@pytest.mark.parametrize("keep", [0, 7, 5000])
def test_truncated_weights(keep: int, plume: Run, trained: Path) -> None:
    weights = trained / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    refused(plume("fill", trained, "a [MASK]"), "model.safetensors")


def test_foreign_weights(plume: Run, pretraining: Run, trained: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert plume(*pretraining(other, budget="1steps", settings=("network.depth=3",))).code == 0
    (trained / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    refused(plume("fill", trained, "a [MASK]"), "does not fit the recipe")


def test_foreign_tokenizer(plume: Run, pretraining: Run, text: Path, trained: Path, tmp_path: Path) -> None:
    gpt = tmp_path / "gpt"
    assert plume(*pretraining(gpt, "gpt2", budget="1steps")).code == 0
    refused(plume("pretrain", "bert/tiny", "--corpus", text, "--out", tmp_path / "run", "--tokenizer", gpt), "[MASK]")
    (trained / "tokenizer.json").write_bytes((gpt / "tokenizer.json").read_bytes())
    refused(plume("fill", trained, "a [MASK]"), "tokenizer.json")


def test_recipes_that_were_changed_by_hand(plume: Run, trained: Path) -> None:
    recipe = trained / "recipe.json"
    whole = recipe.read_text(encoding="utf-8")
    for changed, word in ((whole[:100], "JSON"), (whole.replace('"depth"', '"dpth"'), "dpth"), (whole.replace("nn.stack:", "os:"), "os:")):
        recipe.write_text(changed, encoding="utf-8")
        refused(plume("fill", trained, "a [MASK]"), word)


def test_not_a_model(plume: Run, tmp_path: Path) -> None:
    refused(plume("fill", tmp_path / "none", "a [MASK]"), "no model directory")
    refused(plume("fill", tmp_path, "a [MASK]"), "recipe.json")
    (tmp_path / "config.json").write_text("{}")
    refused(plume("fill", tmp_path, "a [MASK]"), "plume import")


def test_what_a_model_cannot_do(plume: Run, pretraining: Run, trained: Path, tmp_path: Path) -> None:
    refused(plume("generate", trained, "once"), "cannot generate", "fill")
    refused(plume("fill", trained, "no blank here"), "[MASK]")
    refused(plume("fill", trained, "[MASK] " * 700), "at most 512")
    gpt = tmp_path / "gpt"
    assert plume(*pretraining(gpt, "gpt2", budget="1steps")).code == 0
    refused(plume("fill", gpt, "a [MASK]"), "cannot fill", "generate")
    refused(plume("generate", gpt, "once", "--temperature", "0"), "--greedy")


def test_imports(plume: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused(plume("import", tmp_path / "none", "--out", out), "no directory")
    folder = tmp_path / "hf"
    folder.mkdir()
    refused(plume("import", folder, "--out", out), "config.json")
    (folder / "config.json").write_text('{"model_type": "rbert"}')
    refused(plume("import", folder, "--out", out), "rbert", "bert")
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_size": 32, "num_attention_heads": 2}')
    refused(plume("import", folder, "--out", out), "no weights")
    torch.save({"weights": [print]}, folder / "pytorch_model.bin")  # a pickle that would run code
    refused(plume("import", folder, "--out", out), "pytorch_model.bin", "safetensors")
    torch.save({"bert.encoder.strange.weight": torch.zeros(2)}, folder / "pytorch_model.bin")
    refused(plume("import", folder, "--out", out), "strange")
    assert not out.exists()


def test_export_over_something(plume: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("mine")
    refused(plume("export", trained, "--out", tmp_path / "out"), "exists already")
    refused(plume("export", trained, "--to", "onx", "--out", tmp_path / "new"), "hf")


def test_disk_full_while_saving(trained: Path, start: Callable[..., Any]) -> None:
    """A file-size limit makes the system refuse the write as a full disk does; the run's last checkpoint must stay whole."""
    before = {path: path.read_bytes() for path in trained.rglob("*.safetensors")}
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))"
    process = start(["pretrain", "--resume", str(trained), "--budget", "4steps"], first=limit)
    _, err = process.communicate()
    assert process.returncode == 2, err
    assert "disk is full" in err and "Traceback" not in err
    assert before == {path: path.read_bytes() for path in trained.rglob("*.safetensors")}
    assert not list(trained.rglob("*.tmp"))
