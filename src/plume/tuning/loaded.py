"""What a model directory holds, opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._preferred import OtherLayersByTorch, preferred_runtime
from plume.static.model import WordModel, is_word_model
from plume.tuning.declared import is_tuned
from plume.tuning.linear.model import LinearModel, is_linear
from plume.tuning.tuned import TunedModel

Loaded = LanguageModel | WordModel | TunedModel
Network = TypeVar("Network", LanguageModel, TunedModel)
if TYPE_CHECKING:
    _EMBEDDERS: list[type[Embedder]] = [LanguageModel, WordModel, TunedModel]  # mypy holds each to the protocol


def load(folder: str | Path, *, device: str = "cpu", runtime: str | None = None) -> Loaded:
    """A model directory: a `LanguageModel` (embed, fill, generate, score, hidden), a `WordModel` (embed, most_similar, analogy, similarity), or
    a `TunedModel` (predict, evaluate). `runtime` is what a network embeds and answers with: torch, onnx, onnx-int8, torch-int8; None: what its
    directory prefers, where that is installed and fits, else torch."""
    if is_tuned(Path(folder)):
        return load_tuned(folder, device=device, runtime=runtime)
    if not is_word_model(Path(folder)):
        whole = LanguageModel.load(folder, device=device, runtime=runtime or "torch")
        return whole if runtime else preferring(whole, preferred_runtime(Path(folder)))
    if runtime not in (None, "torch"):
        raise PlumeError(f"{folder} holds word vectors, which are read from a table: --runtime is for networks.")
    return WordModel.load(folder)


def load_tuned(folder: str | Path, *, device: str = "cpu", runtime: str | None = None) -> TunedModel:
    """A model that was tuned for a task: a network or word vectors with its heads, or a linear model of terms."""
    kind = LinearModel if is_linear(Path(folder)) else TunedModel
    whole = kind.load(folder, device=device, runtime=runtime or "torch")
    return whole if runtime else preferring(whole, preferred_runtime(Path(folder)))


def preferring(model: Network, runtime: str) -> Network:
    """The same model, answering by this runtime as far as it can: where it does not fit, or other layers are asked for, torch computes."""
    if runtime == "torch":
        return model
    try:
        made = model.using(runtime)
    except PlumeError:
        return model
    below = made if isinstance(made, LanguageModel) else made.body
    below.runtime = OtherLayersByTorch(below.runtime, below.model, below.tokenizer)
    return made
