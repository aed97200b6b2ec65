"""Tuned models by ONNX Runtime: the same answers as torch's, nearly the same with 8-bit weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.tuning.loaded import load

from .conftest import ITEMS, TASKS, TEXTS

pytest.importorskip("onnxruntime")


def same(one: Any, other: Any) -> bool:
    """Equal but for the last digits of scores."""
    if isinstance(one, float):
        return one == pytest.approx(other, abs=1e-4)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_answered_alike(task: str, tuned: Any) -> None:
    plain = tuned("bert", task)
    items, onnx = ITEMS[task], plain.using("onnx")
    expected = plain.predict(items)
    assert all(map(same, onnx.predict(items), expected))
    assert all(same(onnx.predict([item]), [right]) for item, right in zip(items[:3], expected, strict=False))
    assert any(not same(one, expected[0]) for one in expected[1:])  # the texts are told apart


@pytest.mark.parametrize("family", ["roberta", "electra", "albert", "gpt2", "unilm", "mpnet", "ernie", "xlm", "bart", "glm"])
@pytest.mark.parametrize("task", ["classification", "ner-crf", "qa"])
def test_families(family: str, task: str, tuned: Any) -> None:
    plain = tuned(family, task)
    assert all(map(same, plain.using("onnx").predict(ITEMS[task]), plain.predict(ITEMS[task])))


@pytest.mark.parametrize("family", ["nezha", "t5", "xlnet", "transformer-xl"])
def test_families_whose_trace_needs_other_words(family: str, tuned: Any) -> None:
    plain = tuned(family, "classification" if family == "nezha" else "ner")
    assert all(map(same, plain.using("onnx").predict(TEXTS), plain.predict(TEXTS)))


def test_distances_at_the_values(tuned: Any) -> None:
    plain = tuned("nezha", "ner-crf")
    assert all(map(same, plain.using("onnx").predict(TEXTS), plain.predict(TEXTS)))


@pytest.mark.parametrize("mode", ["adapters", "probe"])
def test_ways_to_adapt(mode: str, tuned: Any) -> None:
    plain = tuned("bert", "classification", mode=mode)
    assert all(map(same, plain.using("onnx").predict(TEXTS), plain.predict(TEXTS)))


def test_eight_bits_are_near(tuned: Any) -> None:
    plain = tuned("bert", "regression", width=64)
    expected, found = (np.array([one["score"] for one in model.predict(TEXTS)]) for model in (plain, plain.using("onnx-int8")))
    assert 0 < np.abs(found - expected).max() < 0.1 * np.abs(expected).max()


def test_a_directory_is_opened_with_a_runtime(tuned: Any, tmp_path: Path) -> None:
    plain = tuned("bert", "classification")
    plain.save(tmp_path / "model")
    onnx = load(tmp_path / "model", runtime="onnx")
    assert same(onnx.predict(TEXTS), plain.predict(TEXTS))
    np.testing.assert_allclose(onnx.embed(TEXTS), plain.embed(TEXTS), atol=1e-4)
    with pytest.raises(PlumeError, match="no runtime 'onx'"):
        load(tmp_path / "model", runtime="onx")


def test_what_has_no_graph_says_so(tuned: Any) -> None:
    with pytest.raises(PlumeError, match="Recurrent networks"):
        tuned("ulmfit", "classification").using("onnx")
    with pytest.raises(PlumeError, match="Recurrent networks"):
        tuned("bert", "ner", mode="features").using("onnx")
