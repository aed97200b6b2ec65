"""REALM as a user runs it: documents given, used, changed, broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("realm") / "docs.jsonl"
    lines = [{"title": f"box {number}", "text": f"The cat finds box {number}. My sister paints the lighthouse."} for number in range(30)]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return path


def test_trains_fills_and_is_handed_other_documents(plume: Run, pretraining: Run, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    made = plume(*pretraining(out, "realm", "9steps"), "--documents", documents)
    assert made.code == 0, made.err
    measured = [json.loads(line) for line in (out / "train/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {"held_out/masked_lm/utility", "held_out/masked_lm/found"} <= measured[-1].keys()
    assert "utility" in (out / "card.md").read_text(encoding="utf-8")
    alone = plume("fill", out, "the cat finds ___.")
    assert alone.code == 0 and len(alone.out.splitlines()) == 5  # it loads and answers without any documents
    found = plume("fill", out, "the cat finds ___.", "--documents", documents)
    assert found.code == 0 and found.out.count("%") == 5 + 5 and "nothing looked up" in found.out
    documents_after = tmp_path / "other.jsonl"
    documents_after.write_text(documents.read_text(encoding="utf-8").replace("cat", "captain"), encoding="utf-8")
    assert plume("fill", out, "the cat finds ___.", "--documents", documents_after).out != found.out

    settings = out / "train/run.json"
    settings.write_text(settings.read_text(encoding="utf-8").replace(str(documents), str(documents_after)), encoding="utf-8")
    resumed = plume("pretrain", "--resume", out, "--budget", "12steps")
    assert resumed.code == 2 and "is not what" in resumed.err


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"title": "a", "text": "One box."}\n{"title": "b"}\n', "docs.jsonl, line 2: a document without text"),
        ('{"title": "a", "text": "One box."}\n{"title": \n', "docs.jsonl, line 2: not JSON"),
        ('{"title": "a", "text": "One box."}\n', "1 blocks of text, and realm looks up 4 of other documents"),
        ("\n", "there are no documents in it"),
    ],
)
def test_documents_that_cannot_serve(lines: str, said: str, plume: Run, pretraining: Run, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(lines, encoding="utf-8")
    made = plume(*pretraining(tmp_path / "run", "realm", "3steps"), "--documents", tmp_path / "docs.jsonl")
    assert made.code == 2 and said in made.err.replace("\n", " ") and "Traceback" not in made.err
    assert not (tmp_path / "run").exists()


def test_documents_are_refused_where_nothing_is_looked_up(plume: Run, pretraining: Run, documents: Path, tmp_path: Path) -> None:
    made = plume(*pretraining(tmp_path / "run", "bert", "3steps"), "--documents", documents)
    assert made.code == 2 and "bert looks nothing up" in made.err
    made = plume(*pretraining(tmp_path / "run", "realm", "3steps"), "--fsdp")
    assert made.code == 2 and "leave --fsdp out" in made.err.replace("\n", " ")
