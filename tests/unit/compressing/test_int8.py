"""Weights in 8 bits: how near they are, what the directory weighs, by what it is run; every family, and what follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

import plume
from plume import api
from plume.compressing.compress import compress
from plume.compressing.lineage import LINEAGE, read_lineage
from plume.compressing.method import method
from plume.core.errors import PlumeError
from plume.model.checkpoint import WEIGHTS, read_weights, save_model
from plume.model.eight_bits import in_eight_bits, in_full
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._preferred import OtherLayersByTorch, preferred_runtime
from plume.recipes import _catalog as catalog
from plume.text.known_languages import Languages
from plume.tuning.options import start_from_options

TEXTS = ["the cat finds a wooden box", "老师喜欢苹果。", "my sister paints the lighthouse in the morning", "a tired sailor"]


@given(st.integers(1, 5), st.integers(16, 40), st.integers(0, 1000), st.floats(1e-6, 1e4))
def test_no_weight_moves_by_more_than_half_a_step(rows: int, columns: int, seed: int, spread: float) -> None:
    """A step is a 127th of the row's largest; torch's own quantisation gives the same numbers."""
    value = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * spread
    value[0] = 0.0
    stored = in_eight_bits({"a.weight": value, "a.bias": value[0]})
    assert stored["a.weight"].dtype is torch.int8 and stored["a.bias"].dtype is torch.float32
    restored = in_full(stored)
    assert restored.keys() == {"a.weight", "a.bias"} and torch.equal(restored["a.bias"], value[0])
    step = value.abs().amax(1, keepdim=True) / 127
    assert ((restored["a.weight"] - value).abs() <= step / 2 * (1 + 1e-5)).all()
    scale = torch.where(step[:, 0] > 0, step[:, 0], torch.ones(rows))
    theirs = torch.quantize_per_channel(value, scale, torch.zeros(rows, dtype=torch.long), 0, torch.qint8).int_repr()
    assert (theirs - stored["a.weight"]).abs().max() <= 1, "a tie may be rounded to either side"
    assert all(torch.equal(one, stored[name]) for name, one in in_eight_bits(restored).items() if name == "a.weight"), (
        "again: no further loss"
    )


@pytest.fixture
def folder(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> Any:
    """A family's miniature as a model directory."""

    def make(family: str) -> Path:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(0)
        model.spell(tokenizer.tokens())
        model.languages = Languages.named(["en", "zh"]) if model.languages is not None else None
        save_model(tmp_path / family, model, tokenizer)
        return tmp_path / family

    return make


def quantised(source: Path, **settings: Any) -> Path:
    made = source.with_name(f"{source.name}-int8")
    compress([source], method("int8").having(settings), made, quiet=True, timed=False)
    return made


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(((one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)).min())


@pytest.mark.parametrize("family", catalog.networks())
def test_every_family_is_read_as_ever(family: str, folder: Any) -> None:
    source = folder(family)
    made = quantised(source, runtime="torch")
    assert not any(value.dtype is torch.int8 for value in read_weights(made / WEIGHTS).values())
    assert any(value.dtype is torch.int8 for value in load_file(made / WEIGHTS).values())
    assert (made / WEIGHTS).stat().st_size < 0.5 * (source / WEIGHTS).stat().st_size, "miniatures have short rows, and many norms"
    assert cosine(plume.load(made).embed(TEXTS), plume.load(source).embed(TEXTS)) > 0.99


def test_a_sentence_model_by_onnx_runtime(folder: Any) -> None:
    """The directory is run by what it prefers, other layers by torch, and everything else as ever; saved again it is whole."""
    pytest.importorskip("onnxruntime")
    source = folder("bert")
    made = quantised(source)
    assert preferred_runtime(made) == "onnx-int8" and preferred_runtime(source) == "torch"
    small, whole = plume.load(made), plume.load(source)
    assert isinstance(small, LanguageModel) and isinstance(small.runtime, OtherLayersByTorch)
    assert cosine(small.embed(TEXTS), plume.load(source, runtime="onnx-int8").embed(TEXTS)) > 0.99
    assert cosine(small.embed(TEXTS, layer=1), whole.embed(TEXTS, layer=1)) > 0.99
    assert np.array_equal(small.embed(TEXTS, layer=1), plume.load(made, runtime="torch").embed(TEXTS, layer=1))
    small.save(made.with_name("again"))
    assert preferred_runtime(made.with_name("again")) == "torch"
    assert np.array_equal(plume.load(made.with_name("again")).embed(TEXTS), plume.load(made, runtime="torch").embed(TEXTS))


def test_a_graph_is_held_against_torch_whatever_the_directory_prefers(folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not against answers in 8 bits: a file in full precision would be refused where these differ."""
    pytest.importorskip("onnxruntime")
    made, checked = quantised(folder("bert")), []
    monkeypatch.setattr(api, "write_graph", lambda model, *_, **__: checked.append(model))
    plume.export_graph(made, out=tmp_path / "out")
    assert preferred_runtime(made) == "onnx-int8" and not isinstance(checked[0].runtime, OtherLayersByTorch)


def test_what_onnx_runtime_cannot_run_prefers_torch(folder: Any) -> None:
    made = quantised(folder("elmo"))
    assert preferred_runtime(made) == "torch"
    assert plume.load(made).embed(TEXTS).shape[0] == len(TEXTS)


def test_torch_multiplies_in_8_bits(folder: Any) -> None:
    source = folder("bert")
    made = quantised(source, runtime="torch-int8")
    assert preferred_runtime(made) == "torch-int8"
    found, exact = plume.load(made).embed(TEXTS), plume.load(source).embed(TEXTS)
    assert 0.97 < cosine(found, exact) < 1 - 1e-9
    with pytest.raises(PlumeError, match="no layers that torch multiplies in 8 bits"):
        plume.load(folder("elmo"), runtime="torch-int8")


def test_a_tuned_model_and_what_comes_after(folder: Any, tmp_path: Path) -> None:
    """It answers, is tuned on, and made smaller again: what it was tuned on is still known."""
    file = tmp_path / "train.tsv"
    file.write_text("".join(f"the cat {word}\t{word}\n" for word in ("warm", "cold") * 20))
    source = tmp_path / "tuned"
    start_from_options(
        folder("bert"), task="classification", train=str(file), dev=str(file), out=source, budget="30steps", rate=3e-3, quiet=True
    )
    made = quantised(source)
    items = ["the cat warm", "the cat cold"] * 4
    labels = [one["label"] for one in plume.load(source).predict(items)]
    assert [one["label"] for one in plume.load(made).predict(items)] == labels
    assert [one["label"] for one in plume.load(made, runtime="torch-int8").predict(items)] == labels
    again = quantised(made)
    assert (again / "lineage.json").read_text().count('"method": "int8"') == 2
    assert plume.load(again).evaluate(file).scores["accuracy"] == plume.load(source).evaluate(file).scores["accuracy"]
    start_from_options(made, task="classification", train=str(file), dev=str(file), out=tmp_path / "on", budget="2steps", quiet=True)
    assert preferred_runtime(tmp_path / "on") == "torch"


def test_what_it_took_is_its_own(folder: Any) -> None:
    """Not what the model that it is made of took, whose lineage lies in the directory that is copied."""
    made = quantised(folder("bert"), runtime="torch")
    told = json.loads((made / LINEAGE).read_text())
    told["steps"][0]["seconds"] = 9e9
    (made / LINEAGE).write_text(json.dumps(told))
    lineage = read_lineage(quantised(made, runtime="torch"))
    assert lineage is not None
    first, second = lineage.steps
    assert first.seconds == 9e9 and second.seconds < 9e9


def test_misfits_are_refused(folder: Any, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="no runtime 'onx-int8'"):
        quantised(folder("bert"), runtime="onx-int8")
    assert not (tmp_path / "bert-int8").exists()


def test_what_trains_nothing_takes_no_wishes_for_training(folder: Any, tmp_path: Path) -> None:
    """Nor text that it would not read: options that change nothing are a misunderstanding."""
    source, text = folder("bert"), tmp_path / "text.txt"
    text.write_text("the cat finds a wooden box\n" * 20)
    for name, options, said in (
        ("int8", {"epochs": 2.0}, "Nothing is trained here, .* leave out --epochs"),
        ("int8", {"text": str(text)}, "int8 reads no plain text: leave out --text"),
        ("static", {"text": str(text), "budget": "10steps"}, "leave out --budget"),
        ("layers", {"text": str(text)}, "layers reads no plain text: leave out --text"),
    ):
        with pytest.raises(PlumeError, match=said):
            plume.compress(source, method=name, out=tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["int8", "heads", "distil", "static"])
def test_what_is_no_model_is_refused(name: str, tmp_path: Path) -> None:
    """By a sentence about what the user named, before anything is written."""
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "config.json").write_text("{}")
    for source, said in (("nowhere", "There is no model directory at .*nowhere"), ("hf", "run 'plume import .*hf")):
        with pytest.raises(PlumeError, match=said):
            plume.compress(tmp_path / source, method=name, out=tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_runtime_is_named_as_it_is_written(folder: Any, tmp_path: Path) -> None:
    """torch-int8 is a word, not a difference."""
    plume.compress(folder("bert"), method="int8", out=tmp_path / "out", settings=["runtime=torch-int8"], timed=False, quiet=True)
    assert preferred_runtime(tmp_path / "out") == "torch-int8"
