"""plume compare --compress: models that are made small beside those that they are made of; told to stop, they go on to the same numbers."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plume.compressing.lineage import read_lineage
from plume.train.metrics import read_metrics

Start = Callable[..., Any]
SMALL = ("network.width=32", "network.depth=2", "network.feed_forward=64", "embedding.width=32", "training.batch=8", "training.length=32")
ENTRIES = "distil:depth=1,int8@bert"

pytestmark = pytest.mark.slow  # whole studies


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    texts = [
        (f"{who} {does} {where}.", does) for who in ("Ann", "Bob", "Eva") for does in ("loves", "hates", "sees") for where in "ABCDEFGH"
    ]
    corpus = "\n\n".join("\n".join(text for text, _ in texts[start::7]) for start in range(7))
    (folder / "corpus.txt").write_text(corpus + "\n", encoding="utf-8")
    for name, some in (("train", texts[::2]), ("test", texts[1::2])):
        rows = "".join(f"{text}\t{'fact' if does == 'sees' else 'feeling'}\n" for text, does in some)
        (folder / f"{name}.tsv").write_text(f"text\tlabel\n{rows}", encoding="utf-8")
    return folder


def command(files: Path, out: Path, *more: str) -> list[str]:
    return [
        "compare", "--corpus", str(files / "corpus.txt"), "--task", f"kind={files}/train.tsv,{files}/test.tsv", "--recipes", "bert,elmo",
        "--compress", ENTRIES, "--budget", "3000tokens", "--seeds", "1", "--threads", "1", "--tune", "epochs=20", "--no-probes", "--no-tfidf",
        "--out", str(out), "-q", *(word for setting in (*SMALL, "tokenizer=WordPiece(vocabulary=100)") for word in ("--set", setting)), *more,
    ]  # fmt: skip


def finish(process: Any) -> None:
    _, errors = process.communicate()
    assert process.returncode == 0, errors


def results(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "results.json").read_text(encoding="utf-8")))


def figures(folder: Path) -> dict[str, Any]:
    return {one["model"]: (one["status"], one["scores"], one["steps"], one["curve"]) for one in results(folder)["scores"]}


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory, start: Start) -> Path:
    out = tmp_path_factory.mktemp("studies") / "whole"
    finish(start(command(files, out)))
    return out


def test_small_models_are_made_of_tuned_ones_beside_their_control(whole: Path) -> None:
    found = results(whole)
    models = {one["name"]: one for one in found["models"]}
    assert list(models) == [
        "bert", "elmo", "distil:depth=1@bert", "direct:depth=1@bert", "distil:depth=1@elmo", "direct:depth=1@elmo", "int8@bert", "scratch",
        "fasttext",
    ]  # fmt: skip
    scores = {one["model"]: one for one in found["scores"]}
    unfit = [name for name, one in scores.items() if one["status"] != "done"]
    assert unfit == ["distil:depth=1@elmo", "direct:depth=1@elmo"] and "elmo has no layers of blocks" in scores[unfit[0]]["reason"]
    distilled, direct, eight = (models[name] for name in ("distil:depth=1@bert", "direct:depth=1@bert", "int8@bert"))
    assert [one["group"] for one in (distilled, direct, eight)] == ["made small"] * 3 and direct["control"] == "trained directly"
    assert scores[distilled["name"]]["steps"] == scores[direct["name"]]["steps"] == scores["bert"]["steps"] > 0
    assert distilled["parameters"] == direct["parameters"] < models["bert"]["parameters"] and eight["disk"] < models["bert"]["disk"]
    assert all(scores[name]["speed"] and scores[name]["seconds"] for name in (distilled["name"], direct["name"], eight["name"]))
    lineage = read_lineage(whole / "tuned" / "distil-depth=1@bert" / "0" / "kind")
    assert lineage is not None and lineage.steps[-1].method == "distil"
    assert [one["of"] for one in found["gains"]] == ["made small", "made small", "teacher"]
    assert found["recommendation"] is None or found["recommendation"]["model"] != direct["name"]
    page = (whole / "report.md").read_text(encoding="utf-8")
    assert "What making it small cost: int8@bert" in page and "What the teacher added: distil:depth=1@bert" in page


def test_the_commands_of_the_report_give_the_same_models(whole: Path, start: Start, tmp_path: Path) -> None:
    for key in ("tune-distil-depth=1@bert-0-kind", "tune-direct-depth=1@bert-0-kind"):
        words = shlex.split(results(whole)["commands"][key].partition(" && ")[0])[2:]
        assert words[:2] == ["compress", words[1]] and words[1].endswith("tuned/bert/0/kind")
        words[words.index("--out") + 1] = str(tmp_path / key)
        finish(start([*words, "-q"]))
        first, second = whole / "tuned" / key[5:-7] / "0" / "kind", tmp_path / key
        assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_told_to_stop_it_goes_on_to_the_same_numbers(files: Path, whole: Path, tmp_path: Path, start: Start) -> None:
    out = tmp_path / "stopped"
    process = start(command(files, out), new_group=True)
    process.wait_until(lambda: len(read_metrics(out / "tuned" / "distil-depth=1@bert" / "0" / "kind")) > 0)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode in (0, 128 + signal.SIGTERM)
    finish(start(["compare", str(out), "--resume", "-q"]))
    assert figures(out) == figures(whole)


@pytest.mark.slow
def test_on_ray(files: Path, whole: Path, tmp_path: Path, start: Start, ray_address: str) -> None:
    finish(start(command(files, tmp_path / "ray", "--engine", "ray", "--address", ray_address)))
    assert figures(tmp_path / "ray") == figures(whole)


@pytest.mark.parametrize(
    ("entry", "says"),
    [("distill:bert/tiny", "There is no method 'distill'"), ("int8@brt", "the study has no model 'brt'; did you mean bert")],
)
def test_a_bad_entry_is_refused_before_anything_is_spent(
    files: Path, tmp_path: Path, plume: Callable[..., Any], entry: str, says: str
) -> None:
    words = command(files, tmp_path / "out")
    words[words.index("--compress") + 1] = entry
    result = plume(*words)
    assert result.code == 2 and f"--compress {entry}: {says}" in result.err and "Traceback" not in result.err
    assert not (tmp_path / "out").exists()
