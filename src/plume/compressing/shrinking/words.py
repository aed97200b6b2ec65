"""Fewer words: the rows of word vectors that belong to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import replace
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.static.model import VOCABULARY, WEIGHTS, WordModel, read_arrays, read_words, save_model
from plume.static.text import Vocabulary
from plume.text.fewer_tokens import Ids, with_tokens
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.word_body import WordBody


def frequent_words(model: WordModel, texts: Iterable[str], at_least: int) -> set[str]:
    """Words and phrases that are looked up so often for these texts: a phrase is no token."""
    if model.recipe.phrases is None:
        return set()
    seen: Counter[str] = Counter()
    for text in texts:
        seen.update(model.words(text))
    return {word for word, times in seen.items() if times >= at_least}


def word_body_with(model: WordModel, kept: Ids, also: Set[str]) -> tuple[WordBody, Tokenizer]:
    """The body of a tuned model with the rows of these words alone; others have a vector of their n-grams yet, where there are some (fastText)."""
    vectors, fewer = model.vectors, with_tokens(model.tokenizer, kept)
    rows = _rows(model.tokenizer, kept, also, vectors.words)
    made = replace(
        vectors,
        words=tuple(vectors.words[row] for row in rows),
        counts=None if vectors.counts is None else vectors.counts[rows],
        matrix=np.ascontiguousarray(vectors.matrix[rows]),
    )
    return WordBody(made, recipe=model.recipe, tokenizer=fewer), fewer


def save_with_words(model: WordModel, source: Path, folder: Path, kept: Ids, also: Set[str]) -> None:
    """The model directory `source` with fewer words: the rows as they lie there, before n-grams are added to them."""
    vocabulary, arrays = read_words(source / VOCABULARY), read_arrays(source / WEIGHTS)
    rows = _rows(model.tokenizer, kept, also, vocabulary.words)
    fewer = Vocabulary(words=tuple(vocabulary.words[row] for row in rows), counts=vocabulary.counts[rows])
    arrays = {name: array[rows] if len(array) == len(vocabulary) and name != "ngram" else array for name, array in arrays.items()}
    save_model(folder, recipe=model.recipe, tokenizer=with_tokens(model.tokenizer, kept), vocabulary=fewer, arrays=arrays)
    if model.sentence is not None:
        model.sentence.save(folder)


def _rows(tokenizer: Tokenizer, kept: Ids, also: Set[str], known: Iterable[str]) -> list[int]:
    """Of the words that stay: those of tokens that stay, and phrases of several."""
    stays = {tokenizer.token(int(number)) for number in kept} | also
    rows = [row for row, word in enumerate(known) if word in stays]
    if not rows:
        raise PlumeError("None of the words with a vector occurs in this text: nothing would be left of the vocabulary. Give more text.")
    return rows
