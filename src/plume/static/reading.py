"""From the store to what the trainers of word vectors read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import clear_disk_errors, make_folder
from plume.data.store import Store
from plume.static.phrases import Phrases
from plume.static.text import LONGEST_SENTENCE, Vocabulary, WordText
from plume.text.format import Format
from plume.text.tokenizer import Tokenizer

# What is not a word: padding and unknown words; and the separator that the store puts between documents.
WORDS = Format(pad="<pad>", unknown="<unk>", begin=None, separator="</s>", mask=None, single=("A",), pair=("A", "B"))
_AT_ONCE = 1 << 22  # tokens


def as_words(cutting: Any) -> Tokenizer:
    """The same cuts as those of a tokenizer of the tokenizers library; what is not a word is told by the special tokens of word vectors."""
    import tokenizers

    backend = tokenizers.Tokenizer.from_str(cutting.to_str())
    backend.post_processor = None
    backend.no_truncation()
    backend.add_special_tokens([token for token in WORDS.specials() if backend.token_to_id(token) is None])
    return Tokenizer(backend, format=WORDS)


def read_vocabulary(store: Store, tokenizer: Tokenizer) -> Vocabulary:
    """The words of the training text by falling count; of equally frequent ones the first in the tokenizer."""
    counts = _word_counts(store, tokenizer)
    ids = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    if len(ids) < 2:
        found = f"only '{tokenizer.token(int(ids[0]))}'" if len(ids) else "none"
        raise PlumeError(
            f"Word vectors need at least two different words in the training text, and {found} is frequent enough: add text, or lower "
            "the count a word must reach (--set least=1)."
        )
    return Vocabulary(words=tuple(tokenizer.token(int(number)) for number in ids), counts=counts[ids])


def read_text(store: Store, vocabulary: Vocabulary, tokenizer: Tokenizer, path: Path) -> WordText:
    """The store's sentences as word numbers, without what the vocabulary lacks; written to `path` and mapped from there.

    Text without sentence ends is read whole: where it was cut for others, a window reaches over the cut.
    """
    number = np.full(tokenizer.size, -1, np.int32)
    for word, place in vocabulary.index.items():
        found = tokenizer.id(word)
        if found is not None:
            number[found] = place
    number[tokenizer.special_ids] = -1
    kept = np.zeros(len(store.tokens) + 1, np.int64)  # words kept before each token
    make_folder(path.parent)
    with clear_disk_errors(path), path.open("wb") as file:
        for begin in range(0, len(store.tokens), _AT_ONCE):
            ids = number[np.asarray(store.tokens[begin : begin + _AT_ONCE])]
            kept[begin + 1 : begin + len(ids) + 1] = ids >= 0
            ids[ids >= 0].tofile(file)
    np.cumsum(kept, out=kept)
    ids = np.memmap(path, np.int32, "r") if kept[-1] else np.zeros(0, np.int32)
    begins = ~np.asarray(store.sentence_continued)
    begins[np.asarray(store.document_start[:-1])] = True
    start = _without_empty(kept[np.asarray(store.sentence_start)[begins]], int(kept[-1]))
    return WordText(ids=ids, start=_bounded(start))


def without_rare(text: WordText, vocabulary: Vocabulary, least: int) -> tuple[WordText, Vocabulary]:
    """What phrases left of a word may be too rare to keep."""
    kept = int((vocabulary.counts >= least).sum())  # counts fall
    if kept == len(vocabulary):
        return text, vocabulary
    stays = np.asarray(text.ids) < kept
    start = np.concatenate([[0], np.cumsum(stays)])[text.start]
    fewer = Vocabulary(words=vocabulary.words[:kept], counts=vocabulary.counts[:kept])
    return WordText(ids=np.asarray(text.ids)[stays], start=np.unique(start).astype(np.int64)), fewer


def join_phrases(text: WordText, phrases: Phrases, before: Vocabulary, after: Vocabulary) -> WordText:
    """A text of the vocabulary before phrases were joined, with the phrases of the one after; for held-out text, which is short."""
    sentences = [
        [
            number
            for word in phrases.join([before.words[i] for i in ids.tolist()], after.index)
            if (number := after.index.get(word, -1)) >= 0
        ]
        for ids in np.split(np.asarray(text.ids), text.start[1:-1])
    ]
    joined = np.array([number for sentence in sentences for number in sentence], np.int32)
    return WordText(ids=joined, start=np.unique(np.cumsum([0, *(len(sentence) for sentence in sentences)])).astype(np.int64))


def _word_counts(store: Store, tokenizer: Tokenizer) -> NDArray[np.int64]:
    counts = np.zeros(tokenizer.size, np.int64)
    counts[: len(store.counts)] = store.counts[: tokenizer.size]
    counts[tokenizer.special_ids] = 0
    return counts


def _bounded(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same with what is longer than word2vec.c's longest sentence cut there, so that text without any end can be shared out.

    >>> _bounded(np.array([0, 2500, 2600])).tolist()
    [0, 1000, 2000, 2500, 2600]
    """
    length = np.diff(start)
    parts = np.maximum(-(-length // LONGEST_SENTENCE), 1)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(np.repeat(start[:-1], parts) + LONGEST_SENTENCE * within, start[-1:]).astype(np.int64)


def _without_empty(start: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Where sentences begin and the last one ends; those that lost all of their words are gone.

    >>> _without_empty(np.array([0, 2, 2, 5, 7]), 7).tolist()
    [0, 2, 5, 7]
    """
    return np.unique(np.append(start, total))
