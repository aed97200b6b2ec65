"""Answers without a model: the most frequent one, and that of the nearest question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

_AT_ONCE = 256  # questions, so that their similarities to all others fit memory


def frequent_answer(answers: Sequence[str]) -> str:
    """Of equally frequent ones the first.

    >>> frequent_answer(["yes", "no", "no"])
    'no'
    """
    return Counter(answers).most_common(1)[0][0]


def nearest_answers(known: Sequence[str], answers: Sequence[str], asked: Sequence[str]) -> list[str]:
    """For each question the answer to the known one that is nearest by TF-IDF of one to three characters, in words.

    >>> nearest_answers(["who are you?", "where is it?"], ["a bird", "there"], ["where are they?", "who are they?"])
    ['there', 'a bird']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True)
    try:
        table = vectorizer.fit_transform(known)
    except ValueError:  # nothing but spaces
        return [frequent_answer(answers)] * len(asked)
    vectors = vectorizer.transform(asked)
    found: list[int] = []
    for first in range(0, len(asked), _AT_ONCE):
        found += np.asarray((vectors[first : first + _AT_ONCE] @ table.T).argmax(axis=1)).ravel().tolist()
    return [answers[number] for number in found]
