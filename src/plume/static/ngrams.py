"""fastText's character n-grams and their buckets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ngram_ids(word: str, *, shortest: int, longest: int, buckets: int) -> NDArray[np.int64]:
    """The buckets of a word's n-grams, in fastText's order, with repetitions (Bojanowski et al. 2017, section 3.2).

    N-grams are of UTF-8 characters of "<word>"; a lone "<" or ">" is none. The hash is FNV-1a, but over SIGNED bytes (dictionary.cc), which
    differs from the standard one for all that is not ASCII.

    >>> ngram_ids("猫", shortest=3, longest=6, buckets=2_000_000)
    array([1757861])
    """
    return ngram_lists([word], shortest=shortest, longest=longest, buckets=buckets)[1]


def ngram_lists(words: Sequence[str], *, shortest: int, longest: int, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same for many words at once: `ids[begin[w]:begin[w + 1]]` are those of word w."""
    from plume.static.kernels.ngrams import hash_stretches  # compiled code, loaded when first needed

    lengths = np.array([len(word) + 2 for word in words], np.int64)  # in characters, with < and >
    text = "".join(f"<{word}>" for word in words)
    raw = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    # Where each character begins: not a continuation byte.
    places = np.append(np.flatnonzero((raw & 0xC0) != 0x80), len(raw)).astype(np.int64)
    return hash_stretches(raw.view(np.int8), places, lengths, shortest, longest, buckets)


def word_hashes(words: Sequence[str]) -> NDArray[np.int32]:
    """fastText's hash of whole words, as the signed number in which its word n-grams keep it."""
    from plume.static.kernels.ngrams import hash_words

    raw = [word.encode("utf-8", "surrogatepass") for word in words]
    begin = np.concatenate([[0], np.cumsum([len(one) for one in raw])]).astype(np.int64)
    return hash_words(np.frombuffer(b"".join(raw), np.int8), begin).view(np.int32)
