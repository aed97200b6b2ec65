"""What the input shows at the selected tokens, measured over many draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Draw, Keep, Mask, Per
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, NGrams, Tokens


def outcome(rows: Rows, shown: np.ndarray, chosen: np.ndarray, mask: int) -> np.ndarray:
    """Of the selected tokens: how many show the mask, another token, themselves."""
    is_mask, is_same = shown[chosen] == mask, shown[chosen] == rows.tokens[chosen]
    return np.array([is_mask.sum(), (~is_mask & ~is_same).sum(), is_same.sum()])


@pytest.mark.parametrize(("corrupt", "shares"), [(Mask(), (0.8, 0.1, 0.1)), (Mask(mask=0.85, random=0.0), (0.85, 0.0, 0.15))])
def test_shares_of_the_papers(
    corrupt: Mask, shares: tuple[float, ...], rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any
) -> None:
    rows = rows_of([64] * 8000)
    stream = draws(8000)
    chosen = Tokens()(rows, stream)
    shown = corrupt(rows, chosen, stream, alphabet).tokens
    masked, other, same = shares
    # A random token is now and then the mask or the token itself.
    chance = other / alphabet.size
    assert_shares(outcome(rows, shown, chosen.tokens, alphabet.mask), (masked + chance, other - 2 * chance, same + chance))
    assert (shown[~chosen.tokens] == rows.tokens[~chosen.tokens]).all()


def test_random_tokens_come_evenly_from_the_whole_vocabulary(rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any) -> None:
    rows = rows_of([64] * 2000)
    everywhere = ~rows.special
    shown = Mask(mask=0.0, random=1.0)(rows, Chosen.singly(everywhere), draws(2000), alphabet).tokens
    assert_shares(np.bincount(shown[everywhere], minlength=alphabet.size))


def test_fate_does_not_depend_on_position_or_token(rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any) -> None:
    rows = rows_of([34] * 3000)
    masked = Mask()(rows, Chosen.singly(~rows.special), draws(3000), alphabet).tokens == alphabet.mask
    assert_shares(masked[:, 1:-1].sum(0))
    assert_shares(
        np.bincount(rows.tokens[masked], minlength=50)[5:], np.bincount(rows.tokens[~rows.special], minlength=50)[5:] / (32 * 3000)
    )


def test_the_draw_is_for_each_piece_of_a_word(rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any) -> None:
    """Whole-word masking selects words and draws 80/10/10 for each piece: both pieces of a word are masked with 0.8², not 0.8."""
    rows = rows_of([66] * 6000)
    rows.word_start[:, 2::2] = False  # words of two pieces: 1-2, 3-4 …
    stream = draws(6000)
    chosen = NGrams(longest=1)(rows, stream)
    shown = Mask(mask=0.8, random=0.0)(rows, chosen, stream, alphabet).tokens
    first = np.argwhere(chosen.tokens & rows.word_start)
    masked = (shown == alphabet.mask)[first[:, 0], first[:, 1]].astype(int) + (shown == alphabet.mask)[first[:, 0], first[:, 1] + 1]
    assert_shares(np.bincount(masked), (0.04, 0.32, 0.64))


def test_keep_shows_the_text(rows_of: Any, draws: Any, alphabet: Alphabet) -> None:
    rows = rows_of([9, 12])
    assert (Keep()(rows, Chosen.singly(~rows.special), draws(2), alphabet).tokens == rows.tokens).all()


def test_masks_do_not_depend_on_the_batch(rows_of: Any, alphabet: Alphabet) -> None:
    rows = rows_of([10, 40])
    together = Mask()(rows, Chosen.singly(~rows.special), Draws(seed=0, epoch=0, index=np.array([4, 9])), alphabet).tokens
    short = Rows(tokens=rows.tokens[:1, :10], length=rows.length[:1], special=rows.special[:1, :10], word_start=rows.word_start[:1, :10])
    alone = Mask()(short, Chosen.singly(~short.special), Draws(seed=0, epoch=0, index=np.array([4])), alphabet).tokens
    assert (alone[0] == together[0, :10]).all()


def test_a_tokenizer_without_a_mask_is_refused(rows_of: Any, draws: Any) -> None:
    rows = rows_of([9])
    with pytest.raises(PlumeError, match="no mask token"):
        Mask()(rows, Chosen.singly(~rows.special), draws(1), Alphabet(size=50, mask=None))


@pytest.mark.parametrize("shares", [{"mask": 0.9, "random": 0.2}, {"mask": -0.1}, {"random": -0.1}])
def test_shares_beyond_one_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(PlumeError, match="two shares"):
        Mask(**shares)


def test_per_unit_one_fate_for_the_whole_span(rows_of: Any, draws: Any, alphabet: Alphabet, assert_shares: Any) -> None:
    """SpanBERT: 80/10/10 of the spans, and every token of a span shares its fate."""
    rows = rows_of([66] * 4000)
    tokens = ~rows.special
    start = tokens & (np.arange(66) % 4 == 1)  # sixteen spans of four tokens a row
    shown = Mask(per=Per.UNIT)(rows, Chosen(tokens=tokens, start=start), draws(4000), alphabet).tokens[:, 1:-1]
    text = rows.tokens[:, 1:-1]
    masked = (shown == alphabet.mask).reshape(-1, 4)
    kept = (shown == text).reshape(-1, 4)
    fate = np.where(masked.all(1), 0, np.where(kept.all(1), 2, 1))
    assert_shares(np.bincount(fate, minlength=3), (0.8, 0.1, 0.1))
    mixed = masked.any(1) & ~masked.all(1)
    assert mixed.mean() < 0.1 * 4 / alphabet.size * 1.3  # only random tokens that happen to be the mask
    assert kept[fate == 1].mean() < 0.04  # random tokens are drawn for each token of the span


def test_random_tokens_as_frequent_as_in_the_corpus(rows_of: Any, draws: Any, assert_shares: Any) -> None:
    counts = np.zeros(50, np.int64)
    counts[[7, 11, 30, 49]] = [1, 3, 6, 10]
    rows = rows_of([64] * 1000)
    everywhere = Chosen.singly(~rows.special)
    corrupt = Mask(mask=0.0, random=1.0, draw=Draw.CORPUS)
    shown = corrupt(rows, everywhere, draws(1000), Alphabet(size=50, mask=4, counts=counts)).tokens
    assert_shares(np.bincount(shown[everywhere.tokens], minlength=50), counts / counts.sum())
    with pytest.raises(PlumeError, match="no counts"):
        corrupt(rows, everywhere, draws(1000), Alphabet(size=50, mask=4))
