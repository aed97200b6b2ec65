"""What computes the states: the same vectors by ONNX Runtime, nearly the same with 8-bit weights."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel

pytest.importorskip("onnxruntime")
TEXTS = ["The cat finds a wooden box near the river.", "我们喜欢苹果。", "My sister paints.", "", "two apples"]


def test_onnx_gives_the_same_vectors(
    miniature: Any, built: Any, tokenizer_for: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "cache"))
    recipe = miniature("bert", length=32)
    tokenizer = tokenizer_for(recipe)
    plain = LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)
    plain.save(tmp_path / "model")
    whole, eighth = (LanguageModel.load(tmp_path / "model", runtime=name) for name in ("onnx", "onnx-int8"))
    expected = plain.embed(TEXTS)
    np.testing.assert_allclose(whole.embed(TEXTS), expected, atol=1e-5)
    found = eighth.embed(TEXTS)
    cosine = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert 0.99 < cosine.min() < 1 - 1e-7
    files = sorted((tmp_path / "cache" / "onnx").iterdir(), key=lambda one: one.stem.endswith("-int8"))
    assert len(files) == 2
    kinds = Counter(node.op_type for node in pytest.importorskip("onnx").load(str(files[1])).graph.node)
    depth = recipe.network.depth
    assert (kinds["MatMulNBits"], kinds["MatMulInteger"]) == (depth, 5 * depth), "all weights; in blocks what is read behind an activation"
    with pytest.raises(PlumeError, match="the last layer alone"):
        whole.embed(TEXTS, layer=0)
    with pytest.raises(PlumeError, match="no runtime 'onx'"):
        LanguageModel.load(tmp_path / "model", runtime="onx")


def test_what_has_no_such_graph_is_refused(miniature: Any, built: Any, tokenizer_for: Any) -> None:
    recipe = miniature("elmo", length=32)
    tokenizer = tokenizer_for(recipe)
    with pytest.raises(PlumeError, match="cannot be run by ONNX Runtime"):
        LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer, runtime="onnx")
