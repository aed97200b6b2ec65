"""Layouts: nothing lost, nothing twice, and sentence pairs as create_pretraining_data.py makes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.layouts.adjacent import AdjacentTexts
from plume.data.layouts.layout import Blocks, FullSentences, PairLabel, RowPlan, SentencePairs
from plume.data.layouts.single_sentences import SingleSentences
from plume.data.layouts.stretches import partners, sentence_pieces, truncate


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 0])


def random_documents(seed: int, *, documents: int = 40, sentences: int = 12, longest: int = 20) -> list[list[int]]:
    source = random.Random(seed)
    return [[source.randint(1, longest) for _ in range(source.randint(1, sentences))] for _ in range(documents)]


# Blocks


@pytest.mark.parametrize("total", [2, 3, 16, 17, 31, 32, 33, 34, 100, 1001])
def test_blocks_predict_every_token_once_from_its_predecessor(store_of: Any, total: int) -> None:
    store = store_of([[total - 1]])
    starts = set()
    for seed in range(80):  # every random start of 0 to 15 is met
        plan = Blocks().plan(store, room=16, generator=generator(seed))
        predicted = np.concatenate([np.arange(start + 1, end) for start, end in zip(plan.start[:, 0], plan.end[:, 0], strict=True)])
        assert sorted(predicted.tolist()) == list(range(1, total)), f"seed {seed}"
        assert (plan.end - plan.start <= 17).all()
        starts.add(int(plan.start[1, 0]) if len(plan) > 1 else 0)
    assert len(starts) == (16 if total > 32 else 1), "blocks begin elsewhere every epoch"


@pytest.mark.parametrize("total", [2, 3, 16, 17, 31, 32, 33, 34, 100, 1001])
def test_blocks_without_overlap_hold_every_token_once(store_of: Any, total: int) -> None:
    """All but the last separator, which the format's own stands for."""
    store = store_of([[total - 1]])
    for seed in range(30):
        plan = Blocks(overlap=0).plan(store, room=16, generator=generator(seed))
        held = np.concatenate([np.arange(start, end) for start, end in zip(plan.start[:, 0], plan.end[:, 0], strict=True)])
        assert held.tolist() == list(range(total - 1)), f"seed {seed}"
        assert ((plan.end - plan.start >= 1) & (plan.end - plan.start <= 16)).all()
    assert Blocks(overlap=0).wrapped
    assert not Blocks().wrapped
    with pytest.raises(PlumeError, match="share 1 token"):
        Blocks(overlap=2)


# Full sentences


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("room", [20, 37, 1000])
def test_full_sentences_hold_each_sentence_once(store_of: Any, room: int, across: bool) -> None:
    store = store_of(random_documents(1))
    plan = FullSentences(across=across).plan(store, room=room, generator=generator(0))
    start, end = plan.start[:, 0], plan.end[:, 0]
    first, last = np.searchsorted(store.sentence_start, start), np.searchsorted(store.sentence_end, end)
    assert (store.sentence_start[first] == start).all()
    assert (store.sentence_end[last] == end).all()
    assert first.tolist() == [0, *(last[:-1] + 1)]
    assert last[-1] == len(store.sentence_end) - 1
    assert (end - start <= room).all()


@pytest.mark.parametrize("across", [True, False])
def test_full_sentences_fill_the_row(store_of: Any, across: bool) -> None:
    """The next sentence would not have fitted, or (within documents) is of the next document."""
    store = store_of(random_documents(2))
    plan = FullSentences(across=across).plan(store, room=60, generator=generator(0))
    ends = np.searchsorted(store.sentence_end, plan.end[:, 0])
    owner = np.repeat(np.arange(len(store.document_start) - 1), np.diff(store.document_start))
    for begin, sentence in zip(plan.start[:-1, 0], ends[:-1], strict=True):
        fits = store.sentence_end[sentence + 1] - begin <= 60
        assert not fits or (not across and owner[sentence + 1] != owner[sentence])


def test_rows_across_documents_hold_the_separator_between_them(store_of: Any) -> None:
    store = store_of([[5, 5], [5], [5]])
    across = FullSentences().plan(store, room=100, generator=generator(0))
    assert (across.start.tolist(), across.end.tolist()) == ([[0]], [[22]])  # 20 tokens, two separators within, none at the end
    within = FullSentences(across=False).plan(store, room=100, generator=generator(0))
    assert (within.start[:, 0].tolist(), within.end[:, 0].tolist()) == ([0, 11, 17], [10, 16, 22])


def test_long_sentences_are_cut_not_lost(store_of: Any) -> None:
    store = store_of([[7, 25, 3], [40]])
    begin, end, document_start = sentence_pieces(store, longest=10)
    assert (end - begin).tolist() == [7, 10, 10, 5, 3, 10, 10, 10, 10]
    assert begin[1:5].tolist() == end[:4].tolist()
    assert document_start.tolist() == [0, 5, 9]
    plan = FullSentences(across=False).plan(store, room=10, generator=generator(0))
    held = np.concatenate([np.arange(*bounds) for bounds in zip(plan.start[:, 0], plan.end[:, 0], strict=True)])
    assert held.tolist() == [*range(35), *range(36, 76)]


# Sentence pairs


@dataclass
class Pair:
    label: int
    a: list[int]
    b: list[int]


PAIR_LABELS = [PairLabel.RANDOM_NEXT, PairLabel.SWAPPED, PairLabel.THREE_WAY]


def pairs_by_loop(documents: list[list[list[int]]], *, room: int, label: PairLabel, source: random.Random) -> Iterator[Pair]:
    """create_instances_from_document of BERT (and of ALBERT, and with StructBERT's three labels), without short rows; a sentence is a list of
    its token places."""
    random_share = {PairLabel.RANDOM_NEXT: 1 / 2, PairLabel.SWAPPED: 0.0, PairLabel.THREE_WAY: 1 / 3}[label]
    random_label = 2 if label is PairLabel.THREE_WAY else 1
    for number, document in enumerate(documents):
        chunk: list[list[int]] = []
        i = 0
        while i < len(document):
            chunk.append(document[i])
            if i == len(document) - 1 or sum(map(len, chunk)) >= room:
                a_end = source.randint(1, len(chunk) - 1) if len(chunk) >= 2 else 1
                a, b, answer = joined(chunk[:a_end]), joined(chunk[a_end:]), 0
                if len(chunk) == 1 or source.random() < random_share:
                    b, answer = _from_elsewhere(documents, number, room - len(a), source), random_label
                    i -= len(chunk) - a_end
                elif label is not PairLabel.RANDOM_NEXT and source.random() < 0.5:
                    a, b, answer = b, a, 1
                _truncate_by_loop(a, b, room, source)
                yield Pair(answer, a, b)
                chunk = []
            i += 1


def joined(sentences: list[list[int]]) -> list[int]:
    return [place for sentence in sentences for place in sentence]


def _from_elsewhere(documents: list[list[list[int]]], own: int, wanted: int, source: random.Random) -> list[int]:
    other = source.choice([number for number in range(len(documents)) if number != own])
    found: list[int] = []
    for sentence in documents[other][source.randrange(len(documents[other])) :]:
        found = found + sentence
        if len(found) >= wanted:
            break
    return found


def _truncate_by_loop(a: list[int], b: list[int], room: int, source: random.Random) -> None:
    while len(a) + len(b) > room:
        longer = a if len(a) > len(b) else b
        longer.pop(0 if source.random() < 0.5 else -1)


def places(documents: list[list[int]], store: Any) -> list[list[list[int]]]:
    sentences = [list(range(*bounds)) for bounds in zip(store.sentence_start, store.sentence_end, strict=True)]
    return [sentences[first:last] for first, last in zip(store.document_start[:-1], store.document_start[1:], strict=True)]


def figures(pairs: list[Pair]) -> np.ndarray:
    """[pairs, figures] whose means the two procedures must share."""
    return np.array(
        [
            (
                pair.label == 1,
                pair.label == 2,
                len(pair.a),
                len(pair.b),
                len(pair.a) + len(pair.b),
                len(pair.a) > len(pair.b),
                pair.a[-1] + 1 == pair.b[0],
                pair.b[-1] + 1 == pair.a[0],
                pair.label * len(pair.a),
                abs(len(pair.a) - len(pair.b)),
            )
            for pair in pairs
        ]
    )


def as_pairs(plan: RowPlan) -> list[Pair]:
    assert plan.label is not None
    return [
        Pair(int(label), list(range(start[0], end[0])), list(range(start[1], end[1])))
        for start, end, label in zip(plan.start, plan.end, plan.label, strict=True)
    ]


@pytest.mark.parametrize("longest", [8, 20])
@pytest.mark.parametrize("label", PAIR_LABELS)
def test_pairs_have_the_statistics_of_the_papers_code(store_of: Any, label: PairLabel, longest: int) -> None:
    documents = random_documents(3, documents=60, longest=longest)
    store = store_of(documents)
    source = random.Random(4)
    ours = [
        pair
        for seed in range(25)
        for pair in as_pairs(SentencePairs(label=label, short=0.0).plan(store, room=40, generator=generator(seed)))
    ]
    theirs = [pair for _ in range(25) for pair in pairs_by_loop(places(documents, store), room=40, label=label, source=source)]
    left, right = figures(ours), figures(theirs)
    noise = np.sqrt(left.var(0) / len(left) + right.var(0) / len(right)) + 1e-12
    assert (np.abs(left.mean(0) - right.mean(0)) < 5 * noise).all(), (left.mean(0), right.mean(0))
    assert abs(len(ours) - len(theirs)) < 5 * np.sqrt(len(ours))


def test_a_chunk_of_one_sentence_always_gets_a_random_partner(store_of: Any) -> None:
    """Sentences that fill the row: random throughout; many to a row: one half, but for the last chunk of a document."""
    for label in PAIR_LABELS:
        plan = SentencePairs(label=label, short=0.0).plan(store_of([[40] * 5] * 20), room=40, generator=generator(1))
        assert plan.label is not None
        assert plan.label.tolist() == [2 if label is PairLabel.THREE_WAY else 1] * 100
    plan = SentencePairs(short=0.0).plan(store_of([[5] * 4000] * 2), room=40, generator=generator(1))
    assert plan.label is not None
    assert abs(plan.label.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(plan))


def owners(store: Any, place: np.ndarray) -> np.ndarray:
    return np.searchsorted(store.sentence_start[store.document_start[:-1]], place, side="right") - 1


def test_next_sentence_pairs_are_what_their_label_says(store_of: Any) -> None:
    """Sentences of five tokens in rows of twenty are never truncated, so that the bounds can be read off the plan."""
    store = store_of([[5] * size for size in (3, 8, 30, 1, 17, 50)])
    plan = SentencePairs().plan(store, room=20, generator=generator(2))
    assert plan.label is not None
    random_next = plan.label == 1
    a, b = owners(store, plan.start[:, 0]), owners(store, plan.start[:, 1])
    assert (plan.end[:, 0] == plan.start[:, 1])[~random_next].all()
    assert (a == b)[~random_next].all()
    assert (a != b)[random_next].all()
    assert (owners(store, plan.end - 1) == np.stack([a, b], axis=1)).all()
    # The next chunk begins after A if B came from elsewhere (its sentences are given back), or else after B.
    onward = np.where(random_next, plan.end[:, 0], plan.end[:, 1])
    same = a[1:] == a[:-1]
    assert (plan.start[1:, 0] == onward[:-1])[same].all()
    assert (onward[:-1][~same] + 1 == plan.start[1:, 0][~same]).all()  # one separator between documents
    assert same.any()
    assert (~same).sum() == 5


def test_swapped_pairs_are_two_halves_of_one_chunk(store_of: Any) -> None:
    store = store_of([[5] * size for size in (8, 30, 17, 50)])
    plan = SentencePairs(label=PairLabel.SWAPPED, short=0.0).plan(store, room=20, generator=generator(2))
    assert plan.label is not None
    alone = owners(store, plan.start[:, 0]) != owners(store, plan.start[:, 1])  # a last sentence of a document, left over
    swapped = (plan.label == 1) & ~alone
    assert (plan.end[:, 0] == plan.start[:, 1])[plan.label == 0].all()
    assert (plan.end[:, 1] == plan.start[:, 0])[swapped].all()
    assert (plan.label == 1)[alone].all()
    assert 0.2 < swapped.mean() < 0.8
    # Chunks follow one another whatever the labels: SWAPPED gives nothing back.
    begin, end = np.minimum(*plan.start.T), np.maximum(*plan.end.T)
    begin, end = np.where(alone, plan.start[:, 0], begin), np.where(alone, plan.end[:, 0], end)
    assert ((begin[1:] == end[:-1]) | (begin[1:] == end[:-1] + 1)).all()


def test_three_ways_are_thirds_and_mean_what_they_say(store_of: Any, assert_shares: Any) -> None:
    store = store_of([[5] * 6000, [5] * 6000])
    plan = SentencePairs(label=PairLabel.THREE_WAY, short=0.0).plan(store, room=20, generator=generator(2))
    assert plan.label is not None
    assert_shares(np.bincount(plan.label, minlength=3))
    a, b = owners(store, plan.start[:, 0]), owners(store, plan.start[:, 1])
    assert (plan.end[:, 0] == plan.start[:, 1])[plan.label == 0].all()
    assert (plan.end[:, 1] == plan.start[:, 0])[plan.label == 1].all()
    assert (a != b)[plan.label == 2].all()
    assert (a == b)[plan.label < 2].all()


def test_sentence_order_cannot_be_learned_from_one_sentence_documents(store_of: Any) -> None:
    for label in (PairLabel.SWAPPED, PairLabel.THREE_WAY):
        with pytest.raises(PlumeError, match="30 of 30 documents have only one sentence: there are no two"):
            SentencePairs(label=label).check(store_of([[5]] * 30), room=20)
        assert "29 of 30 documents" in (SentencePairs(label=label).check(store_of([[5]] * 29 + [[5, 5]]), room=20) or "")
    assert "30 of 30 documents" in (SentencePairs().check(store_of([[5]] * 30), room=20) or "")
    assert SentencePairs().check(store_of([[5, 5]] * 30), room=20) is None


def test_pairs_carry_no_labels_of_documents() -> None:
    with pytest.raises(PlumeError, match="LabelledDocuments"):
        SentencePairs(label=PairLabel.DOCUMENT)


def test_a_chunk_is_cut_anywhere_with_even_odds(store_of: Any, assert_shares: Any) -> None:
    plan = SentencePairs(short=0.0).plan(store_of([[5] * 20000, [5] * 9]), room=20, generator=generator(3))
    cut = (plan.end - plan.start)[:-3, 0] // 5
    assert_shares(np.bincount(cut, minlength=4), (0, 1 / 3, 1 / 3, 1 / 3))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_in_a_corpus_of_one_document_partners_are_far_away(size: int) -> None:
    at = np.repeat(np.arange(size), 50)
    found = partners(at, np.array([0, size]), np.random.default_rng(0))
    distance = (found - at) % size
    assert ((found >= 0) & (found < size)).all()
    assert distance.min() >= min(max(size // 4, 1), size - 1)
    assert size - distance.max() >= size // 4


def test_a_corpus_of_one_document_serves_pairs_and_is_told_of(store_of: Any) -> None:
    store = store_of([[20] * 40])
    assert "is one document" in (SentencePairs().check(store, room=60) or "")
    assert SentencePairs(label=PairLabel.SWAPPED).check(store, room=60) is None  # which needs no other document
    plan = SentencePairs().plan(store, room=60, generator=np.random.default_rng(0))
    assert set(plan.label.tolist()) == {0, 1}


def test_partners_come_evenly_from_the_other_documents(store_of: Any, assert_shares: Any) -> None:
    store = store_of([[5] * 3000, [5] * 4, [5] * 7, [5] * 2, [5]])
    plan = SentencePairs(short=0.0).plan(store, room=20, generator=generator(4))
    elsewhere = plan.start[(plan.label == 1) & (plan.start[:, 0] < 5 * 3000), 1]
    assert_shares(np.bincount(owners(store, elsewhere), minlength=5), (0, 0.25, 0.25, 0.25, 0.25))
    in_third = elsewhere[owners(store, elsewhere) == 2]
    assert_shares(np.bincount((in_third - in_third.min()) // 5))


@pytest.mark.parametrize("label", PAIR_LABELS)
def test_every_sentence_of_a_document_takes_part(store_of: Any, label: PairLabel) -> None:
    documents = random_documents(5, documents=30, sentences=9, longest=6)
    store = store_of(documents)
    plan = SentencePairs(label=label, short=0.0).plan(store, room=60, generator=generator(5))
    covered = np.zeros(len(store.tokens), bool)
    for pair in as_pairs(plan):
        covered[pair.a + pair.b] = True
    covered[store.sentence_end[store.document_start[1:] - 1]] = True  # separators
    assert covered.mean() > 0.97  # truncation takes a few


@pytest.mark.parametrize("label", PAIR_LABELS)
@pytest.mark.parametrize("documents", [[[4, 4]], [[1, 1]], [[9] * 30], [[300, 2, 300]], [[1], [1]], [[2], [500], [1, 1, 1]]])
@pytest.mark.parametrize("room", [2, 3, 13, 125])
def test_pairs_fit_and_are_never_empty(store_of: Any, documents: list[list[int]], label: PairLabel, room: int) -> None:
    store = store_of(documents)
    for seed in range(5):
        plan = SentencePairs(label=label).plan(store, room=room, generator=generator(seed))
        length = plan.end - plan.start
        assert (length >= 1).all()
        assert (length.sum(1) <= room).all()
        assert plan.start.min() >= 0
        inside = np.ones(len(store.tokens), bool)
        inside[store.sentence_end[store.document_start[1:] - 1]] = False
        assert all(inside[pair.a + pair.b].all() for pair in as_pairs(plan)), "a separator of the store is part of no pair"


def test_a_lone_sentence_is_cut_in_two(store_of: Any) -> None:
    plan = SentencePairs().plan(store_of([[9]]), room=20, generator=generator(0))
    assert plan.start[0].tolist() == [0, 4]
    assert plan.end[0].tolist() == [4, 9]


def test_short_rows_aim_anywhere_from_two_tokens_to_the_whole_room(store_of: Any, assert_shares: Any) -> None:
    """rng.randint(2, max_num_tokens) of BERT's code, both ends included."""
    plan = SentencePairs(label=PairLabel.SWAPPED, short=1.0).plan(store_of([[1] * 40000]), room=12, generator=generator(6))
    assert_shares(np.bincount((plan.end - plan.start).sum(1)[:-1], minlength=13), [0, 0] + [1 / 11] * 11)


def test_one_row_in_ten_is_short(store_of: Any) -> None:
    plan = SentencePairs(label=PairLabel.SWAPPED).plan(store_of([[1] * 100000]), room=50, generator=generator(7))
    short = ((plan.end - plan.start).sum(1) < 50).mean()
    assert abs(short - 0.1 * 48 / 49) < 5 * np.sqrt(0.09 / len(plan))


def test_a_sentence_is_a_row(store_of: Any) -> None:
    plan = SingleSentences().plan(store_of([[3, 9], [5]]), room=5, generator=generator(0))
    assert np.hstack([plan.start, plan.end]).tolist() == [[0, 3], [3, 8], [8, 12], [13, 18]]  # the store's separator stands at 12


# Adjacent texts


@pytest.mark.parametrize("documents", [[[4, 4]], [[9] * 30], [[300, 2, 300]], [[2], [500], [1, 1, 1]], random_documents(5)])
@pytest.mark.parametrize("room", [2, 13, 125])
def test_a_second_text_begins_where_the_first_ends(store_of: Any, documents: list[list[int]], room: int) -> None:
    store = store_of(documents)
    plan = AdjacentTexts().plan(store, room=room, generator=generator(1))
    whole = FullSentences(across=False).plan(store, room=room, generator=generator(1))
    begin, _, _ = sentence_pieces(store, longest=room)
    assert (plan.end[:, 0] == plan.start[:, 1]).all() and (plan.end > plan.start).all()
    several = (whole.end - whole.start)[:, 0] > 1
    assert plan.start[:, 0].tolist() == whole.start[several, 0].tolist() and plan.end[:, 1].tolist() == whole.end[several, 0].tolist()
    for (first, cut), (_, last) in zip(plan.start.tolist(), plan.end.tolist(), strict=True):
        ends = set(begin[(begin > first) & (begin < last)].tolist())
        assert cut in ends if ends else first < cut < last


def test_adjacent_texts_are_cut_anywhere_with_even_odds(store_of: Any, assert_shares: Any) -> None:
    between = AdjacentTexts().plan(store_of([[5] * 40000]), room=20, generator=generator(3))
    assert_shares(np.bincount((between.end - between.start)[:, 0] // 5, minlength=4), (0, 1 / 3, 1 / 3, 1 / 3))
    inside = AdjacentTexts().plan(store_of([[4]] * 20000), room=20, generator=generator(3))
    assert_shares(np.bincount((inside.end - inside.start)[:, 0], minlength=4), (0, 1 / 3, 1 / 3, 1 / 3))


def test_a_text_of_one_token_still_makes_a_row(store_of: Any) -> None:
    plan = AdjacentTexts().plan(store_of([[1]]), room=20, generator=generator(0))
    assert (plan.end - plan.start).tolist() == [[1, 0]]


def test_truncation_takes_what_the_loop_takes(assert_shares: Any) -> None:
    source = random.Random(8)
    sizes = [(source.randint(1, 60), source.randint(1, 60)) for _ in range(2000)]
    start = np.array([[100, 500]] * 2000)
    end = start + np.array(sizes)
    before = start.copy(), end.copy()
    truncate(start, end, 40, generator(8))
    for (a, b), kept in zip(sizes, (end - start).tolist(), strict=True):
        left, right = list(range(a)), list(range(b))
        _truncate_by_loop(left, right, 40, source)
        assert kept == [len(left), len(right)]
    assert (start >= before[0]).all()
    assert (end <= before[1]).all()
    front, back = (start - before[0]).sum(), (before[1] - end).sum()
    assert_shares([front, back])


@pytest.mark.parametrize("layout", [Blocks(), AdjacentTexts(), SentencePairs(), SentencePairs(label=PairLabel.SWAPPED)])
def test_epochs_differ_and_repeat_by_seed(store_of: Any, layout: Any) -> None:
    store = store_of(random_documents(9))
    first, again, other = (
        layout.plan(store, room=30, generator=np.random.default_rng([seed, epoch])) for seed, epoch in ((1, 0), (1, 0), (1, 1))
    )
    assert (first.start == again.start).all()
    assert (first.end == again.end).all()
    assert first.start.shape != other.start.shape or (first.start != other.start).any()
