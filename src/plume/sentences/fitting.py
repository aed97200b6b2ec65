"""Fitting the transforms of sentence vectors to a corpus: the model stays as it is, and gets a sentence.json."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import write_folder
from plume.core.part import Part, replace
from plume.nn.pooling import Pooling
from plume.sentences.embedding import CHUNK
from plume.static.model import WordModel
from plume.static.sif import SIF
from plume.tuning.linear.model import is_linear
from plume.tuning.loaded import Loaded, load
from plume.tuning.tuned import TunedModel
from plume.vectors.corpus_texts import chunks, stream_texts
from plume.vectors.sentence import ARRAYS, SENTENCE, SentenceVectors, Similarity
from plume.vectors.transform import Transform

_KEPT = (".json", ".safetensors", ".tsv", ".md")  # of a model directory; a run's checkpoints and logs stay where they are


def fit_sentences(
    model: Path,
    files: Sequence[str],
    out: Path,
    *,
    pooling: Part | None = None,
    transforms: Sequence[Transform] = (),
    prompt: str | None = None,
    similarity: Similarity | None = None,
    column: str | None = None,
    device: str = "cpu",
    told: Callable[[str], object] = lambda line: None,
) -> SentenceVectors:
    """A copy of `model` at `out` that makes its vectors so. The pooled vectors of the corpus lie on disk meanwhile, not in memory."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")
    if is_linear(model):
        raise PlumeError(f"{model} was made of a task's examples alone: there is no model below to embed with.")
    if any(one.learns for one in transforms) and not files:
        raise PlumeError("What is fitted needs text: give it with --text.")
    loaded = load(model, device=device)
    before = loaded.sentence or SentenceVectors()
    declared = replace(
        before,
        pooling=_fitting(loaded, pooling) if pooling is not None else before.pooling,
        transforms=tuple(transforms),
        prompt=before.prompt if prompt is None else prompt,
        similarity=similarity or before.similarity,
    )
    fitted = _fitted(loaded, declared, files, column, told) if files else declared

    def fill(target: Path) -> None:
        for file in sorted(model.iterdir()):
            if file.is_file() and file.suffix in _KEPT and file.name not in (SENTENCE, ARRAYS):
                shutil.copyfile(file, target / file.name)
        fitted.save(target)

    if out.exists():
        out.rmdir()
    write_folder(out, fill)
    return fitted


def _fitting(loaded: Loaded, pooling: Part) -> Part:
    """A network pools tokens of layers, word vectors weigh words."""
    words = isinstance(loaded.embedder if isinstance(loaded, TunedModel) else loaded, WordModel)
    if isinstance(pooling, SIF) and not words:
        raise PlumeError("--sif weighs words by how frequent they are: it is for word vectors. For a network use --whiten or --pca.")
    if isinstance(pooling, Pooling) and words:
        raise PlumeError("Word vectors have neither tokens nor layers to pool: leave out --pooling and --layers.")
    return pooling


def _fitted(
    loaded: Loaded, declared: SentenceVectors, files: Sequence[str], column: str | None, told: Callable[[str], object]
) -> SentenceVectors:
    pooled = replace(declared, transforms=(), fitted_on=(), sentences=0)
    loaded.sentence = pooled
    with tempfile.TemporaryFile() as held:
        count, width = 0, 0
        texts = (text for text in stream_texts(files, column=column) if text.strip())
        for some in chunks(texts, CHUNK):
            vectors = loaded.embed(some)
            held.write(np.ascontiguousarray(vectors, np.float32).data)
            count, width = count + len(some), vectors.shape[1]
        if not count:
            raise PlumeError(f"{' and '.join(files)}: there is no text to fit to.")
        held.flush()
        rows = np.memmap(held, np.float32, mode="r", shape=(count, width))
        for line in declared.advice(count, width):
            told(line)
        return declared.fit(rows, on=[Path(file).name for file in files])
