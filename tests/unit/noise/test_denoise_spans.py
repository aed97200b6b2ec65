"""Which spans encoder-decoder models take out, against the papers' numbers and plain loops written from the authors' procedures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.noise.infilling import OneMask
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Select
from plume.noise.spans import MeanSpans, OneSpan, PoissonSpans, poisson

SELECTS = [MeanSpans(), MeanSpans(roll=True), MeanSpans(rate=0.5, mean=1.5), OneSpan(), PoissonSpans(), PoissonSpans(mean=0.7)]
LENGTHS = [2, 3, 4, 5, 7, 10, 30, 33, 50, 90, 128, 129]
ALPHABET = Alphabet(size=50, mask=4)


@pytest.mark.parametrize("select", SELECTS)
def test_only_ordinary_tokens_and_every_run_begins_a_unit(select: Select, rows_of: Any, draws: Any) -> None:
    rows = rows_of(LENGTHS * 20, pieces=3, pairs=True)
    chosen = select(rows, draws(len(rows.length)))
    assert not (chosen.tokens & rows.special).any() and not (chosen.start & ~chosen.tokens).any()
    before = np.pad(chosen.tokens, ((0, 0), (1, 0)))[:, :-1]
    assert chosen.start[chosen.tokens & ~before].all()
    assert chosen.tokens.any(1)[rows.length > 4].all()
    assert part_from_json(select.to_json()) == select


@pytest.mark.parametrize("select", SELECTS)
def test_a_row_is_the_same_in_any_batch(select: Select, rows_of: Any, draws: Any) -> None:
    one, many = rows_of([40], pieces=2), rows_of([40, 90, 7], pieces=2)
    for name in ("tokens", "special", "word_start"):
        getattr(many, name)[0, :40] = getattr(one, name)[0]
    alone, among = select(one, draws(1)), select(many, draws(3))
    assert among.tokens[0, :40].tolist() == alone.tokens[0].tolist() and not among.tokens[0, 40:].any()
    assert among.start[0, :40].tolist() == alone.start[0].tolist()
    if alone.inserted is not None and among.inserted is not None:
        assert among.inserted[0, :40].tolist() == alone.inserted[0].tolist()


def text_rows(*sizes: int) -> Rows:
    """T5's rows: text and one end token."""
    length = np.array(sizes) + 1
    place = np.arange(length.max())
    tokens = np.where(place < length[:, None] - 1, place + 10, 1)
    return Rows(tokens=tokens, length=length, special=place >= length[:, None] - 1, word_start=np.ones(tokens.shape, bool))


@pytest.mark.parametrize("size", [2, 3, 5, 20, 31, 100, 512, 568])
def test_t5_counts_are_fixed_by_the_length(size: int, draws: Any) -> None:
    rows = text_rows(*[size] * 200)
    chosen = MeanSpans()(rows, draws(200))
    noise = min(max(round(size * 0.15), 1), size - 1)
    assert (chosen.tokens.sum(1) == noise).all()
    assert (chosen.start.sum(1) == max(round(noise / 3), 1)).all()
    assert not chosen.tokens[:, 0].any() and chosen.tokens[:, size - 1].all()  # begins outside a span and ends inside one


def test_t5_takes_only_the_end_of_a_short_text(draws: Any) -> None:
    chosen = MeanSpans()(text_rows(*[20] * 50), draws(50))
    assert (chosen.tokens[:, 17:20].all(1) & ~chosen.tokens[:, :17].any(1)).all()


def test_t5_span_lengths_follow_the_random_segmentation(draws: Any, assert_shares: Any) -> None:
    """Of 40 tokens 12 in 4 spans: the first span's length k leaves C(11 - k, 2) of C(11, 3) ways to cut the others; so for the gaps."""
    chosen = MeanSpans(rate=0.3)(text_rows(*[40] * 20000), draws(20000))
    begin = chosen.start.argmax(1)
    first = np.argmin(chosen.tokens[np.arange(20000)[:, None], np.minimum(begin[:, None] + np.arange(12), 40)], axis=1)
    assert_shares(np.bincount(first, minlength=10), [0] + [math.comb(11 - k, 2) / math.comb(11, 3) for k in range(1, 10)])
    gaps = np.bincount(np.minimum(begin, 15))
    ways = [0.0] + [math.comb(27 - k, 2) / math.comb(27, 3) for k in range(1, 15)]
    assert_shares(gaps, [*ways, 1 - sum(ways)])


def test_t5_roll_spreads_the_spans_evenly(draws: Any, assert_shares: Any) -> None:
    chosen = MeanSpans(roll=True)(text_rows(*[20] * 8000), draws(8000))
    assert (chosen.tokens.sum(1) == 3).all()
    assert_shares(chosen.tokens.sum(0)[:20])


def test_t5_spans_go_around_special_tokens(rows_of: Any, draws: Any) -> None:
    rows = rows_of([41] * 200, pairs=True)
    assert (MeanSpans(rate=0.5, mean=6)(rows, draws(200)).tokens.sum(1) == 19).all()  # half of 38 ordinary tokens


def test_mass_hides_half_where_it_should(draws: Any, assert_shares: Any) -> None:
    chosen = OneSpan()(text_rows(*[12] * 20000), draws(20000))
    assert (chosen.tokens.sum(1) == 6).all() and (chosen.start.sum(1) == 1).all()
    anywhere = 0.6 / 7  # 7 places for 6 of 12 tokens
    assert_shares(chosen.start.sum(0)[:7], [0.2 + anywhere, *[anywhere] * 5, 0.2 + anywhere])


def plain_mass(length: int, generator: np.random.Generator) -> set[int]:
    """restricted_mask_sent of MASS on a sentence of `length` tokens, </s> before and behind it counted in: the places that are hidden."""
    hidden = round(length * 0.5)
    gaps = length - 1 - hidden  # every place but the first may be hidden
    lot = generator.random()
    before = 0 if lot >= 0.8 else gaps if lot >= 0.6 else int(generator.integers(gaps + 1))
    return {1 + before + place for place in range(hidden)}


@pytest.mark.parametrize("length", [4, 12, 13])
def test_mass_hides_the_end_where_the_authors_do(length: int, draws: Any) -> None:
    rows = text_rows(*[length - 1] * 20000)
    rows.special[:, 0] = True  # </s> before the text, which is never hidden
    chosen = OneSpan(closing=True)(rows, draws(20000))
    generator = np.random.default_rng(0)
    plain = [plain_mass(length, generator) for _ in range(20000)]
    assert set(chosen.tokens.sum(1).tolist()) == {len(plain[0])} and (chosen.start.sum(1) == 1).all()
    expected = np.array([sum(place in hidden for hidden in plain) for place in range(length)]) / 20000
    np.testing.assert_allclose(chosen.tokens.mean(0), expected, atol=0.015)
    assert chosen.tokens[:, -1].mean() == pytest.approx(0.2 + 0.6 / (length - len(plain[0])), abs=0.015)


def plain_infilling(words: int, rate: float, generator: np.random.Generator) -> tuple[int, int, int]:
    """add_whole_word_mask on a row of one-token words: words taken, masks of spans, masks inserted."""
    budget, lengths = math.ceil(words * rate), list[int]()
    while sum(lengths) < budget:
        lengths.append(int(generator.poisson(3.0)))
    lengths[-1] -= sum(lengths) - budget
    spans = [length for length in lengths if length]
    begins = generator.permutation(words)[: len(spans)]
    gone, masks = set[int](), set(begins.tolist())
    for begin, length in zip(begins.tolist(), spans, strict=True):
        gone |= set(range(begin + 1, min(begin + length, words)))
    return len(gone | masks), len(masks - gone), len(lengths) - len(spans)


def test_bart_takes_what_fairseq_takes(rows_of: Any, draws: Any) -> None:
    rows = rows_of([102] * 3000)
    chosen = PoissonSpans()(rows, draws(3000))
    assert chosen.inserted is not None
    generator = np.random.default_rng(0)
    plain = np.array([plain_infilling(100, 0.3, generator) for _ in range(3000)])
    ours = np.stack([chosen.tokens.sum(1), chosen.start.sum(1), chosen.inserted.sum(1)], axis=1)
    np.testing.assert_allclose(ours.mean(0), plain.mean(0), atol=0.12)
    np.testing.assert_allclose(ours.std(0), plain.std(0), atol=0.12)
    assert chosen.tokens.sum(1).max() <= 30 and 26 < chosen.tokens.sum(1).mean() < 28.5  # 30 less what overlaps


def test_bart_spans_are_of_whole_words(rows_of: Any, draws: Any) -> None:
    rows = rows_of([200] * 50, pieces=3, pairs=True)
    chosen = PoissonSpans()(rows, draws(50))
    begins = rows.word_start & ~rows.special
    begins[:, 1:] |= rows.special[:, :-1] & ~rows.special[:, 1:]
    assert not (chosen.start & ~begins).any()
    inside = ~rows.special[:, 1:] & ~begins[:, 1:]
    assert (chosen.tokens[:, 1:] == chosen.tokens[:, :-1])[inside].all()  # a word is taken as a whole
    taken = (chosen.tokens & begins).sum(1)
    assert (taken <= np.ceil(begins.sum(1) * 0.3)).all() and taken.mean() > 0.25 * begins.sum(1).mean()


def test_poisson_shares() -> None:
    shares = np.diff(poisson(3.0), prepend=0)
    np.testing.assert_allclose(shares[:4], [math.exp(-3) * 3**k / math.factorial(k) for k in range(4)], atol=1e-6)
    assert poisson(3.0)[-1] == pytest.approx(1.0) and abs((shares * np.arange(len(shares))).sum() - 3) < 1e-4
    assert abs((np.diff(poisson(30.0), prepend=0) * np.arange(len(poisson(30.0)))).sum() - 30) < 1e-3


def test_bart_insertions_are_even_over_the_shown_text(draws: Any, assert_shares: Any) -> None:
    """After the corruption, an inserted mask stands at any place of the row as often, never outside the special tokens."""
    tokens = np.tile(np.array([2, *range(10, 20), 3]), (40000, 1))
    special = np.zeros(tokens.shape, bool)
    special[:, [0, -1]] = True
    rows = Rows(tokens=tokens, length=np.full(40000, 12), special=special, word_start=np.ones(tokens.shape, bool))
    chosen = PoissonSpans(rate=0.1)(rows, draws(40000))  # a budget of one word
    assert chosen.inserted is not None
    one = chosen.inserted.sum(1) == 1
    assert abs(one.mean() - math.exp(-3) * (1 - math.exp(-3))) < 0.004
    shown = OneMask()(rows, chosen, draws(40000), ALPHABET)
    assert (shown.length == 12 + chosen.inserted.sum(1)).all()
    assert shown.origin is not None
    where = (shown.tokens == 4) & (np.pad(shown.origin, ((0, 0), (0, 1)))[:, 1:] == shown.origin)  # stands before its token
    assert_shares(np.bincount(np.nonzero(where & one[:, None])[1], minlength=13), [0, *[1 / 11] * 11, 0])


@pytest.mark.parametrize(
    "make", [lambda: MeanSpans(rate=0), lambda: MeanSpans(mean=0.5), lambda: PoissonSpans(mean=0), lambda: OneSpan(at_end=0.9)]
)
def test_bad_numbers_are_refused(make: Any) -> None:
    with pytest.raises(PlumeError):
        make()
