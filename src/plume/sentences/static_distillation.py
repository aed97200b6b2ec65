"""Static vectors out of an encoder: every token is read alone, so that a text costs a look-up (model2vec; Tulkens and van Dongen 2024).

Tokens are weighted by a / (a + p) with p counted in a corpus. model2vec takes p from the token's id, as if ids were ranks: those of a Chinese
BERT are code points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.files import write_folder
from plume.hf.importing import check_free
from plume.model.use.language_model import LanguageModel
from plume.nn.pooling import Pooling
from plume.sentences.embedding import CHUNK
from plume.static.model import WordModel, save_model
from plume.static.reading import as_words
from plume.static.recipe import Word2Vec
from plume.static.sif import SIF
from plume.static.text import Vocabulary
from plume.text.tokenizer import Tokenizer
from plume.tuning.loaded import load
from plume.tuning.tuned import TunedModel
from plume.vectors.corpus_texts import chunks, stream_texts
from plume.vectors.sentence import SentenceVectors
from plume.vectors.transforms.normalise import Normalise
from plume.vectors.transforms.principal_components import PrincipalComponents

_AT_ONCE = 256  # tokens, a row each
Floats = NDArray[np.float32]


def distil_static(
    model: Path, files: Sequence[str], out: Path, *, dimensions: int = 256, smoothing: float = SIF.smoothing, column: str | None = None
) -> WordModel:
    """A directory of static vectors at `out`, one for each token of `model`. The corpus says how frequent tokens are; `smoothing` is the a of their
    weights."""
    check_free(out)
    opened = load(model)
    loaded = opened.embedder if isinstance(opened, TunedModel) else opened
    if not isinstance(loaded, LanguageModel) or loaded.model.spells:
        raise PlumeError(f"{model} is no network that reads tokens: static vectors are distilled from one.")
    tokenizer = loaded.tokenizer
    counts = _counts(tokenizer, files, column)
    plain = np.setdiff1d(np.arange(tokenizer.size), tokenizer.special_ids)
    plain = plain[np.argsort(-counts[plain], kind="stable")]
    rows = _alone(loaded, plain)
    reduced = PrincipalComponents(dimensions=min(dimensions, rows.shape[1])).fit(rows).apply(rows)
    share = counts[plain] / counts.sum()
    weighted = reduced * (smoothing / (smoothing + share)).astype(np.float32)[:, None]
    recipe = Word2Vec(size="distilled", title=f"static vectors distilled from {loaded.recipe.name}", dimension=weighted.shape[1])
    vocabulary = Vocabulary(words=tuple(tokenizer.token(int(number)) for number in plain), counts=counts[plain])
    sentence = SentenceVectors(transforms=(Normalise(),), fitted_on=tuple(Path(file).name for file in files))

    def fill(target: Path) -> None:
        save_model(target, recipe=recipe, tokenizer=as_words(tokenizer.backend), vocabulary=vocabulary, arrays={"word": weighted})
        sentence.save(target)

    if out.exists():
        out.rmdir()
    write_folder(out, fill)
    return WordModel.load(out)


def _counts(tokenizer: Tokenizer, files: Sequence[str], column: str | None) -> NDArray[np.int64]:
    counts = np.zeros(tokenizer.size, np.int64)
    for some in chunks(stream_texts(files, column=column), CHUNK):
        ids = np.array([number for row in tokenizer.encode(some) for number in row], np.int64)
        counts += np.bincount(ids, minlength=len(counts))
    if not counts.any():
        raise PlumeError("There is no text to count tokens in: give some with --text.")
    return counts


@torch.inference_mode()
def _alone(loaded: LanguageModel, ids: NDArray[np.int64]) -> Floats:
    """[V, D] each token framed as a text of its own, pooled as the model pools."""
    own = None if loaded.sentence is None else loaded.sentence.pooling
    pooling = own if isinstance(own, Pooling) else Pooling(tokens=(loaded.model.pooling,))
    found = []
    for first in range(0, len(ids), _AT_ONCE):
        framed = [loaded.abilities.frame([int(number)]) for number in ids[first : first + _AT_ONCE]]
        layers = loaded.runtime.layers(Batch(tokens=torch.tensor(framed, device=loaded.device)), last_only=pooling.last_only)
        found.append(pooling.build([one.shape[-1] for one in layers])(layers, None).float().cpu().numpy())
    return np.concatenate(found)
