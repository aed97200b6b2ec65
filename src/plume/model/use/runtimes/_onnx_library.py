"""The one place where onnx and ONNX Runtime are imported."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plume.core.errors import PlumeError

_HINT = "pip install 'plume-lm[onnx]'"


def library(name: str) -> Any:
    """onnx, onnxruntime or a module of them."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise PlumeError(f"{name} is not installed: {_HINT}, or use the runtime torch.") from None


@contextmanager
def quiet() -> Iterator[None]:
    """The exporters talk a lot."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(level)
