"""What the page is served with: its files, what it is told of models, and the views."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.model.gating import AttentionPlace, gated, without
from plume.model.use.language_model import LanguageModel
from plume.serve.models.apart import apart
from plume.serve.page import FILES, switchable
from plume.view.attending import attention_page
from plume.view.inside import predictions_page
from plume.view.recording.subject import open_subject, subject_of

TEXT = "The old captain finds a wooden box."


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path, tmp_path_factory: Any) -> Iterator[Any]:
    index = tmp_path_factory.mktemp("page") / "idx"
    with plume.Index.create(index, model=directory("bert")) as made:
        made.add([{"id": "a", "text": "the cat finds a box", "year": 2024}, {"id": "b", "text": "my sister carries apples", "year": 2020}])
    with server(directory("bert"), directory("gpt2"), classifier, index) as running:
        yield running


def test_files_come_with_a_policy_and_are_not_sent_twice(served: Any) -> None:
    for path, file in FILES.items():
        answer = served.client.get(path)
        assert answer.status_code == 200 and answer.content == file.content and answer.headers["content-type"].startswith(file.type)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "http" not in policy
        assert ("unsafe-inline" in policy) == (file.name == "view.html") == ("sandbox" in policy)
        assert served.client.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    for path in ("/page/", "/page/none.js", "/page/..%2f__init__.py", "/page/__init__.py", "/page/index.html"):
        assert served.client.get(path).status_code == 404


def test_nothing_of_the_page_names_another_host() -> None:
    for file in FILES.values():
        text = file.content.decode()
        assert set(re.findall(r"https?://[^\s'\"]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function", text)


def test_only_the_page_opens_without_a_key(server: Callable[..., Any], classifier: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("s3cret alice\n", encoding="utf-8")
    with server(classifier, keys=keys) as running:
        assert all(running.client.get(path).status_code == 200 for path in FILES)
        assert running.client.get("/v1/models").status_code == 401
        assert running.client.post("/view/classifier", json={"text": TEXT}).status_code == 401
        assert running.client.get("/v1/models", headers={"Authorization": "Bearer s3cret"}).status_code == 200


def test_colours_can_be_switched() -> None:
    made = FILES["/page/palette.css"].content.decode()
    assert switchable(":root { a } @media (prefers-color-scheme: dark) { :root { b } }").count("b }") == 2
    assert made.count("--paper: #15171b") == 2 and ":root:not([data-theme=light])" in made


def test_models_say_what_they_are(served: Any) -> None:
    found = {one["id"]: one for one in served.client.get("/v1/models").json()["data"]}
    assert found["bert"]["family"] == "bert" and found["bert"]["width"] == plume.load(served.engine.shelf.about("bert").folder).width
    assert found["bert"]["views"] == ["head", "model", "neuron", "switch", "predictions"] and found["bert"]["tasks"] == []
    (task,) = found["classifier"]["tasks"]
    assert (task["kind"], task["reads"], task["labels"]) == ("classification", "text", ["cold", "warm"])
    assert found["classifier"]["views"][-1] == "gradients"
    index = found["idx"]["index"]
    assert (index["documents"], index["fields"], index["modes"]) == (2, {"year": "int"}, ["hybrid", "vectors", "words"])
    assert "generate" in found["gpt2"]["operations"]


def _bare(page: str) -> str:
    """Without the arrays in it: another number of threads adds in another order, and their last digits move."""
    return re.sub(r"[A-Za-z0-9+/=]{80,}", "", page)


def test_a_view_is_the_page_that_python_makes(served: Any) -> None:
    model = plume.load(served.engine.shelf.about("bert").folder)
    assert isinstance(model, LanguageModel)
    answer = served.client.post("/view/bert", json={"view": "predictions", "text": TEXT, "page_language": "zh"})
    assert answer.headers["content-type"].startswith("text/html") and "sandbox" in answer.headers["content-security-policy"]
    assert _bare(answer.text) == _bare(predictions_page(model, TEXT, name="bert", language="zh").html())
    for name, views in (("bert", ["head", "model", "neuron", "switch"]), ("classifier", ["head", "gradients"]), ("gpt2", ["predictions"])):
        for view in views:
            assert "</html>" in served.client.post(f"/view/{name}", json={"view": view, "text": TEXT}).text


def test_two_models_side_by_side_as_the_command_line_has_them(served: Any) -> None:
    folders = [served.engine.shelf.about(name).folder for name in ("bert", "gpt2")]
    expected = attention_page([open_subject(one) for one in folders], TEXT, pair="Why?", view="model", language="zh").html()
    asked = {"view": "model", "text": TEXT, "pair": "Why?", "against": "gpt2", "page_language": "zh"}
    assert _bare(served.client.post("/view/bert", json=asked).text) == _bare(expected)
    assert "bert 与 gpt2" in expected


@pytest.mark.parametrize(
    ("model", "body", "status", "field"),
    [
        ("bert", {"view": "predictions", "text": TEXT, "against": "gpt2"}, 400, "against"),
        ("bert", {"view": "head", "text": TEXT, "against": "idx"}, 400, "against"),
        ("bert", {"view": "head", "text": TEXT, "against": "none"}, 404, "against"),
        ("bert", {"view": "gradients", "text": TEXT}, 400, "view"),
        ("bert", {"view": "soul", "text": TEXT}, 400, "view"),
        ("idx", {"view": "head", "text": TEXT}, 400, "view"),
        ("bert", {"view": "head", "text": " "}, 400, "text"),
        ("bert", {"view": "predictions", "text": "box " * 200}, 413, "text"),
        ("bert", {"view": "head", "text": "box " * 50_000}, 413, "text"),
        ("bert", {"view": "head"}, 422, "text"),
        ("none", {"view": "head", "text": TEXT}, 404, "model"),
    ],
)
def test_views_that_cannot_be_made_say_why(served: Any, model: str, body: dict[str, str], status: int, field: str) -> None:
    answer = served.client.post(f"/view/{model}", json=body)
    assert answer.status_code == status and answer.json()["error"]["param"] == field


def test_heads_are_switched_off_in_a_model_apart(language_model: Callable[[str], LanguageModel]) -> None:
    model = language_model("bert")
    before = model.embed([TEXT])
    other = apart(model)
    assert isinstance(other, LanguageModel)
    ours, theirs = dict(model.model.named_parameters()), dict(other.model.named_parameters())
    assert ours.keys() == theirs.keys() and all(ours[name] is theirs[name] for name in ours)
    subject, found = subject_of(other), []
    with gated(subject.network, without(subject.network, AttentionPlace.SELF, 0, 0)), torch.inference_mode():
        changed = other.embed([TEXT])
        thread = threading.Thread(target=lambda: found.append(model.embed([TEXT])))
        thread.start()
        thread.join()
    np.testing.assert_array_equal(found[0], before)
    assert np.abs(changed - before).max() > 1e-6
