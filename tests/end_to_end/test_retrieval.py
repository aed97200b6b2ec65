"""Retrieval and RAG as a user runs them: from the command line, and under torchrun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from plume.model.checkpoint import save_model
from plume.retrieval.options import start_retrieval
from plume.retrieval.rag.options import start_rag

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
SCRIPT = """
import json, sys
from pathlib import Path
from plume.retrieval.options import start_retrieval
from plume.retrieval.rag.options import start_rag
given = json.loads(sys.argv[2])
{"retrieval": start_retrieval, "rag": start_rag}[sys.argv[1]](Path(given.pop("model")), out=Path(given.pop("out")), **given)
"""
WHO, WHAT = ("the cat", "my sister", "the captain", "a sailor"), ("a letter", "two apples", "some bread")


@pytest.fixture
def folder(tmp_path: Path, miniature: Any, tokenizer_for: Any) -> Path:
    for family in ("bert", "bart"):
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(3)
        save_model(tmp_path / family, model, tokenizer)
    facts = [(who, what, f"{who} finds {what} near the river") for who in WHO for what in WHAT]
    documents = [{"id": number, "title": f"{who} {what}", "text": text} for number, (who, what, text) in enumerate(facts)]
    asked = [{"question": f"who finds {what}, {who}?", "positive": text, "answers": [who]} for who, what, text in facts]
    for name, rows in (("docs", documents), ("qa", asked)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("task", ["retrieval", "rag"])
def test_two_processes_equal_one(task: str, folder: Path) -> None:
    """Negatives are those of all processes. Without dropout, which each process draws for itself."""
    given: dict[str, Any] = {
        "model": str(folder / ("bert" if task == "retrieval" else "bart")), "train": str(folder / "qa.jsonl"),
        "documents": str(folder / "docs.jsonl"), "batch": 8, "dropout": 0.0, "budget": "4steps", "quiet": True, "rate": 1e-3, "length": 32,
        "overrides": ["epsilon=1e-4"],
        "task_options": ["two=true"] if task == "retrieval" else ["passages=2", "longest=4"],
    }  # fmt: skip
    start = {"retrieval": start_retrieval, "rag": start_rag}[task]
    start(Path(given["model"]), out=folder / "one", **{name: value for name, value in given.items() if name != "model"})
    (folder / "run.py").write_text(SCRIPT)
    call = [*TORCHRUN, str(folder / "run.py"), task, json.dumps(given | {"out": str(folder / "two")})]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for side in ("", "questions") if task == "retrieval" else ("",):
        left, right = (load_file(folder / name / side / "model.safetensors") for name in ("one", "two"))
        for name, value in left.items():
            assert torch.allclose(value, right[name], atol=2e-4, rtol=0), name


def test_from_the_command_line(folder: Path, plume: Any) -> None:
    qa, docs = str(folder / "qa.jsonl"), str(folder / "docs.jsonl")
    least = ["--train", qa, "--documents", docs, "--budget", "2steps", "--batch", "4", "--length", "32"]
    done = plume("tune", str(folder / "bert"), "--task", "retrieval", *least, "--dev", qa, "--out", str(folder / "dpr"))
    assert done.code == 0 and "mrr" in done.out and "plume index" in done.out and "BM25 alone would score" in done.err
    done = plume("eval", str(folder / "dpr"), "--task", "retrieval", "--data", qa, "--documents", docs)
    assert done.code == 0 and "bm25" in done.out and "dense" in done.out and "both" in done.out
    rag = ["--retriever", str(folder / "dpr"), "--task-set", "passages=2", "--task-set", "longest=4", "--out", str(folder / "rag")]
    done = plume("tune", str(folder / "bart"), "--task", "rag", *least, "--dev", qa, *rag)
    assert done.code == 0 and "exact_match" in done.out and "plume ask" in done.out and "what finds learns too" in done.err
    done = plume("ask", str(folder / "rag"), "who finds two apples?", "--json")
    (reply,) = map(json.loads, done.out.splitlines())
    assert done.code == 0 and len(reply["steps"]) == 2 and reply["question"] == "who finds two apples?"
    done = plume("eval", str(folder / "rag"), "--data", qa)
    assert done.code == 0 and "first of BM25" in done.out and "nothing read" in done.out
    done = plume("predict", str(folder / "rag"), "who finds two apples?")
    assert done.code == 2 and "plume ask" in done.err
    for name in ("dpr", "rag"):
        done = plume("tune", "--resume", str(folder / name))
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--task", "retrieval"], "Questions with their passages are needed"),
        (["--task", "rag", "--train", "qa.jsonl"], "Questions with answers and documents are needed"),
        (["--task", "rag", "--task", "ner", "--train", "qa.jsonl"], "rag is trained by itself"),
        (["--task", "ner", "--train", "qa.jsonl", "--documents", "docs.jsonl"], "ner does not: leave it out"),
        (["--task", "retrieval", "--train", "qa.jsonl", "--retriever", "bert"], "--retriever is for --task rag"),
        (["--task", "rag", "--train", "qa.jsonl", "--documents", "docs.jsonl", "--kb", "kb"], "no use for --kb"),
        (["--task", "rag", "--train", "qa.jsonl", "--documents", "docs.jsonl"], "needs an encoder–decoder"),
    ],
)
def test_what_cannot_be_is_refused(given: list[str], said: str, folder: Path, plume: Any) -> None:
    made = [str(folder / one) if one.endswith(".jsonl") or one == "bert" else one for one in given]
    done = plume("tune", str(folder / "bert"), *made, "--out", str(folder / "out"))
    assert done.code == 2 and said in done.err.replace("\n", " ") and not (folder / "out").exists()
