"""RAG on every encoder–decoder: it learns, is saved, answers from its passages and from others, and resumes to the same bits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import plume
from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.loader import Cursor
from plume.retrieval.options import start_retrieval
from plume.retrieval.rag.answering import RagAnswerer
from plume.retrieval.rag.network import RagModel
from plume.retrieval.rag.options import start_rag
from plume.retrieval.rag.pages import RAG
from plume.retrieval.rag.settings import planned_rag
from plume.retrieval.rag.training import _finder, _reader, rag_model, rag_settings_of, resume_rag
from plume.sentences.planning import source_of
from plume.tasks.rag import TASK
from plume.train.device import to_device

FAMILIES = ("bart", "t5", "mass", "pegasus", "palm", "transformer")
WHO, WHAT, WHERE = ("the cat", "my sister", "the captain"), ("a letter", "two apples", "some bread"), ("river", "home", "storm")
FACTS = [(who, what, WHERE[(i + j) % 3]) for i, who in enumerate(WHO) for j, what in enumerate(WHAT)]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rag")
    for name, turn in (("docs", 0), ("other", 1)):
        made = [
            {"id": number, "title": f"{who} {what}", "text": f"{who} finds {what} near the {WHERE[(WHERE.index(where) + turn) % 3]}"}
            for number, (who, what, where) in enumerate(FACTS)
        ]
        (folder / f"{name}.jsonl").write_text(lines(made), encoding="utf-8")
    asked = [{"question": f"where finds {who} {what}?", "answers": [where]} for who, what, where in FACTS]
    (folder / "qa.jsonl").write_text(lines(asked), encoding="utf-8")
    return folder


def tuned(model: Path, files: Path, out: Path, **options: Any) -> Any:
    given: dict[str, Any] = {
        "batch": 4, "length": 40, "budget": "2steps", "quiet": True, "seed": 1, "task_options": ["passages=2", "longest=4"],
        "documents": files / "docs.jsonl", "train": files / "qa.jsonl", "dev": files / "qa.jsonl",
    }  # fmt: skip
    return start_rag(model, out=out, **(given | options))


@pytest.mark.parametrize("likelihood", ["sequence", "token"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_encoder_decoder_answers(family: str, likelihood: str, base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    source, out = base(family), tmp_path / "out"
    tuned(source, files, out, task_options=["passages=2", "longest=4", f"likelihood={likelihood}"])
    model = plume.load(out)
    assert isinstance(model, RagAnswerer)
    before, after = (load_file(folder / "model.safetensors") for folder in (source, out))
    assert before.keys() == after.keys() and any(not torch.equal(before[name], after[name]) for name in before)
    (reply,) = model.ask("where finds my sister two apples?")
    assert len(reply.steps) == 2 and sum(step.score for step in reply.steps) == pytest.approx(1.0, abs=1e-4) and 0 <= reply.score <= 1
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "different passages" in card and "BM25" in card


@pytest.mark.parametrize("family", ["bert", "gpt2", "glm", "unilm"])
def test_others_are_refused_with_a_sentence(family: str, base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="needs an encoder–decoder"):
        tuned(base(family), files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def retriever(base: Callable[[str], Path], files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("retriever") / "dpr"
    rows = [{"question": f"where finds {who} {what}?", "positive": f"{who} finds {what} near the {where}"} for who, what, where in FACTS]
    (files / "positives.jsonl").write_text(lines(rows), encoding="utf-8")
    start_retrieval(
        base("bert"),
        train=files / "positives.jsonl",
        documents=files / "docs.jsonl",
        out=out,
        budget="2steps",
        batch=4,
        length=24,
        quiet=True,
    )
    return out


def model_of(source: Path, files: Path, retriever: Path | None, **task: Any) -> tuple[RagModel, Any]:
    """In double precision, with a batch of all questions."""
    made = planned_rag(
        source, task=replace(TASK, passages=3, longest=4, **task), train=[str(files / "qa.jsonl")], dev=[],
        documents=[str(files / "docs.jsonl")], retriever=retriever, dropout=0.0,
    )  # fmt: skip
    loaded = None if retriever is None else plume.load(retriever)
    finder = _finder(made.settings, made.data, loaded)
    model, questions, _ = rag_model(made.settings, made.data, made.source, made.tokenizer, loaded, finder)
    (batch,) = _reader(made.settings, questions, model, made.source, made.tokenizer, loaded).step(Cursor(), [slice(None)])
    return model.double(), to_device(batch, torch.device("cpu"))


@pytest.mark.parametrize("likelihood", ["sequence", "token"])
def test_the_loss_is_a_page_of_torch(likelihood: str, base: Callable[[str], Path], files: Path, retriever: Path) -> None:
    """Every passage read by itself, one question at a time; the scores are those of what embeds."""
    model, batch = model_of(base("palm"), files, retriever, likelihood=type(TASK.likelihood)(likelihood))
    model.eval()
    with torch.no_grad():
        found = model.losses(batch)[RAG].total.item()
        assert model.finder is not None and model.reader is not None
        numbers = batch.labels[RAG].index.numpy()
        asked = model.reader.vectors(batch)
        asked = asked / asked.norm(dim=-1, keepdim=True)
        total = 0.0
        for row, number in enumerate(numbers.tolist()):
            scores = 20.0 * asked[row] @ torch.tensor(model.finder.vectors).double().T
            best = scores.topk(3)
            chosen, logits = model.found(batch, numbers)
            assert best.indices.tolist() == chosen[row].tolist()
            assert best.values.tolist() == pytest.approx(logits[row].tolist(), abs=1e-9)
            prior = best.values.log_softmax(0)
            logs = []
            for passage in best.indices.tolist():
                read = model.rows.pages.rows(np.array([number]), np.array([passage]))
                target = model.rows.targets
                answer = torch.tensor(target.tokens[target.bounds[number] : target.bounds[number + 1]])
                fed = torch.cat([torch.tensor([model.way.start]), answer[:-1]])
                source = Batch(tokens=torch.tensor(read.tokens)[None])
                states = model.writer.token_states(Batch(tokens=fed[None], order=Order.CAUSAL, source=source))
                log = model.writer.head(model.way.objective).log_probabilities(states)[0]
                logs.append(log[torch.arange(len(answer)), answer])
            table = torch.stack(logs)
            total -= float((prior + table.sum(1)).logsumexp(0) if likelihood == "sequence" else (prior[:, None] + table).logsumexp(0).sum())
    assert found == pytest.approx(total, abs=1e-9)


def test_what_finds_learns_from_the_answers_and_passages_stay(
    base: Callable[[str], Path], files: Path, retriever: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tuned(base("bart"), files, out, retriever=retriever, budget="3steps")
    stays, learned = (load_file(out / "retriever" / side / "model.safetensors") for side in ("", "questions"))
    source = load_file(retriever / "model.safetensors")
    assert all(torch.equal(stays[name], source[name]) for name in source)
    assert any(not torch.equal(learned[name], source[name]) for name in source)
    with plume.Index.create(tmp_path / "index", model=out / "retriever") as index:
        index.add_files([files / "docs.jsonl"])
        assert len(index.search("where finds my sister two apples?", by="vectors")) > 0
    metrics = [json.loads(line) for line in (out / "train/metrics.jsonl").read_text().splitlines()]
    assert any(0 < line.get("loss/distinct", 0) <= 1 for line in metrics)


def test_other_documents_are_read_at_use(base: Callable[[str], Path], files: Path, retriever: Path, tmp_path: Path) -> None:
    """The passages are the other file's; vectors are made once for each content."""
    out = tmp_path / "out"
    tuned(base("bart"), files, out, retriever=retriever)
    model = plume.load(out)
    question = "where finds my sister two apples?"
    said = [" ".join(step.said for step in model.ask(question, documents=one)[0].steps) for one in (None, files / "other.jsonl")]
    assert said[0] != said[1] and all("finds" in one for one in said)
    gone = tmp_path / "gone.jsonl"
    shutil.copy(files / "docs.jsonl", gone)
    tuned(base("bart"), files, tmp_path / "moved", documents=gone)
    gone.unlink()
    with pytest.raises(PlumeError, match="documents of training are not at"):
        plume.load(tmp_path / "moved").ask(question)
    assert plume.load(tmp_path / "moved").ask(question, documents=files / "other.jsonl")[0].steps


@pytest.mark.parametrize("dense", [True, False])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    dense: bool, base: Callable[[str], Path], files: Path, retriever: Path, tmp_path: Path
) -> None:
    options = {"budget": "4steps", "save_every": "2steps", "retriever": retriever if dense else None}
    for name in ("whole", "cut"):
        tuned(base("palm"), files, tmp_path / name, **options)
    cut = tmp_path / "cut"
    shutil.rmtree(sorted(cut.glob("train/checkpoint-*"))[-1])
    (cut / "model.safetensors").unlink()
    settings = rag_settings_of(cut)
    assert settings is not None
    resume_rag(cut, settings, quiet=True)
    for side in ("", "retriever/questions") if dense else ("",):
        one, other = (load_file(tmp_path / name / side / "model.safetensors") for name in ("whole", "cut"))
        assert all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize(
    ("name", "text", "options", "said"),
    [
        ("docs.jsonl", "", {}, "is empty"),
        ("docs.jsonl", '{"id": 1, "text": "one"}\n', {}, "has 1 passages, and 2 are read"),
        ("docs.jsonl", '{"id": 1, "text": "one"}\n{"id": 1, "text": "two"}\n', {}, "line 2: the id '1' was given before"),
        ("docs.jsonl", '{"id": 1, "text": "one"}\n{"id": 2, "text": ""}\n', {}, "line 2: document '2' has no text"),
        ("qa.jsonl", '{"question": "who?"}\n', {}, "no question has an answer"),
        ("qa.jsonl", "", {}, "is empty"),
        ("qa.jsonl", '{"question": "who?", "answer": "x"}\n', {"task_options": ["passages=0"]}, "are 1 or more"),
        ("qa.jsonl", '{"question": "who?", "answer": "x"}\n', {"pooling": "mean"}, "has no use for --pooling"),
    ],
)
def test_bad_input_is_refused(
    name: str, text: str, options: Any, said: str, base: Callable[[str], Path], files: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    given = {"documents": tmp_path / name} if name == "docs.jsonl" else {"train": tmp_path / name, "dev": None}
    with pytest.raises(PlumeError, match=said):
        tuned(base("bart"), files, tmp_path / "out", **(given | options))
    assert not (tmp_path / "out").exists()


def test_source_of_reads_a_rag_as_its_writer(base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    """So one RAG is where another begins."""
    tuned(base("bart"), files, tmp_path / "out")
    model, _, _ = source_of(tmp_path / "out")
    assert model.recipe.name == "bart"
