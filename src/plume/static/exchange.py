"""Word vectors in and out of other tools' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from plume.core.errors import PlumeError, suggest
from plume.core.files import write_folder
from plume.static.formats.detect import open_vectors
from plume.static.formats.fasttext import FastTextFile, fasttext_args, is_fasttext, read_fasttext, write_fasttext
from plume.static.formats.word2vec import write_word2vec_binary, write_word2vec_text
from plume.static.model import WEIGHTS, WordModel, read_arrays, save_model
from plume.static.reading import WORDS
from plume.static.recipe import Architecture, FastText, StaticLoss, StaticRecipe, Word2Vec
from plume.static.text import Vocabulary
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import finish

FORMATS = ("word2vec", "word2vec-binary", "fasttext")


def export_vectors(folder: Path, out: Path, *, to: str | None = None) -> str:
    """Write a run's vectors as one file; the format is that of the name (.bin), if not said. Returns the format."""
    model = WordModel.load(folder)
    binary = "fasttext" if isinstance(model.recipe, FastText) else "word2vec-binary"
    to = to or (binary if out.suffix == ".bin" else "word2vec")
    if to not in FORMATS:
        raise PlumeError(f"Word vectors have no format '{to}': {suggest(to, FORMATS)}.")
    if to == "word2vec":
        write_word2vec_text(out, model.vectors)
    elif to == "word2vec-binary":
        write_word2vec_binary(out, model.vectors)
    else:
        write_fasttext(out, _fasttext_file(model, folder))
    return to


def _fasttext_file(model: WordModel, folder: Path) -> FastTextFile:
    recipe, vectors = model.recipe, model.vectors
    if not isinstance(recipe, FastText) or vectors.counts is None:
        raise PlumeError(
            f"{recipe.name} has no n-grams: only fasttext's vectors can be written as fastText's .bin; use --to word2vec-binary."
        )
    arrays = read_arrays(folder / WEIGHTS)
    args = fasttext_args(
        dim=recipe.dimension, ws=recipe.window, epoch=recipe.epochs, minCount=recipe.least, neg=recipe.negatives,
        loss="hs" if recipe.loss is StaticLoss.HIERARCHICAL_SOFTMAX else "ns", model="cbow" if recipe.architecture is Architecture.CBOW else "sg",
        bucket=recipe.buckets, minn=recipe.shortest, maxn=recipe.longest, t=recipe.sample,
    )  # fmt: skip
    return FastTextFile(
        args=args,
        words=vectors.words,
        counts=vectors.counts,
        label_counts=np.zeros(0, np.int64),
        tokens=int(vectors.counts.sum()),
        input=np.concatenate([arrays["word"], arrays["ngram"]]),
        output=arrays["output"],
    )


def import_vectors(path: Path, out: Path) -> WordModel:
    """A file of vectors as a model directory: word2vec's or GloVe's text, word2vec's binary, fastText's .bin."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")
    recipe: StaticRecipe
    if is_fasttext(path):
        file = read_fasttext(path)
        if file.labels:
            raise PlumeError(f"{path} is a fastText classifier, whose rows are no word vectors: give one made by skipgram or cbow.")
        words, counts, size = file.words, file.counts, len(file.words)
        arrays = {"word": file.input[:size], "ngram": file.input[size:], "output": file.output}
        recipe = _fasttext_recipe(file)
        if not isinstance(recipe, FastText):
            arrays = {"word": file.input[:size]}
    else:
        vectors = open_vectors(path)
        words, arrays = vectors.words, {"word": vectors.matrix}
        counts = np.zeros(len(words), np.int64) if vectors.counts is None else vectors.counts  # the file does not say
        recipe = Word2Vec(size="imported", title=f"vectors imported from {path.name}", dimension=vectors.dimension)
    tokenizer, vocabulary = _tokenizer(words), Vocabulary(words=words, counts=counts)
    write_folder(out, lambda target: save_model(target, recipe=recipe, tokenizer=tokenizer, vocabulary=vocabulary, arrays=arrays))
    return WordModel.load(out)


def _fasttext_recipe(file: FastTextFile) -> Word2Vec:
    """The settings that the file names; one made without n-grams is word2vec's kind."""
    args = file.args
    shared: dict[str, Any] = {
        "size": "imported", "title": "fastText's vectors, imported", "dimension": file.input.shape[1], "window": int(args["ws"]),
        "epochs": int(args["epoch"]), "least": int(args["minCount"]), "negatives": int(args["neg"]), "sample": float(args["t"]),
        "architecture": Architecture.CBOW if args["model"] == "cbow" else Architecture.SKIP_GRAM,
        "loss": StaticLoss.HIERARCHICAL_SOFTMAX if args["loss"] == "hs" else StaticLoss.NEGATIVE_SAMPLING,
    }  # fmt: skip
    if int(args["maxn"]) < 1 or int(args["bucket"]) < 1:
        return Word2Vec(**shared)
    return FastText(**shared, shortest=int(args["minn"]), longest=int(args["maxn"]), buckets=int(args["bucket"]))


def _tokenizer(words: tuple[str, ...]) -> Tokenizer:
    """Cuts as ours do: the file does not say how its text was cut."""
    specials = [token for token in WORDS.specials() if token not in set(words)]
    made = tokenizers.Tokenizer(
        models.WordLevel(vocab={word: number for number, word in enumerate((*specials, *words))}, unk_token="<unk>")
    )
    made.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Tokenizer(finish(made, WORDS, also="<unk>"), format=WORDS)
