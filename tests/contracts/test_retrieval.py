"""The bi-encoder: its loss against a page of numpy, two encoders and one, what an index makes of it, and a run that was stopped."""

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
from plume.api import export_sentence_transformers
from plume.core.errors import PlumeError
from plume.recipes import _catalog as catalog
from plume.retrieval.evaluating import evaluate_retrieval
from plume.retrieval.loss import PassageLoss
from plume.retrieval.options import start_retrieval
from plume.retrieval.training import resume, settings_of
from plume.sentences.losses import Views
from plume.vectors.sentence import Similarity

WHO, WHAT = ("the cat", "my sister", "the captain", "a sailor"), ("a letter", "two apples", "some bread")
PASSAGES = {f"{who} {what}": f"{who} finds {what} near the river in the morning" for who in WHO for what in WHAT}


def oracle(vectors: np.ndarray, text: np.ndarray, *, scale: float, cosine: bool, in_batch: bool) -> float:
    """[K, N, D]: minus the mean log of the right passage's share (DPR eq. 2), over all that are no passage of the question."""
    if cosine:
        vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    views, rows, _ = vectors.shape
    losses = []
    for row in range(rows):
        right = {text[1, other] for other in range(rows) if text[0, other] == text[0, row]}
        scores = []
        for view in range(1, views):
            for other in range(rows):
                if (view, other) != (1, row) and (text[view, other] in right or (not in_batch and other != row)):
                    continue
                scores.append(scale * float(vectors[0, row] @ vectors[view, other]))
        own = scale * float(vectors[0, row] @ vectors[1, row])
        losses.append(np.log(np.exp(scores).sum()) - own)
    return float(np.mean(losses))


@pytest.mark.parametrize("in_batch", [True, False])
@pytest.mark.parametrize("similarity", [Similarity.COSINE, Similarity.DOT])
def test_the_loss_is_the_papers_with_false_negatives_left_out(similarity: Similarity, in_batch: bool) -> None:
    source = np.random.default_rng(3)
    vectors = source.normal(size=(3, 5, 7))
    text = np.array([[0, 1, 2, 0, 4], [10, 11, 10, 13, 14], [20, 10, 22, 23, 13]])  # one passage of two questions; one question twice
    views = Views(vectors=torch.tensor(vectors), text=torch.tensor(text), score=torch.ones(5))
    loss = PassageLoss(similarity=similarity, scale=3.0, in_batch=in_batch)
    expected = oracle(vectors, text, scale=3.0, cosine=similarity is Similarity.COSINE, in_batch=in_batch)
    assert loss(views).item() == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retrieval")
    documents = [{"id": str(number), "title": key, "text": text} for number, (key, text) in enumerate(PASSAGES.items())]
    (folder / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
    rows = [{"question": f"who finds {key.split(' ', 2)[2]}?", "positive": text} for key, text in PASSAGES.items()]
    (folder / "train.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return folder


def trained(model: Path, files: Path, out: Path, **options: Any) -> Any:
    given: dict[str, Any] = {"batch": 6, "length": 24, "budget": "3steps", "quiet": True, "seed": 1, "documents": files / "docs.jsonl"}
    return start_retrieval(model, train=files / "train.jsonl", out=out, **(given | options))


SOME = ("bert", "gpt2", "elmo", "ulmfit", "t5", "xlnet", "electra")


@pytest.mark.parametrize("family", [*SOME, *(pytest.param(one, marks=pytest.mark.slow) for one in sorted({*catalog.networks()} - {*SOME}))])
def test_encoder_families_learn_and_make_an_index(family: str, base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    source = base(family)
    trained(source, files, tmp_path / "out")
    texts = list(PASSAGES.values())
    before, after = plume.load(source).embed(texts), plume.load(tmp_path / "out").embed(texts)
    assert np.isfinite(after).all() and not np.allclose(before, after)
    assert "no dev file to choose by" in (tmp_path / "out/card.md").read_text(encoding="utf-8")


def test_two_encoders_are_one_model_to_index_and_search_with(base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    trained(base("bert"), files, out, dev=files / "train.jsonl", task_options=["two=true", "similarity=DOT", "scale=1.0"])
    model = plume.load(out)
    ask, told = model.embed_questions(["who finds a letter?"]), model.embed(["who finds a letter?"])
    assert not np.allclose(ask, told), "two networks"
    np.testing.assert_allclose(plume.load(out / "questions").embed(["who finds a letter?"]), ask, atol=1e-6)
    with plume.Index.create(tmp_path / "index", model=out, title="title", passage=100) as index:
        index.add_files([files / "docs.jsonl"])
        assert index.settings.metric == "ip"
        (first, *_) = index.search("who finds a letter?", by="vectors", top=12, exact=True)
        titled = [f"{key}\n{text}" for key, text in PASSAGES.items()]
        expected = (ask @ model.embed(titled).T)[0]
        assert first.id == str(int(expected.argmax())) and first.vectors == pytest.approx(float(expected.max()), abs=1e-4)
    other = tmp_path / "other"
    shutil.copytree(out, other)
    shutil.copy(other / "model.safetensors", other / "questions/model.safetensors")
    with pytest.raises(PlumeError, match="did not make the vectors"), plume.Index.open(tmp_path / "index", model=other) as index:
        index.search("who?")
    with pytest.raises(PlumeError, match="another for questions"):
        export_sentence_transformers(out, out=tmp_path / "theirs")
    found = evaluate_retrieval(model, [files / "train.jsonl"], documents=[files / "docs.jsonl"])
    assert set(found.scores) == {"bm25", "dense", "both"} and found.passages == 12 and 0 < found.scores["bm25"]["mrr"] <= 1


@pytest.mark.parametrize("two", ["true", "false"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(two: str, base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    options = {"budget": "4steps", "save_every": "2steps", "task_options": [f"two={two}"], "dev": files / "train.jsonl", "accumulate": 2}
    for name in ("whole", "cut"):
        trained(base("bert"), files, tmp_path / name, **options)
    cut = tmp_path / "cut"
    shutil.rmtree(sorted(cut.glob("train/checkpoint-*"))[-1])
    (cut / "model.safetensors").unlink()
    settings = settings_of(cut)
    assert settings is not None
    resume(cut, settings, quiet=True)
    for side in ("", "questions") if two == "true" else ("",):
        one, other = (load_file(tmp_path / name / side / "model.safetensors") for name in ("whole", "cut"))
        assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task_options": ["negatives=0", "in_batch=false"]}, "needs some of its own"),
        ({"task_options": ["similarity=EUCLIDEAN"]}, "COSINE or DOT"),
        ({"crf": True}, "has no use for --crf"),
        ({"length": 100_000}, "places at most"),
        ({"dropout": 1.0}, "below 1"),
    ],
)
def test_what_cannot_work_is_refused(options: Any, said: str, base: Callable[[str], Path], files: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        trained(base("bert"), files, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
