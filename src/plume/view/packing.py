"""Attention as a page holds it: bytes, an array for each head, so that only what is seen is ever decoded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.view.recording.attention import AttentionMap

_FINE = 4_000_000  # up to so many values of queries, keys or biases two bytes each, beyond it one


def packed_map(one: AttentionMap, *, neurons: bool) -> dict[str, Any]:
    """For the scripts; with `neurons` also queries, keys and biases."""
    size = sum(layer.size for layer in (one.query + one.key if all(bias is None for bias in one.bias) else one.probability))
    layers = []
    for layer in range(len(one.probability)):
        heads: list[dict[str, Any]] = [{"p": probability_bytes(probability)} for probability in one.probability[layer]]
        for head, made in enumerate(heads if neurons else ()):
            bias = one.bias[layer]
            made |= {"q": levels(one.query[layer][head], size), "k": levels(one.key[layer][head], size)}
            if bias is not None:
                made["b"] = levels(bias[head], size)
        layers.append(heads)
    return {
        "place": one.place.value, "rows": one.rows, "rowText": one.row_text, "columns": one.columns, "columnText": one.column_text,
        "layers": layers, "scale": one.scale, "position": one.position, "neurons": neurons,
    }  # fmt: skip


def probability_bytes(probability: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The square root in 255 steps: a share of 1/65,025 can still be told from none.

    >>> probability_bytes(np.array([0.0, 0.0001, 0.25, 1.0], np.float32)).tolist()
    [0, 3, 128, 255]
    """
    return np.rint(np.sqrt(probability) * 255).astype(np.uint8)


def levels(values: NDArray[np.float32], size: int) -> dict[str, Any]:
    """Whole numbers and the step between two; what is not finite counts as nothing."""
    values = np.where(np.isfinite(values), values, 0)
    kind, most = (np.int16, 32767) if size <= _FINE else (np.int8, 127)
    step = float(np.abs(values).max()) / most or 1.0
    return {"step": step, "values": np.rint(values / step).astype(kind)}
