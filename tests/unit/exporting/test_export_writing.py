"""Models that write, as files with a cache: the same texts by a script that imports no plume, greedily, with what is cached of other rows beside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.exporting import folder as exporting
from plume.exporting.folder import export_graph
from plume.model.use.language_model import LanguageModel
from plume.vectors.sentence import SentenceVectors

from .conftest import ITEMS, livelier
from .test_export import agrees, alone

onnxruntime = pytest.importorskip("onnxruntime")
TWO_PARTS, ONE_PART = ("t5", "bart", "pegasus", "palm", "transformer"), ("gpt", "gpt2", "ctrl", "transformer-xl")
PROMPTS = ["The cat finds", "my sister paints a wooden box near", "一封信", "a", "her teacher carries two apples today, and the letter"]


@pytest.fixture(scope="session")
def language(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    def make(family: str, **size: Any) -> LanguageModel:
        recipe = miniature(family, length=64, **size)
        tokenizer = tokenizer_for(recipe)
        return LanguageModel(livelier(built(recipe, vocabulary=tokenizer.size).float()), tokenizer)

    return make


@pytest.mark.parametrize(
    "family", [pytest.param(one, marks=() if one in ("bart", "gpt2") else pytest.mark.slow) for one in TWO_PARTS + ONE_PART]
)
def test_language_models_write_alike(family: str, language: Any, tmp_path: Path) -> None:
    model = language(family)
    export_graph(model, tmp_path / "out")
    files = {path.name for path in (tmp_path / "out").glob("*.onnx")}
    assert files == ({"encoder.onnx", "decoder.onnx"} if family in TWO_PARTS else {"decoder.onnx"})
    (found,) = alone([(tmp_path / "out", PROMPTS)])
    assert [one["text"] for one in found] == [model.generate(text, greedy=True, max_tokens=50) for text in PROMPTS]
    assert len({one["text"] for one in found}) > 3


@pytest.mark.parametrize(
    ("family", "task"),
    [
        ("t5", "summarisation"),
        ("bart", "summarisation"),
        ("mass", "summarisation"),
        ("gpt2", "summarisation"),
        ("transformer-xl", "summarisation"),
    ]
    + [("bart", task) for task in ("classification", "nli", "regression", "similarity", "qa", "dialogue")]
    + [("gpt2", "dialogue")],
)
def test_written_tasks_are_answered_alike(family: str, task: str, written: Any, tmp_path: Path) -> None:
    model = written(family, task)
    export_graph(model, tmp_path / "out")
    items = ITEMS[task]
    if task in ("qa", "nli", "similarity"):  # what fits as a whole: plume reads a context in windows, and cuts the longer text of a pair
        items = [item for item in items if len(str(item).encode()) < 80]
    items = [item for item in items if item] if task == "dialogue" else items
    (found,) = alone([(tmp_path / "out", items)])
    assert agrees(found, model.predict(items))
    assert len({json.dumps(one) for one in found}) > 2 or task in ("regression", "similarity")  # no number is written: all have the mean


def test_conversations_that_are_too_long(written: Any, tmp_path: Path) -> None:
    model = written("gpt2", "dialogue")
    export_graph(model, tmp_path / "out")
    said = ["the cat finds a box", "near the river", "my sister", "paints two apples and the letter", "a word"]
    turns = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    spoken = [[{"role": "system", "content": "be warm"}, *turns], turns, turns[:3], [{"role": "system", "content": "cold " * 60}, *turns]]
    (found,) = alone([(tmp_path / "out", [json.dumps(one) for one in spoken])], "--conversations")
    assert [one["text"] for one in found] == [model.predict([one])[0]["text"] for one in spoken]


@pytest.mark.parametrize("family", ["t5", pytest.param("gpt2", marks=pytest.mark.slow)])
def test_torchscript(family: str, language: Any, tmp_path: Path) -> None:
    model = language(family)
    export_graph(model, tmp_path / "out", to="torchscript")
    (found,) = alone([(tmp_path / "out", PROMPTS)], "--torch")
    assert [one["text"] for one in found] == [model.generate(text, greedy=True, max_tokens=50) for text in PROMPTS]


def test_eight_bits(language: Any, tmp_path: Path) -> None:
    model = language("bart", width=64)
    sizes = []
    for int8 in (False, True):
        made = export_graph(model, tmp_path / str(int8), int8=int8)
        sizes.append(sum(path.stat().st_size for path in (tmp_path / str(int8)).glob("*.onnx")))
        assert (made.checked.difference > 1e-3) == int8 and (made.checked.agreement == 1 or int8)
    assert sizes[1] < 0.75 * sizes[0]
    (found,) = alone([(tmp_path / "True", PROMPTS)])
    assert all(one["text"] for one in found)


def test_pruned_heads_have_caches_of_their_own(language: Any, tmp_path: Path) -> None:
    model = language("gpt2")
    model.model.stack.block(1).attention.prune([0, 2, 3])
    export_graph(model, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert [config["past"][f"past.{block}.key"] for block in (0, 1)] == [[4, 8], [1, 8]]
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / "decoder.onnx"))
    assert {one.name: one.shape[1] for one in session.get_inputs() if one.name.startswith("past")}["past.1.key"] == 1
    (found,) = alone([(tmp_path / "out", PROMPTS)])
    assert [one["text"] for one in found] == [model.generate(text, greedy=True, max_tokens=50) for text in PROMPTS]


def test_a_decoder_that_writes_otherwise_is_refused(language: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = language("bart")
    true = exporting.KINDS["onnx"].write

    def spoiled(graph: Any, path: Path, int8: bool) -> None:
        bias = model.model.decoder.block(0).feed_forward.output.bias
        with torch.no_grad():
            bias[0] += 0.5
            true(graph, path, int8)
            bias[0] -= 0.5

    monkeypatch.setitem(exporting.KINDS, "onnx", exporting.FileKind(**{**vars(exporting.KINDS["onnx"]), "write": spoiled}))
    with pytest.raises(PlumeError, match="does not compute what the model does"):
        export_graph(model, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_what_a_language_model_is_exported_for(language: Any, tmp_path: Path) -> None:
    model = language("gpt2")
    export_graph(model, tmp_path / "embed", task="embed")
    (vectors,) = alone([(tmp_path / "embed", PROMPTS)])
    np.testing.assert_allclose(np.array(vectors), model.embed(PROMPTS), atol=1e-4)
    told = LanguageModel(model.model, model.tokenizer, SentenceVectors())
    export_graph(told, tmp_path / "told")
    assert (tmp_path / "told" / "model.onnx").exists()
    with pytest.raises(PlumeError, match="to embed or to generate, not for 'ner'"):
        export_graph(model, tmp_path / "out", task="ner")
    with pytest.raises(PlumeError, match=r"bert cannot be exported to write: it does not write\. Export it with --task embed"):
        export_graph(language("bert"), tmp_path / "out", task="generate")
    with pytest.raises(PlumeError, match="writes the hidden end of a text"):
        export_graph(language("mass"), tmp_path / "out", task="generate")


def test_beams_are_told(written: Any, tmp_path: Path) -> None:
    made = export_graph(written("bart", beams=3), tmp_path / "out")
    assert any("3 beams" in line for line in made.lines())


def test_the_scripts_of_the_guide(language: Any, tuned: Any, written: Any, tmp_path: Path) -> None:
    """In docs/export.md: a classifier, GPT-2, an encoder–decoder; run as they stand, where plume cannot be imported."""
    page = Path(__file__).parents[3] / "docs" / "export.md"
    scripts = [part.partition("```")[0] for part in page.read_text(encoding="utf-8").split("```python\n")[1:4]]
    models = (tuned("bert", "classification", length=64), language("gpt2"), written("bart", "summarisation"))
    said = [model.predict(["A dog runs through the snow."])[0]["label"] for model in models[:1]]
    said += [models[1].generate("The library", greedy=True, max_tokens=50), models[2].predict(["A long text."])[0]["text"]]
    for number, (script, model, right) in enumerate(zip(scripts, models, said, strict=True)):
        (tmp_path / str(number)).mkdir()
        export_graph(model, tmp_path / str(number) / "out")
        guarded = f"import sys\nsys.modules['plume'] = sys.modules['torch'] = None\n{script}"
        done = subprocess.run([sys.executable, "-c", guarded], cwd=tmp_path / str(number), capture_output=True, text=True, check=False)
        assert done.stdout.strip() == right.strip(), done.stderr
    assert page.with_name("zh").joinpath("export.md").read_text(encoding="utf-8").count(scripts[1]) == 1
