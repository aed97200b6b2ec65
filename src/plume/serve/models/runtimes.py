"""Which runtime embeds with a model: the one that was asked for, or the fastest that agrees with torch."""

from __future__ import annotations

import logging
import time
from typing import TypeVar

import numpy as np

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.model.use.runtimes._preferred import missing_library

Network = TypeVar("Network", bound=Embedder)
LOG = logging.getLogger("plume.serve")
AGREES = 0.99  # cosine with torch's vectors, of every text
_TEXTS = (
    "A request as it comes.", "The second text is somewhat longer than the first one, as texts of users often are.", "短文本。",
    "这是一个稍微长一点的句子，用来比较几种运行方式。",
)  # fmt: skip
_ROUNDS = 7


def with_runtime(model: Network, name: str) -> tuple[Network, str]:
    """The model with that runtime, and the name of it; "auto" measures them. Where ONNX Runtime cannot run a model, torch does."""
    if name == "torch" or (name == "auto" and missing_library()):
        return model, "torch"
    if name.startswith("onnx") and (missing := missing_library()):
        raise PlumeError(f"{missing} is not installed: pip install 'plume-lm[onnx]', or use --runtime torch.")
    if name == "auto":
        return fastest(model)
    try:
        return _made(model, name), name
    except PlumeError as error:
        LOG.warning("runtime", extra={"said": {"runtime": "torch", "why": str(error)}})
        return model, "torch"


def fastest(model: Network) -> tuple[Network, str]:
    """Measured on a few texts, one at a time; the median of some rounds decides."""
    try:
        ours = model.embed(list(_TEXTS))
    except PlumeError:  # nothing below that embeds
        return model, "torch"
    best, seconds, name = model, _seconds(model), "torch"
    for other in ("onnx", "onnx-int8"):
        try:
            made = _made(model, other)
            theirs = made.embed(list(_TEXTS))
        except PlumeError:
            continue
        if _agreement(ours, theirs) >= AGREES and (taken := _seconds(made)) < seconds:
            best, seconds, name = made, taken, other
    return best, name


def _made(model: Network, name: str) -> Network:
    using = getattr(model, "using", None)
    if using is None:
        raise PlumeError("Only torch runs this kind of model.")
    made: Network = using(name)
    return made


def _seconds(model: Embedder) -> float:
    taken = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        for text in _TEXTS:
            model.embed(text)
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken))


def _agreement(one: np.ndarray, other: np.ndarray) -> float:
    """The smallest cosine of two vectors of the same text."""
    length = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(((one * other).sum(1) / np.maximum(length, 1e-12)).min())
