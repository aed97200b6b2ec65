"""What a model directory holds, opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel, is_word_model
from plume.tuning.declared import is_tuned
from plume.tuning.linear.model import LinearModel, is_linear
from plume.tuning.tuned import TunedModel

Loaded = LanguageModel | WordModel | TunedModel
if TYPE_CHECKING:
    _EMBEDDERS: list[type[Embedder]] = [LanguageModel, WordModel, TunedModel]  # mypy holds each to the protocol


def load(folder: str | Path, *, device: str = "cpu", runtime: str = "torch") -> Loaded:
    """A model directory: a `LanguageModel` (embed, fill, generate, score, hidden), a `WordModel` (embed, most_similar, analogy, similarity), or
    a `TunedModel` (predict, evaluate). `runtime` is what a network embeds and answers with: torch, onnx, onnx-int8."""
    if is_tuned(Path(folder)):
        return load_tuned(folder, device=device, runtime=runtime)
    if not is_word_model(Path(folder)):
        return LanguageModel.load(folder, device=device, runtime=runtime)
    if runtime != "torch":
        raise PlumeError(f"{folder} holds word vectors, which are read from a table: --runtime is for networks.")
    return WordModel.load(folder)


def load_tuned(folder: str | Path, *, device: str = "cpu", runtime: str = "torch") -> TunedModel:
    """A model that was tuned for a task: a network or word vectors with its heads, or a linear model of terms."""
    kind = LinearModel if is_linear(Path(folder)) else TunedModel
    return kind.load(folder, device=device, runtime=runtime)
