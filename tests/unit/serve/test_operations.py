"""What models do over HTTP: the same answers as Python's."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume

TEXTS = ["The cat finds a wooden box.", "小猫喜欢苹果。"]
DOCUMENTS = ["小猫喜欢苹果。", "the cat finds a wooden box", "my sister paints the lighthouse"]


@pytest.fixture(scope="module")
def pairs(directory: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bert tuned on pairs, a little: does the second follow from the first?"""
    folder = tmp_path_factory.mktemp("pairs")
    lines = [
        f"the cat {word}\tthe cat {other}\t{'entailment' if word == other else 'neutral'}"
        for word in ("finds", "paints") for other in ("finds", "paints")
    ] * 4  # fmt: skip
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = str(folder / "train.tsv")
    plume.tune(directory("bert"), task="nli", train=train, dev=train, out=folder / "nli", epochs=1.0, quiet=True)
    return folder / "nli"


@pytest.fixture(scope="module")
def index(directory: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "news"
    with plume.Index.create(folder, model=str(directory("bert"))) as made:
        made.add([{"id": str(number), "text": text, "year": 2020 + number} for number, text in enumerate(DOCUMENTS)])
    return folder


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path, pairs: Path, index: Path) -> Iterator[Any]:
    with server(directory("bert"), directory("gpt2"), directory("t5"), classifier, pairs, index, text_characters=500) as running:
        yield running


def asked(served: Any, path: str, **body: Any) -> Any:
    answer = served.client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(served: Any, path: str, **body: Any) -> tuple[int, str | None, str]:
    answer = served.client.post(path, json=body)
    error = answer.json()["error"]
    return answer.status_code, error["param"], error["message"]


# Filling and scoring


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_fill(served: Any, directory: Any, family: str) -> None:
    text = "the cat ___ a wooden box"
    expected = plume.load(directory(family)).fill(text, top=3)
    found = asked(served, "/fill", model=family, inputs=[text, text], top=3)["results"]
    assert found[0] == found[1] and len(found[0]) == 1
    assert [one["token"] for one in found[0][0]] == [one.token for one in expected[0]]
    np.testing.assert_allclose([one["probability"] for one in found[0][0]], [one.probability for one in expected[0]], rtol=1e-4)


def test_score(served: Any, directory: Any) -> None:
    for family in ("gpt2", "bert"):
        found = asked(served, "/score", model=family, inputs=TEXTS)["results"]
        expected = plume.load(directory(family)).score(TEXTS)
        np.testing.assert_allclose([one["log_probability"] for one in found], [one.log_probability for one in expected], rtol=1e-5)
        assert [one["tokens"] for one in found] == [one.tokens for one in expected]
    found = asked(served, "/score", model="t5", inputs=TEXTS, source="the cat")["results"]
    expected = plume.load(directory("t5")).score(TEXTS, source="the cat")
    np.testing.assert_allclose([one["perplexity"] for one in found], [one.perplexity for one in expected], rtol=1e-5)


def test_what_a_model_cannot_do(served: Any) -> None:
    assert refused(served, "/fill", model="gpt2", inputs="the ___")[:2] == (400, "model")
    assert "nothing to fill in" in refused(served, "/fill", model="bert", inputs="the cat")[2]
    assert "say what it read" in refused(served, "/score", model="t5", inputs="the cat")[2]
    assert refused(served, "/score", model="t5", inputs=TEXTS, source=["a"])[:2] == (422, "source")
    assert refused(served, "/fill", model="bert", inputs=[])[:2] == (422, "inputs")
    assert refused(served, "/score", model="news", inputs="a")[:2] == (400, "model")


# Looking inside


def test_hidden(served: Any, directory: Any) -> None:
    model = plume.load(directory("bert"))
    expected = model.hidden(TEXTS)
    found = asked(served, "/hidden", model="bert", inputs=TEXTS, layers=[0, -1])["results"]
    coded = asked(served, "/hidden", model="bert", inputs=TEXTS, layers=[-1], encoding_format="base64")["results"]
    for text, own, other, hidden in zip(TEXTS, found, coded, expected, strict=True):
        assert [one["token"] for one in own["tokens"]] == hidden.tokens
        np.testing.assert_allclose(own["layers"][0]["states"], hidden.layers[0], atol=1e-5)
        np.testing.assert_allclose(own["layers"][1]["states"], hidden.layers[-1], atol=1e-5)
        layer = other["layers"][0]
        np.testing.assert_allclose(np.frombuffer(b64decode(layer["states"]), "<f4").reshape(layer["shape"]), hidden.layers[-1], atol=1e-5)
        assert own["tokens"][0] == {"token": "[CLS]", "start": None, "end": None} and own["tokens"][-1]["start"] is None
        written = "".join(text[one["start"] : one["end"]] for one in own["tokens"][1:-1])
        assert written == text.replace(" ", "")


def test_hidden_is_limited(served: Any) -> None:
    assert refused(served, "/hidden", model="bert", inputs=TEXTS, layers=[99])[:2] == (400, "layers")
    assert refused(served, "/hidden", model="bert", inputs=["the cat " * 50] * 1000, layers=[0, 1, 2] * 20)[0] == 413


# Ranking and labels


def test_rerank_by_vectors(served: Any, directory: Any) -> None:
    vectors = plume.load(directory("bert")).embed([TEXTS[0], *DOCUMENTS])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit[1:] @ unit[0]
    found = asked(served, "/rerank", model="bert", query=TEXTS[0], documents=[DOCUMENTS[0], {"text": DOCUMENTS[1]}, DOCUMENTS[2]], top_n=2)
    assert [one["index"] for one in found["results"]] == np.argsort(-cosines)[:2].tolist()
    np.testing.assert_allclose([one["relevance_score"] for one in found["results"]], np.sort(cosines)[::-1][:2], atol=1e-5)
    assert found["by"] == "cosine of vectors" and "document" not in found["results"][0] and found["usage"]["total_tokens"] > 0
    with_texts = asked(served, "/v1/rerank", model="bert", query=TEXTS[0], documents=DOCUMENTS, return_documents=True)
    assert with_texts["results"][0]["document"] == {"text": DOCUMENTS[with_texts["results"][0]["index"]]}


def test_rerank_by_a_cross_encoder(served: Any, pairs: Path) -> None:
    """In TEI's form; the score is the probability of entailment."""
    expected = [one["scores"]["entailment"] for one in plume.load(pairs).predict([(TEXTS[0], one) for one in DOCUMENTS])]
    found = asked(served, "/rerank", model="nli", query=TEXTS[0], texts=DOCUMENTS, return_text=True)
    assert [one["index"] for one in found] == sorted(range(3), key=lambda place: -expected[place])
    np.testing.assert_allclose([one["score"] for one in found], sorted(expected, reverse=True), atol=1e-5)
    assert found[0]["text"] == DOCUMENTS[found[0]["index"]]
    assert asked(served, "/rerank", model="nli", query="a", documents=["b"])["by"] == "cross-encoder (nli)"
    assert refused(served, "/rerank", model="nli", query="a")[:2] == (422, "documents")
    assert refused(served, "/rerank", query="a", documents=["b"])[:2] == (422, "model")  # several could


def test_classify(served: Any, classifier: Path) -> None:
    expected = plume.load(classifier).predict(TEXTS)
    found = asked(served, "/classify", model="classifier", input=TEXTS)
    assert found["object"] == "classify" and [one[0]["label"] for one in found["data"]] == [one["label"] for one in expected]
    assert {one["label"]: one["score"] for one in found["data"][0]} == pytest.approx(expected[0]["scores"], abs=1e-5)
    assert asked(served, "/predict", model="classifier", inputs=TEXTS[0]) == found["data"][0]  # TEI
    assert refused(served, "/classify", model="bert", input=TEXTS)[:2] == (400, "model")
    assert refused(served, "/classify", model="classifier", input=TEXTS, raw_scores=True)[:2] == (400, "raw_scores")


@pytest.mark.parametrize("name", ["bert", "gpt2", "nli"])
def test_zero_shot(served: Any, directory: Any, pairs: Path, name: str) -> None:
    from plume.tasks.zero_shot import TASK

    model: Any = plume.load(pairs if name == "nli" else directory(name))
    labels = {"0": "the river", "1": "a letter"}
    expected = TASK.predict(model, TEXTS, labels=labels)
    found = asked(served, f"/predict/{name}", inputs=TEXTS, labels=labels)["predictions"]
    assert [one["label"] for one in found] == [one["label"] for one in expected]
    np.testing.assert_allclose([one["score"] for one in found], [one["score"] for one in expected], atol=1e-5)
    assert asked(served, f"/predict/{name}", inputs=TEXTS, labels=["a river"], multi_label=True)["predictions"][0]["scores"].keys() == {
        "a river"
    }


def test_zero_shot_refused(served: Any) -> None:
    assert refused(served, "/predict/bert", inputs=TEXTS, labels=["a", "a"])[:2] == (422, "labels")
    assert refused(served, "/predict/bert", inputs=TEXTS, labels=["a", " "])[:2] == (400, "labels")
    assert "two or more" in refused(served, "/predict/bert", inputs=TEXTS, labels=["a"])[2]
    assert refused(served, "/predict/bert", inputs=[["a", "b"]], labels=["a", "b"])[:2] == (422, "inputs")
    assert refused(served, "/predict/news", inputs=TEXTS, labels=["a", "b"])[:2] == (400, "labels")


# Searching


@pytest.mark.parametrize("mode", ["vectors", "words", "hybrid"])
def test_search(served: Any, index: Path, mode: Any) -> None:
    with plume.Index.open(index) as opened:
        expected = [hit.as_json() for hit in opened.search("a wooden box", top=2, by=mode)]
    found = asked(served, "/search/news", query="a wooden box", top=2, mode=mode)
    assert found["mode"] == mode and [one["id"] for one in found["hits"]] == [one["id"] for one in expected]
    for one, other in zip(found["hits"], expected, strict=True):
        assert one.keys() == other.keys()
        assert one["score"] == pytest.approx(other["score"], abs=1e-5) and one["matched"] == other["matched"]
    if mode == "words":
        assert found["hits"][0]["matched"] == ["a", "wooden", "box"]


def test_search_with_filter_vector_and_reranker(served: Any, directory: Any) -> None:
    found = asked(served, "/search/news", query="a wooden box", where="year >= 2021")
    assert {one["metadata"]["year"] for one in found["hits"]} == {2021, 2022} and found["mode"] == "hybrid"
    vector = plume.load(directory("bert")).embed(DOCUMENTS[2])[0].tolist()
    found = asked(served, "/search/news", vector=vector, top=1)
    assert found["hits"][0]["id"] == "2" and found["hits"][0]["vectors"] == pytest.approx(1, abs=1e-4) and found["mode"] == "vectors"
    found = asked(served, "/search/news", query="a wooden box", rerank="nli", top=3)["hits"]
    assert [one["score"] for one in found] == sorted((one["rerank"] for one in found), reverse=True)


def test_search_refused(served: Any, directory: Any) -> None:
    assert refused(served, "/search/news", query="a", where="nobody = 1")[0] == 400
    assert refused(served, "/search/news", query="a", vector=[1.0])[:2] == (422, "query")
    assert refused(served, "/search/news", vector=[1.0])[:2] == (400, "vector")
    assert refused(served, "/search/bert", query="a")[:2] == (400, "model")
    assert refused(served, "/search/nws", query="a")[0] == 404
    assert refused(served, "/search/news", query="a", rerank="nobody")[:2] == (404, "rerank")
    assert refused(served, "/search/news", query="a", rerank="news")[:2] == (400, "rerank")
    width = len(plume.load(directory("bert")).embed("a")[0])
    for odd in ("NaN", "1e300"):  # JSON as Python and JavaScript read it
        answer = served.client.post("/search/news", content='{"vector": [' + ", ".join([odd] * width) + "]}")
        assert answer.status_code == 400 and answer.json()["error"]["param"] == "vector"


def test_indexes_that_are_not_asked_both_ways(server: Any, tmp_path: Path) -> None:
    for name, how in (("ready", {}), ("near", {"words": None})):
        with plume.Index.create(tmp_path / name, dimension=3, **how) as made:
            made.add(DOCUMENTS, vectors=np.eye(3))
    with plume.Index.create(tmp_path / "said") as made:
        made.add(DOCUMENTS)
    with server(*(tmp_path / name for name in ("ready", "near", "said"))) as running:
        modes = {one["id"]: one["index"]["modes"] for one in running.client.get("/v1/models").json()["data"]}
        assert modes == {"ready": ["words"], "near": [], "said": ["words"]}
        for name in ("ready", "near"):
            found = asked(running, f"/search/{name}", vector=[0, 1, 0], top=1)
            assert found["mode"] == "vectors" and found["hits"][0]["text"] == DOCUMENTS[1]
        for name in ("ready", "said"):
            assert asked(running, f"/search/{name}", query="a wooden box")["mode"] == "words"
            status, param, message = refused(running, f"/search/{name}", query="a", mode="vectors")
            assert (status, param) == (400, "mode") and str(tmp_path) not in message
        assert refused(running, "/search/near", query="a")[:2] == (400, "query")


def test_abilities(served: Any) -> None:
    able = {one["id"]: set(one["operations"]) for one in served.client.get("/v1/models").json()["data"]}
    assert able["news"] == {"search"}
    assert {"fill", "score", "hidden", "rerank", "zero_shot", "encode"} <= able["bert"] and "predict" not in able["bert"]
    assert "fill" not in able["gpt2"] and "predict" in able["nli"]


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/rerank", {"model": "bert", "query": "", "documents": ["a"]}, 422, "query"),  # the field's name is that of a part of addresses
        ("/search/news", {"query": 5}, 422, "query"),
        ("/fill", {"model": "bert", "inputs": "no blank"}, 400, "inputs"),
        ("/score", {"model": "t5", "inputs": "a"}, 400, "source"),
        ("/score", {"model": "gpt2", "inputs": "a", "source": "b"}, 400, "source"),
        ("/score", {"model": "bert", "inputs": "box " * 100}, 400, "inputs"),
        ("/generate", {"model": "gpt2", "source": "a"}, 400, "source"),
        ("/generate", {"model": "gpt2", "prompt": "box " * 100}, 400, "prompt"),
        ("/v1/completions", {"model": "gpt2", "prompt": [999_999]}, 400, "prompt"),
        ("/v1/completions", {"model": "gpt2", "prompt": [999_999], "stream": True}, 400, "prompt"),
        ("/v1/completions", {"model": "gpt2", "prompt": "a", "logit_bias": {"999999": 1}}, 400, "logit_bias"),
        ("/v1/completions", {"model": "gpt2", "prompt": "a", "logit_bias": {"a": 1}}, 422, "logit_bias.a"),
        ("/v1/completions", {"model": "t5", "prompt": "a", "echo": True, "logprobs": 1}, 400, "echo"),
        ("/predict/bert", {"inputs": ["a"], "labels": ["warm", "cold"], "template": "no blank"}, 400, "template"),
        ("/predict/bert", {"inputs": ["a"], "labels": ["warm", "cold"], "way": "entailment"}, 400, "way"),
        ("/classify", {"model": "classifier", "input": [["a", "b"]]}, 422, "input"),
        ("/view/bert", {"text": "a box", "view": "head", "target": "a"}, 400, "target"),
        ("/view/classifier", {"text": "a box", "view": "gradients", "task": "soul"}, 400, "task"),
    ],
)
def test_what_is_wrong_is_said_of_its_field(served: Any, path: str, body: dict[str, Any], status: int, field: str) -> None:
    assert refused(served, path, **body)[:2] == (status, field)
