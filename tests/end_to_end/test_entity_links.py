"""plume kb vectors, plume kb link --candidates, plume pretrain ernie-thu and knowbert: from triples and text to a model, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.cli import main
from plume.core.errors import PlumeError
from plume.kb.candidates import meanings, numbers_of_names
from plume.kb.link import Linker
from plume.kb.linked import link_corpus
from plume.kb.store import KnowledgeBase
from plume.model.checkpoint import state_of
from plume.readers.example import Example
from plume.static.kb_vectors import learn_vectors
from plume.static.transe import TransE
from plume.tuning.tuned import coder_for

TINY = (
    "training.schedule=Constant()", "warm_start=none", "tokenizer.vocabulary=160",
    "network.width=16", "network.heads=2", "network.feed_forward=32", "embedding.width=16", "training.length=48", "training.batch=4",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(kb: Path, corpora: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the knowledge base with vectors of its own, and a corpus that is linked to it, names and all."""
    folder = tmp_path_factory.mktemp("links")
    (folder / "kb").mkdir()
    (folder / "kb" / "kb.sqlite").write_bytes((kb / "kb.sqlite").read_bytes())
    learn_vectors(folder / "kb", TransE(dimension=8, epochs=20), measured=False)
    lines = ["\n".join(one.paragraphs) for one in corpora["linked"].documents()]
    (folder / "plain.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines), encoding="utf-8")
    with KnowledgeBase.open(folder / "kb") as opened:
        link_corpus(folder / "plain.jsonl", folder / "linked.jsonl", Linker(opened), candidates=True)
    return folder


def test_vectors_lie_beside_the_knowledge_base_and_are_the_same_again(made: Path, tmp_path: Path) -> None:
    found = np.load(made / "kb" / "vectors.npy")
    assert found.shape == (17, 8) and np.linalg.norm(found, axis=1) == pytest.approx(np.ones(17), abs=1e-5)
    learn_vectors(made / "kb", TransE(dimension=8, epochs=20), out=tmp_path, measured=False)
    assert np.array_equal(found, np.load(tmp_path / "vectors.npy"))
    told = json.loads((tmp_path / "vectors.json").read_text(encoding="utf-8"))
    with KnowledgeBase.open(made / "kb") as kb:
        assert told["fingerprint"] == kb.fingerprint and told["transe"]["dimension"] == 8


def test_names_are_written_with_their_numbers(made: Path) -> None:
    with KnowledgeBase.open(made / "kb") as kb:
        numbers, table = numbers_of_names(kb), meanings(kb)
    for line in (made / "linked.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for mention, form in zip(record["mentions"], record["forms"], strict=True):
            surface = record["text"][form["start"] : form["end"]]
            assert (mention["start"], mention["end"]) == (form["start"], form["end"])
            assert numbers[surface.lower()] == form["id"] and table.entities[form["id"], 0] == mention["id"]


@pytest.mark.parametrize("family", ["ernie-thu", "knowbert"])
def test_it_trains_resumes_and_is_used(family: str, made: Path, tmp_path: Path) -> None:
    given = {"corpus": made / "linked.jsonl", "kb": made / "kb", "overrides": list(TINY), "quiet": True}
    whole = plume.pretrain(f"{family}/tiny", budget="6steps", out=tmp_path / "whole", **given)
    plume.pretrain(f"{family}/tiny", budget="3steps", out=tmp_path / "parts", **given)
    parts = plume.resume(tmp_path / "parts", budget="6steps", quiet=True)
    ours, theirs = state_of(whole.model), state_of(parts.model)
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert whole.model.knowledge is not None and len(whole.model.knowledge.entities) == 17
    assert whole.embed(["the old captain"]).shape == (1, 16)
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\n" + "the old captain left\tone\nan umbrella in the river\ttwo\n" * 4, encoding="utf-8")
    tuned = plume.tune(tmp_path / "whole", task="classification", train=rows, dev=rows, out=tmp_path / "tuned", epochs=1.0, quiet=True)
    linked, coder = plume.load(tmp_path / "tuned"), coder_for(whole.model, whole.tokenizer, length=32)
    laid = coder.lay_out(*coder.texts([Example(texts=("An old captain.",))]))
    with KnowledgeBase.open(made / "kb") as opened:
        number = opened.id_of("old captain") if family == "ernie-thu" else numbers_of_names(opened)["old captain"]
    assert laid.named_as == ("mentions" if family == "ernie-thu" else "forms") and set(laid.named.tolist()) == {-1, number}
    assert linked.predict(["the old captain"]) == tuned.predict(["the old captain"])


def test_what_is_missing_is_said(made: Path, kb: Path, tmp_path: Path) -> None:
    plain = {"corpus": made / "linked.jsonl", "budget": "2steps", "quiet": True, "overrides": list(TINY)}
    with pytest.raises(PlumeError, match=r"built for one knowledge base: name it with --kb"):
        plume.pretrain("ernie-thu/tiny", out=tmp_path / "none", **plain)
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "kb.sqlite").write_bytes((kb / "kb.sqlite").read_bytes())
    with pytest.raises(PlumeError, match=r"vectors\.npy is missing: make it with plume kb vectors"):
        plume.pretrain("ernie-thu/tiny", kb=bare, out=tmp_path / "vectors", **plain)
    texts = tmp_path / "without.jsonl"
    lines = [json.loads(line) for line in (made / "linked.jsonl").read_text(encoding="utf-8").splitlines()]
    texts.write_text("".join(json.dumps({"text": one["text"], "mentions": one["mentions"]}) + "\n" for one in lines), encoding="utf-8")
    with pytest.raises(PlumeError, match="No document has anything in its field 'forms'"):
        plume.pretrain("knowbert/tiny", kb=made / "kb", out=tmp_path / "forms", **(plain | {"corpus": texts}))


def test_vectors_from_the_command_line(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written, and what is refused: exit code 2 and a sentence."""

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["plume", "kb", "vectors", str(made / "kb"), "--out", str(tmp_path / "v"), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), capsys.readouterr().err

    code, said = run("--dimension", "8", "--epochs", "2")
    assert code == 0 and "vectors of 8 dimensions" in said and np.load(tmp_path / "v" / "vectors.npy").shape == (17, 8)
    for words, reason in (
        (("--distance", "l3"), "choose from l1, l2"),
        (("--epochs", "0"), "must be at least 1"),
        (("--rate", "0"), "above 0"),
    ):
        code, said = run(*words)
        assert code == 2 and reason in said and "Traceback" not in said
