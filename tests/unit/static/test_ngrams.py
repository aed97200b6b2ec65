"""fastText's n-grams against fastText itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from plume.static.ngrams import ngram_ids, ngram_lists, word_hashes

WORDS = ["banana", "a", "<", "naïve", "北京大学", "猫", "A股", "😀x", "don't"]


def text_ngrams(word: str, *, shortest: int, longest: int) -> Iterator[str]:
    """The n-grams themselves, in the same order, written slowly."""
    whole = f"<{word}>"
    for begin, size in itertools.product(range(len(whole)), range(shortest, longest + 1)):
        if begin + size <= len(whole) and not (size == 1 and begin in (0, len(whole) - 1)):
            yield whole[begin : begin + size]


def fnv(text: str, *, signed: bool) -> int:
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ ((byte - 256 if byte > 127 else byte) % 2**32 if signed else byte)) * 16777619) % 2**32
    return value


@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 2), (1, 1), (2, 9)])
def test_ids_are_the_signed_hash_of_each_ngram(shortest: int, longest: int) -> None:
    begin, ids = ngram_lists(WORDS, shortest=shortest, longest=longest, buckets=1999)
    for number, word in enumerate(WORDS):
        expected = [fnv(ngram, signed=True) % 1999 for ngram in text_ngrams(word, shortest=shortest, longest=longest)]
        assert ids[begin[number] : begin[number + 1]].tolist() == expected
    assert fnv("cat", signed=True) == fnv("cat", signed=False)
    assert fnv("猫", signed=True) != fnv("猫", signed=False)


def test_a_word_without_ngrams_has_none() -> None:
    assert ngram_ids("a", shortest=4, longest=6, buckets=10).tolist() == []
    assert ngram_ids("", shortest=1, longest=2, buckets=10).size == 1  # "<>" alone: neither "<" nor ">" is an n-gram


def test_word_hashes_have_a_sign() -> None:
    assert word_hashes(["banana", "猫", ""]).tolist() == [
        np.uint32(fnv(word, signed=True)).astype(np.int32) for word in ("banana", "猫", "")
    ]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory):
    fasttext = pytest.importorskip("fasttext")
    path = tmp_path_factory.mktemp("fasttext") / "text.txt"
    Path(path).write_text("the cat sat on the mat\n" * 20, encoding="utf-8")
    return lambda **settings: fasttext.train_unsupervised(
        str(path), dim=2, epoch=1, thread=1, minCount=1, bucket=5003, verbose=0, **settings
    )


@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 3)])
def test_ids_are_fasttexts_own(theirs, shortest: int, longest: int) -> None:
    model = theirs(minn=shortest, maxn=longest)
    for word in WORDS:
        ngrams, ids = model.get_subwords(word)
        assert ngrams == list(text_ngrams(word, shortest=shortest, longest=longest))
        assert (np.array(ids) - len(model.words)).tolist() == ngram_ids(word, shortest=shortest, longest=longest, buckets=5003).tolist()
