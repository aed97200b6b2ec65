"""Static vectors as sentence-transformers' StaticEmbedding: a table of the tokenizer's tokens, whose mean is a text's vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from plume.core.errors import PlumeError
from plume.core.files import write_folder, write_json
from plume.hf.sentence_folders import MODULES, PACKAGE, write_layers
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_weights
from plume.static.model import WordModel
from plume.static.sif import Mean
from plume.vectors.sentence import SentenceVectors

_BODY = "0_StaticEmbedding"


def export_static(model: WordModel, out: Path) -> None:
    """The whole directory or nothing. Tokens without a vector count as zeros there, which changes a vector's length but not its direction."""
    sentence = model.sentence or SentenceVectors()
    if model.vectors.ngrams is not None or model.recipe.phrases is not None:
        raise PlumeError(f"{model.recipe.name} has n-grams or phrases, which a StaticEmbedding cannot hold.")
    if not isinstance(sentence.pooling, Mean | None):
        raise PlumeError("A StaticEmbedding is the plain mean of its tokens: weights by frequency cannot be exported.")
    rows = [model.vectors.index.get(token, -1) for token in model.tokenizer.tokens()]
    table = np.zeros((len(rows), model.vectors.dimension), np.float32)
    known = np.array(rows) >= 0
    table[known] = model.vectors.matrix[np.array(rows)[known]]

    def fill(folder: Path) -> None:
        (folder / _BODY).mkdir()
        save_weights(folder / _BODY / WEIGHTS, {"embedding.weight": torch.from_numpy(table)})
        model.tokenizer.save(folder / _BODY / TOKENIZER)
        layers = write_layers(folder, sentence, model.vectors.dimension, first=1)
        modules = [("StaticEmbedding", _BODY), *layers]
        write_json(
            folder / MODULES,
            [
                {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
                for number, (kind, path) in enumerate(modules)
            ],
        )
        write_json(folder / PACKAGE, {"similarity_fn_name": sentence.similarity.value})

    write_folder(out, fill)
