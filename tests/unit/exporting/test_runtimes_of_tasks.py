"""Tuned models by ONNX Runtime: the same answers as torch's, nearly the same with 8-bit weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plume.core.errors import PlumeError
from plume.tuning.loaded import load

from .conftest import ITEMS, TASKS

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
    items = ITEMS[task]
    expected, found = plain.predict(items), plain.using("onnx").predict(items)
    assert all(map(same, found, expected))
    assert same(plain.using("onnx").predict(items[:1]), expected[:1])


@pytest.mark.parametrize(
    "family", ["roberta", "electra", "albert", "nezha", "xlnet", "gpt2", "gpt", "unilm", "mpnet", "ernie", "xlm", "bart", "t5", "glm", "transformer_xl"]
)
@pytest.mark.parametrize("task", ["classification", "ner-crf", "qa"])
def test_families(family: str, task: str, tuned: Any) -> None:
    plain = tuned(family, task)
    items = [item for item in ITEMS[task] if item] if family == "xlm" else ITEMS[task]
    assert all(map(same, plain.using("onnx").predict(items), plain.predict(items)))
