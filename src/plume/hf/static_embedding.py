"""sentence-transformers' StaticEmbedding, in and out: a table of the tokenizer's tokens, whose mean is a text's vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from plume.core.errors import PlumeError
from plume.core.files import write_folder, write_json
from plume.core.part import replace
from plume.hf.importing import check_free
from plume.hf.sentence_folders import MODULES, PACKAGE, finishing, module_weights, modules_of, write_layers
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_weights
from plume.static.model import WordModel, save_model
from plume.static.reading import WORDS, as_words
from plume.static.recipe import Word2Vec
from plume.static.sif import Mean
from plume.static.text import Vocabulary
from plume.text.tokenizer_files import read_backend
from plume.vectors.sentence import SentenceVectors

_BODY = "0_StaticEmbedding"


def import_static(folder: Path, out: Path) -> WordModel:
    """Word vectors whose words are the tokens, the unknown one among them."""
    check_free(out)
    (_, body), *rest = modules_of(folder)
    table = module_weights(body)["embedding.weight"].float().numpy()
    tokenizer = read_backend(body / TOKENIZER, format=WORDS)
    ids = tokenizer.get_vocab(with_added_tokens=True)
    tokens = sorted(ids, key=ids.__getitem__)
    rows = [ids[token] for token in tokens]
    if rows[-1] >= len(table):
        raise PlumeError(f"The tokenizer in {body} has {len(tokens)} tokens, and the table {len(table)} rows: they do not belong together.")
    if broken := [token for token in tokens if "\n" in token or "\r" in token]:
        raise PlumeError(f"{body}: the token {broken[0]!r} has a line break in it, and plume keeps tokens a line each.")
    sentence = replace(finishing(folder, rest), longest=(tokenizer.truncation or {}).get("max_length"))
    recipe = Word2Vec(size="imported", title=f"static vectors imported from {folder.name}", dimension=table.shape[1])
    vocabulary = Vocabulary(words=tuple(tokens), counts=np.zeros(len(tokens), np.int64))  # it does not say how frequent they were

    def fill(target: Path) -> None:
        save_model(target, recipe=recipe, tokenizer=as_words(tokenizer), vocabulary=vocabulary, arrays={"word": table[rows]})
        sentence.save(target)

    if out.exists():
        out.rmdir()
    write_folder(out, fill)
    return WordModel.load(out)


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
