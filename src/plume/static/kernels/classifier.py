"""fastText's classifier: the rows of texts, and one pass of training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.sampling import helper, kernel
from plume.static.kernels.vector import add, dot, update

_SPREAD = np.uint64(116049371)  # dictionary.cc, addWordNgrams


class Paths(NamedTuple):
    """The way to each label in Huffman's tree, or none where the softmax is whole."""

    hierarchical: bool
    begin: NDArray[np.int64]
    points: NDArray[np.int32]
    labels: NDArray[np.float32]


@kernel
def text_rows(ids, start, known, ngram_begin, ngrams, end, hashes, longest, size, buckets):  # type: ignore[no-untyped-def]
    """Begins and rows of texts. A word outside the vocabulary has its character n-grams alone; every word takes part in word n-grams."""
    total = 0
    begin = np.zeros(len(start), np.int64)
    for text in range(len(start) - 1):
        length = start[text + 1] - start[text]
        for place in range(start[text], start[text + 1]):
            word = ids[place]
            total += (known[word] >= 0) + (0 if word == end else ngram_begin[word + 1] - ngram_begin[word])
        for more in range(1, longest):
            total += max(0, length - more)
        begin[text + 1] = total
    rows = np.empty(total, np.int64)
    made = 0
    for text in range(len(start) - 1):
        for place in range(start[text], start[text + 1]):
            word = ids[place]
            if known[word] >= 0:
                rows[made] = known[word]
                made += 1
            if word != end:
                for ngram in range(ngram_begin[word], ngram_begin[word + 1]):
                    rows[made] = size + ngrams[ngram]
                    made += 1
        for place in range(start[text], start[text + 1]):
            value = np.uint64(np.int64(hashes[ids[place]]))  # 32 bits with a sign, widened with it, as in fastText
            for other in range(place + 1, min(start[text + 1], place + longest)):
                value = value * _SPREAD + np.uint64(np.int64(hashes[ids[other]]))
                rows[made] = size + np.int64(value % np.uint64(buckets))
                made += 1
    return begin, rows


@helper
def _mean(hidden, rows, first, last, input_, width):  # type: ignore[no-untyped-def]
    for place in range(len(hidden)):
        hidden[place] = 0
    for place in range(first, last):
        add(hidden, 0, input_, rows[place] * width, np.float32(1), width)
    for place in range(len(hidden)):
        hidden[place] *= np.float32(1) / np.float32(last - first)


@kernel
def means(begin, rows, input_, width):  # type: ignore[no-untyped-def]
    """[N, width] the mean of each text's rows; zeros for one without."""
    found = np.zeros((len(begin) - 1, width), np.float32)
    for text in range(len(begin) - 1):
        if begin[text + 1] > begin[text]:
            _mean(found[text], rows, begin[text], begin[text + 1], input_, width)
    return found


@helper
def _softmax(hidden, output, steps, offsets, answer, count, width):  # type: ignore[no-untyped-def]
    """Steps (target less probability) of all labels; the loss."""
    top = np.float32(-1e30)
    for label in range(count):
        offsets[label] = label * width
        steps[label] = dot(hidden, 0, output, offsets[label], width)
        top = max(top, steps[label])
    total = np.float32(0)
    score = steps[answer] - top
    for label in range(count):
        steps[label] = np.exp(steps[label] - top)
        total += steps[label]
    for label in range(count):
        steps[label] = np.float32(label == answer) - steps[label] / total
    return np.log(total) - score


@helper
def _path(hidden, output, steps, offsets, answer, paths, width):  # type: ignore[no-untyped-def]
    begin, loss = paths.begin[answer], np.float32(0)
    for place in range(paths.begin[answer + 1] - begin):
        offsets[place] = np.int64(paths.points[begin + place]) * width
        score = dot(hidden, 0, output, offsets[place], width)
        label = paths.labels[begin + place]
        steps[place] = label - np.float32(1) / (np.float32(1) + np.exp(-score))
        loss += np.log1p(np.exp(-abs(score))) + max(score, np.float32(0)) - label * score
    return loss


@kernel
def train_texts(begin, rows, answers, first, last, first_rate, last_rate, paths, input_, output, labels, width):  # type: ignore[no-untyped-def]
    """Texts [first, last): every row of a text takes the step divided by their number, as in fastText's supervised mode. The summed loss."""
    hidden, error = np.zeros(width, np.float32), np.zeros(width, np.float32)
    steps, offsets = np.zeros(labels, np.float32), np.zeros(labels, np.int64)
    loss = 0.0
    for text in range(first, last):
        size = begin[text + 1] - begin[text]
        if size == 0:
            continue
        rate = first_rate + (last_rate - first_rate) * np.float32(text - first) / np.float32(last - first)
        _mean(hidden, rows, begin[text], begin[text + 1], input_, width)
        answer = answers[text]
        if paths.hierarchical:
            loss += _path(hidden, output, steps, offsets, answer, paths, width)
            count = paths.begin[answer + 1] - paths.begin[answer]
        else:
            loss += _softmax(hidden, output, steps, offsets, answer, labels, width)
            count = labels
        for place in range(count):
            steps[place] *= rate
        error[:] = 0
        update(hidden, 0, error, 0, output, offsets, steps, count, width)
        for place in range(begin[text], begin[text + 1]):
            add(input_, rows[place] * width, error, 0, np.float32(1) / np.float32(size), width)
    return loss
