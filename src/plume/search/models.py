"""The model of an index: loaded, known by its fingerprint, refused if it is another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.search.fingerprint import folder_fingerprint, probe, same_model
from plume.search.settings import IndexSettings, Metric
from plume.vectors.sentence import Similarity

Model = str | Path | Embedder


def load_embedder(model: Model) -> Embedder:
    """Of a model directory; whatever embeds is returned as it is."""
    if not isinstance(model, str | Path):
        return model
    from plume.tuning.loaded import load

    if not Path(model).is_dir():
        raise PlumeError(f"There is no model directory {model}.")
    return load(model)


def usual_metric(embedder: Embedder | None) -> Metric:
    """As the model's vectors are meant to be compared."""
    sentence = getattr(embedder, "sentence", None)
    return Metric.PRODUCT if getattr(sentence, "similarity", None) is Similarity.DOT else Metric.COSINE


def fingerprint_of(model: Model, embedder: Embedder, like: dict[str, Any] | None = None) -> dict[str, Any]:
    """Of a directory a hash; of an object, or to be compared with one, its vectors of two sentences."""
    if isinstance(model, str | Path):
        return folder_fingerprint(Path(model)) | (probe(embedder) if like is None or "hash" not in like else {})
    return probe(embedder)


def model_of(folder: Path, settings: IndexSettings, given: Model | None) -> Embedder:
    """The model that made the vectors of an index, or what was given in its place, if it is the same."""
    known = settings.model
    model: Model | None = given if given is not None else (known or {}).get("path")
    if model is None:
        raise PlumeError(
            f"{folder} does not know the model that embeds queries: its vectors came {'ready' if known is None else 'from Python'}. "
            "Give it: --model MODEL, or Index.open(…, model=…); or search --by words."
        )
    if isinstance(model, str | Path) and not Path(model).is_dir():
        raise PlumeError(f"The model of {folder} is not at {model}: say where it is with --model, or search --by words.")
    embedder = load_embedder(model)
    if known is not None and not same_model(known, fingerprint_of(model, embedder, like=known)):
        raise PlumeError(
            f"{model if isinstance(model, str | Path) else 'This model'} did not make the vectors of {folder} "
            f"(those are of {known.get('path', 'a model in Python')}, as it was then): vectors of two models cannot be compared. "
            f"Embed the index again: plume index embed-again {folder} --model MODEL; or give the model that made it."
        )
    if embedder.width != settings.dimension:
        raise PlumeError(f"The model's vectors have {embedder.width} dimensions, those of {folder} {settings.dimension}.")
    return embedder
