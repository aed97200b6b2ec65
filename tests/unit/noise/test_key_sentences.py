"""PEGASUS' gap sentences, against a plain ROUGE-1 written from its definition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.noise.decoder_target import TheSpans
from plume.noise.infilling import OneMask
from plume.noise.key_sentences import KeySentences, Principal, Rouge
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.spelling import Spelling, unigrams

END, START, MASK = 1, 2, 4
ALPHABET = Alphabet(size=60, mask=MASK, end=END, start=START)
RANKED = [how for how in Principal if how not in (Principal.RANDOM, Principal.LEAD)]


def f1(candidate: Sequence[int], reference: Sequence[int], unique: bool) -> float:
    one, other = Counter(set(candidate) if unique else candidate), Counter(set(reference) if unique else reference)
    shared = sum((one & other).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(one.values()), shared / sum(other.values())
    return 2 * precision * recall / (precision + recall)


def plain_choice(sentences: list[list[int]], count: int, how: Principal) -> set[int]:
    """As sentence_selection.cc, one sentence at a time; of equals the last."""
    chosen: list[int] = []

    def score(candidate: list[int]) -> float:
        inside = [word for at in candidate for word in sentences[at]]
        outside = [word for at, sentence in enumerate(sentences) if at not in candidate for word in sentence]
        return round(f1(inside, outside, how.unique), 12)

    for _ in range(count):
        base = chosen if how.sequential else []
        open_ = [at for at in range(len(sentences)) if at not in chosen]
        chosen.append(max(open_, key=lambda at: (score([*base, at]), at)))
    return set(chosen)


def rows_of(documents: list[list[list[int]]], pieces: int = 1) -> Rows:
    """Sentences of words; a word w is `pieces` tokens, of which the first alone says little."""
    texts = [
        [(word, at, piece) for at, sentence in enumerate(document) for word in sentence for piece in range(pieces)]
        for document in documents
    ]
    length = np.array([len(text) + 1 for text in texts])
    shape = (len(texts), int(length.max()))
    tokens, sentence, start = np.zeros(shape, np.int64), np.full(shape, -1), np.ones(shape, bool)
    for row, text in enumerate(texts):
        for place, (word, at, piece) in enumerate(text):
            tokens[row, place] = 10 + (word if piece == pieces - 1 else word % 2)
            sentence[row, place], start[row, place] = at, piece == 0
        tokens[row, len(text)] = END
    return Rows(tokens=tokens, length=length, special=sentence < 0, word_start=start, sentence=sentence)


def documents(count: int, seed: int = 0) -> list[list[list[int]]]:
    generator = np.random.default_rng(seed)
    return [[generator.integers(0, 20, generator.integers(1, 9)).tolist() for _ in range(generator.integers(2, 14))] for _ in range(count)]


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("how", RANKED)
def test_the_sentences_are_those_of_a_plain_rouge(how: Principal, pieces: int, draws: Any) -> None:
    texts = documents(150)
    rows = rows_of(texts, pieces)
    chosen = KeySentences(how=how)(rows, draws(150))
    assert rows.sentence is not None
    for row, text in enumerate(texts):
        count = min(max(1, int(len(text) * 0.3 + 1e-9)), len(text) - 1)
        assert set(rows.sentence[row][chosen.tokens[row]].tolist()) == plain_choice(text, count, how)


@pytest.mark.parametrize("unique", [False, True])
def test_scores_are_rouge_f1(unique: bool) -> None:
    texts = documents(40, seed=1)
    rows = rows_of(texts)
    assert rows.sentence is not None
    scores = Rouge(unigrams(rows, None), rows.sentence, (40, 13), unique=unique).scores()
    for row, text in enumerate(texts):
        rest = [[word for other, words in enumerate(text) if other != at for word in words] for at in range(len(text))]
        expected = [f1(sentence, rest[at], unique) for at, sentence in enumerate(text)]
        np.testing.assert_allclose(scores[row, : len(text)], expected, atol=1e-12)


def test_whole_sentences_become_one_mask_each_and_the_target_in_order(draws: Any) -> None:
    rows = rows_of([[[0, 1, 2, 3], [5, 6], [0, 1, 2, 7], [8]], [[1, 2], [3]], [[4, 5, 6]]])
    noise = Noise(select=KeySentences(ratio=0.5), corrupt=OneMask(), target=TheSpans())
    aim = noise(rows, draws(3), ALPHABET)
    assert aim.source is not None
    read = [row[:size].tolist() for row, size in zip(aim.source.tokens, aim.source.length, strict=True)]
    written = [row[:size].tolist() for row, size in zip(aim.what, aim.length, strict=True)]
    assert read == [[MASK, 15, 16, MASK, 18, END], [11, 12, MASK, END], [14, 15, 16, END]]  # a row of one sentence keeps it
    assert written == [[10, 11, 12, 13, 10, 11, 12, 17, END], [13, END], [END]]
    assert aim.shown[0, :9].tolist() == [START, 10, 11, 12, 13, 10, 11, 12, 17]
    assert noise.needs_sentences


def test_adjacent_sentences_are_two_masks(draws: Any) -> None:
    rows = rows_of([[[1, 2], [3, 4], [5, 6]]])
    chosen = KeySentences(ratio=0.67, how=Principal.LEAD)(rows, draws(1))
    assert chosen.tokens[0].tolist() == [True] * 4 + [False] * 3
    assert chosen.start[0].tolist() == [True, False, True, False, False, False, False]


def test_large_draws_its_ratio_and_leaves_a_tenth_intact(draws: Any) -> None:
    rows = rows_of([[[at] * 2 for at in range(40)]] * 4000)
    large = KeySentences(ratio=0.45, lowest=0.15, noise=0.2)
    chosen = large(rows, draws(4000))
    count = chosen.start.sum(1)
    assert count.min() == 6 and count.max() == 17  # of 40, between 15% and 45% rounded down
    assert abs(count.mean() - 40 * large.share + 0.5) < 0.15
    shown = OneMask(intact=0.1)(rows, chosen, draws(4000), ALPHABET)
    assert abs((shown.tokens == MASK).sum() / chosen.start.sum() - 0.9) < 0.01
    intact = shown.length - (rows.length - 2 * count) - (shown.tokens == MASK).sum(1)
    assert (intact % 2 == 0).all()  # whole sentences stay, or none of their tokens


def test_noise_changes_close_ranks_only(draws: Any) -> None:
    text = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 9, 9, 9], [7]]
    plain = KeySentences()(rows_of([text] * 500), draws(500))
    noisy = KeySentences(noise=0.2)(rows_of([text] * 500), draws(500))
    assert plain.start[:, 4].all()  # of the two equals the later
    assert 0.4 < noisy.start[:, 4].mean() < 0.6 and (noisy.start[:, 0] | noisy.start[:, 4]).all()


def test_random_and_lead(draws: Any, assert_shares: Any) -> None:
    rows = rows_of([[[at] for at in range(7)]] * 7000)
    assert (KeySentences(how=Principal.LEAD)(rows, draws(7000)).tokens.sum(0)[:3] == [7000, 7000, 0]).all()
    assert_shares(KeySentences(how=Principal.RANDOM)(rows, draws(7000)).tokens.sum(0)[:7])


@pytest.mark.parametrize("how", list(Principal))
def test_a_row_is_the_same_in_any_batch(how: Principal, draws: Any) -> None:
    texts = documents(30, seed=2)
    select = KeySentences(how=how, ratio=0.45, lowest=0.15, noise=0.2)
    together, alone = select(rows_of(texts), draws(30)), select(rows_of(texts[:1]), draws(1))
    width = alone.tokens.shape[1]
    assert together.tokens[0, :width].tolist() == alone.tokens[0].tolist() and not together.tokens[0, width:].any()


def words_by_letter(text: str) -> list[str]:
    return re.findall(r"[\u4e00-\u9fff]|[a-z0-9]+", text.lower())


def test_words_are_compared_by_letter_and_chinese_by_character() -> None:
    """Case, punctuation and the way a word was cut do not matter; each Han character is a word, also inside one piece."""
    pieces = ["The", "cat", "s", ".", "c", "ats", "北京", "大学", "京", "the", "GPT", "2"]
    lines = [([0, 1, 2, 3], [1, 1, 0, 1]), ([9, 4, 5, 3, 6, 7, 2], [1, 1, 0, 1, 1, 0, 0]), ([8, 10, 11, 6], [1, 1, 0, 0])]
    width = max(len(ids) for ids, _ in lines)
    tokens = np.array([ids + [0] * (width - len(ids)) for ids, _ in lines])
    length = np.array([len(ids) for ids, _ in lines])
    starts = np.array([[*marks, *[1] * (width - len(marks))] for _, marks in lines], bool)
    rows = Rows(tokens=tokens, length=length, special=np.arange(width) >= length[:, None], word_start=starts)
    found = unigrams(rows, Spelling.of(pieces))
    expected = [
        (row, word)
        for row, (ids, marks) in enumerate(lines)
        for word in words_by_letter("".join(" " * mark + pieces[at] for at, mark in zip(ids, marks, strict=True)))
    ]
    assert found.row.tolist() == [row for row, _ in expected]
    names = dict(zip(found.word.tolist(), (word for _, word in expected), strict=True))
    assert [names[word] for word in found.word.tolist()] == [word for _, word in expected]
    assert len(set(names.values())) == len(names)
    assert found.place.tolist() == [0, 1, 0, 1, 4, 4, 5, 5, 6, 0, 1, 3, 3]


def test_the_choice_is_by_character_where_rows_know_their_spelling(draws: Any) -> None:
    """Four sentences of one piece each: as pieces none is like another, by character the second holds most of the others."""
    rows = rows_of([[[0], [1], [2], [3]]])
    table = Spelling.of([""] * 10 + ["北京", "北海大学", "大学生", "上"])
    spelt = replace(rows, spelling=table)
    assert KeySentences()(rows, draws(1)).tokens[0].tolist() == [False, False, False, True, False]
    assert KeySentences()(spelt, draws(1)).tokens[0].tolist() == [False, True, False, False, False]


@pytest.mark.parametrize("bad", [{"ratio": 0.0}, {"ratio": 1.0}, {"lowest": 0.4}, {"noise": 2.0}])
def test_bad_shares_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(PlumeError, match="KeySentences"):
        KeySentences(**bad)
