"""Which model made the vectors of an index: what it is recognised by, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from plume.core.embedder import Embedder
from plume.core.files import read_json
from plume.core.identity import folder_hash

_PROBES = ("A sentence to know a model by.", "用来认出一个模型的句子。")
_SAME = 0.999  # cosine: threads and precision may move a vector a little


def folder_fingerprint(folder: Path) -> dict[str, Any]:
    """Of a model directory: a hash of its weights, tokenizer and sentence.json, and what the last says."""
    sentence = folder / "sentence.json"
    said = read_json(sentence, "how a model's sentence vectors are made") if sentence.is_file() else None
    return {"path": str(folder.absolute()), "hash": folder_hash(folder), "sentence": said}


def probe(model: Embedder) -> dict[str, Any]:
    """Of a model in Python: its vectors of two sentences."""
    return {"probe": [[round(float(value), 6) for value in row] for row in model.embed(list(_PROBES))]}


def same_model(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Do both fingerprints belong to the same model?"""
    if "hash" in one and "hash" in other:
        return bool(one["hash"] == other["hash"])
    if "probe" not in one or "probe" not in other:
        return False
    first, second = np.array(one["probe"]), np.array(other["probe"])
    if first.shape != second.shape:
        return False
    cosine = (first * second).sum(axis=1) / np.maximum(np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1), 1e-12)
    return bool((cosine >= _SAME).all())
