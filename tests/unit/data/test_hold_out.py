import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.data.encoder import EncodedDocuments, concatenate
from plume.data.hold_out import split_off


def encoded(lengths: list[int], first: int = 0) -> EncodedDocuments:
    """Documents of so many sentences; each sentence is one token, its own number."""
    sentences = sum(lengths)
    return EncodedDocuments.plain(
        np.arange(first, first + sentences).astype(np.uint32),
        np.ones(sentences, bool),
        np.ones(sentences, np.int64),
        np.array(lengths, np.int64),
        first + np.arange(len(lengths)),
        np.zeros(sentences, bool),
    )


def chunks(lengths: list[int], size: int) -> list[EncodedDocuments]:
    found, first = [], 0
    for start in range(0, len(lengths), size):
        found.append(encoded(lengths[start : start + size], first))
        first += sum(lengths[start : start + size])
    return found


def split(lengths: list[int], *, size: int = 7) -> tuple[EncodedDocuments, EncodedDocuments]:
    pieces = list(split_off(chunks(lengths, size), documents=len(lengths)))
    train = concatenate([piece.encoded for piece in pieces if not piece.held_out])
    return train, concatenate([piece.encoded for piece in pieces if piece.held_out])


def test_from_a_hundred_documents_on_every_hundredth_is_held_out_whole():
    train, held_out = split([3] * 250)
    assert held_out.tokens.tolist() == [0, 1, 2, 300, 301, 302, 600, 601, 602]
    assert held_out.document_length.tolist() == [3, 3, 3]
    assert len(train.document_length) == 247


def test_with_fewer_the_end_of_each_long_document():
    train, held_out = split([100, 9, 10, 34])
    assert held_out.tokens.tolist() == [97, 98, 99, 118, 152]
    assert held_out.document_length.tolist() == [3, 1, 1]
    assert train.document_length.tolist() == [97, 9, 9, 33]


def test_short_documents_before_the_first_long_one_are_trained_on():
    train, held_out = split([2, 2, 2, 20], size=1)
    assert held_out.tokens.tolist() == [25]
    assert train.document_length.tolist() == [2, 2, 2, 19]


def test_without_long_documents_the_end_of_the_corpus():
    train, held_out = split([5] * 20)  # a hundred sentences
    assert held_out.tokens.tolist() == [97, 98, 99]
    assert train.document_length.tolist() == [5] * 19 + [2]
    train, held_out = split([1, 1])
    assert (train.tokens.tolist(), held_out.tokens.tolist()) == ([0], [1])


@pytest.mark.parametrize("size", [1, 3, 1000])
@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=130).filter(lambda lengths: sum(lengths) > 1))
def test_nothing_is_lost_or_doubled_and_neither_part_is_empty(size, lengths):
    train, held_out = split(lengths, size=size)
    assert sorted(train.tokens.tolist() + held_out.tokens.tolist()) == list(range(sum(lengths)))
    assert len(train.tokens) > 0
    assert len(held_out.tokens) > 0
    assert train.tokens.tolist() == sorted(train.tokens.tolist())
    whole = split(lengths, size=1000)
    assert held_out.tokens.tolist() == whole[1].tokens.tolist()
    assert held_out.document_length.tolist() == whole[1].document_length.tolist()
