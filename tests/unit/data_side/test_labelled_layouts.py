"""Labels to guess, labels in front, and rows of several sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.layouts.labelled import CodedBlocks, LabelledDocuments
from plume.data.layouts.layout import PairLabel
from plume.data.layouts.sentences import DocumentSentences


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng([seed, 0])


@pytest.fixture
def labelled(store_of: Any) -> Any:
    store = store_of([[5, 5], [30], [3], [7, 12]])
    store.document_label = np.array([1, 0, 1, 0])
    store.labels, store.codes = ("Books", "Links"), np.array([900, 901])
    return store


def test_one_text_a_row_with_its_label(labelled: Any) -> None:
    plan = LabelledDocuments().plan(labelled, room=15, generator=generator())
    assert (plan.start[:, 0].tolist(), (plan.end - plan.start)[:, 0].tolist()) == ([0, 11, 42, 46], [10, 15, 3, 15])
    assert plan.label is not None
    assert plan.label.tolist() == [1, 0, 1, 0]
    assert LabelledDocuments().label is PairLabel.DOCUMENT
    assert LabelledDocuments().check(labelled, room=15) is None


def test_balanced_every_label_is_as_frequent_as_the_most_frequent(store_of: Any) -> None:
    """DeepMoji: seven, three and one text make seven rows each; of the three, each comes twice and one of them, now this one, thrice."""
    store = store_of([[4]] * 11)
    store.document_label = np.array([0, 2, 0, 2, 0, 1, 0, 0, 2, 0, 0])
    again: set[int] = set()
    for seed in range(20):
        plan = LabelledDocuments(balanced=True).plan(store, room=9, generator=generator(seed))
        assert plan.label is not None
        assert np.bincount(plan.label).tolist() == [7, 7, 7]
        document = plan.start[:, 0] // 5
        assert store.document_label[document].tolist() == plan.label.tolist()
        times = np.bincount(document, minlength=11)
        assert times[store.document_label == 0].tolist() == [1] * 7 and times[5] == 7
        assert sorted(times[[1, 3, 8]].tolist()) == [2, 2, 3]
        again |= {number for number in (1, 3, 8) if times[number] == 3}
    assert again == {1, 3, 8}


def test_measuring_repeats_nothing(store_of: Any) -> None:
    layout = LabelledDocuments(balanced=True)
    assert layout.as_it_is() == LabelledDocuments() and CodedBlocks().as_it_is() == CodedBlocks()


def test_each_row_begins_with_its_documents_code_and_every_token_is_predicted(labelled: Any) -> None:
    plan = CodedBlocks().plan(labelled, room=8, generator=generator())
    assert plan.first is not None
    document = np.searchsorted([11, 42, 46], plan.start[:, 0], side="right")
    assert plan.first.tolist() == np.array([901, 900, 901, 900])[document].tolist()
    assert (np.searchsorted([11, 42, 46], plan.end[:, 0] - 1, side="right") == document).all()
    assert (plan.end - plan.start <= 8).all()
    predicted = np.concatenate([np.arange(a, b) for a, b in zip(plan.start[:, 0], plan.end[:, 0], strict=True)])
    assert sorted(set(predicted.tolist())) == list(range(len(labelled.tokens)))  # separators too
    same = document[1:] == document[:-1]
    assert (plan.start[1:, 0] == plan.end[:-1, 0] - 1)[same].all()  # rows of a document share one token, as make_tf_records.py has it
    assert np.bincount(document).tolist() == [2, 5, 1, 3]
    assert not CodedBlocks().wrapped
    assert CodedBlocks().check(labelled, room=8) is None


def test_documents_without_labels(labelled: Any) -> None:
    labelled.document_label = np.array([1, -1, -1, 0])
    for layout in (CodedBlocks(), LabelledDocuments()):
        with pytest.raises(PlumeError, match="2 of 4 documents have no label"):
            layout.check(labelled, room=8)


def test_codes_that_the_tokenizer_lacks(labelled: Any) -> None:
    labelled.codes = np.array([900, -1])
    with pytest.raises(PlumeError, match=r"no token <\|Links\|> for the control code 'Links' \(1 of 2 codes"):
        CodedBlocks().check(labelled, room=8)


def test_one_label_is_nothing_to_tell_apart(labelled: Any) -> None:
    labelled.document_label, labelled.labels = np.zeros(4, np.int64), ("Books",)
    with pytest.raises(PlumeError, match="same label, 'Books'"):
        LabelledDocuments().check(labelled, room=8)


def test_rows_of_too_few_sentences_are_left_out(store_of: Any) -> None:
    store = store_of([[5, 5, 5], [9], [6, 7, 20, 2, 2], [50, 1]])
    plan = DocumentSentences().plan(store, room=18, generator=generator())
    assert (plan.end - plan.start)[:, 0].tolist() == [15, 13, 6, 15]  # 20 = 18 + 2, 2, 2 and 50 = 18 + 18 + 14, 1: a cut sentence counts
    three = DocumentSentences(least=3).plan(store, room=18, generator=generator())
    assert (three.end - three.start)[:, 0].tolist() == [15, 6]


def test_one_sentence_documents_are_refused(store_of: Any) -> None:
    layout = DocumentSentences()
    with pytest.raises(PlumeError, match="12 of 12 documents have only one sentence: this recipe works on the sentences"):
        layout.check(store_of([[5]] * 12), room=20)
    with pytest.raises(PlumeError, match="No row of 9 tokens holds 2 whole sentences"):
        layout.check(store_of([[9, 9, 9]] * 12), room=9)
    assert "10 of 12 documents have only one sentence: they are left out" in (
        layout.check(store_of([[5]] * 10 + [[5, 5]] * 2), room=20) or ""
    )
    assert layout.check(store_of([[5, 5]] * 12), room=20) is None


def test_held_out_text_of_single_sentences_still_makes_rows(store_of: Any) -> None:
    plan = DocumentSentences().plan(store_of([[5]] * 4), room=12, generator=generator())
    assert (plan.end - plan.start)[:, 0].tolist() == [11, 11]  # two and the separator between
    assert len(DocumentSentences().plan(store_of([[5]]), room=12, generator=generator())) == 1
