"""What a knowledge base says of a text, under noise: rates of the paper, row by row, and what is asked about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.noise.corrupt import Mask
from plume.noise.links import InPlaceWithForms, InPlaceWithLinks
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Nothing, Tokens

ALPHABET = Alphabet(size=50, mask=4)


def rows(mentions: Any, **named: Any) -> Rows:
    array = np.array(mentions)
    tokens = np.arange(array.size).reshape(array.shape) % 40 + 10
    given = {"mentions": array} | {name: np.array(values) for name, values in named.items()}
    flags = np.zeros(array.shape, bool)
    return Rows(tokens=tokens, length=np.full(len(array), array.shape[1]), special=flags, word_start=~flags, named=given)


def test_links_are_kept_dropped_and_replaced_as_published(draws: Any, assert_shares: Any) -> None:
    """Ten mentions of two tokens a row; every link's fate at its first token, and each asked about once."""
    mentions = np.repeat(np.arange(200 * 10).reshape(200, 10) % 97, 2, axis=1)
    aim = Noise(select=Nothing(), target=InPlaceWithLinks())(rows(mentions), draws(200), ALPHABET)
    shown, starts = aim.named["links"], np.zeros(mentions.shape, bool)
    starts[:, ::2] = True
    assert (shown[~starts] == -1).all()
    kept, dropped, replaced = (shown == mentions) & starts, (shown == -1) & starts, shown < -1
    assert (kept | dropped | replaced)[starts].all()
    assert_shares([kept.sum(), dropped.sum(), replaced.sum()], [0.80, 0.15, 0.05])
    assert (aim.others["kept_links"].where == kept).all() and (aim.others["noisy_links"].where == (dropped | replaced)).all()
    assert (aim.others["noisy_links"].what == mentions).all()
    assert len(np.unique(shown[replaced])) > 0.9 * replaced.sum()  # numbers by which the network chooses


def test_a_row_is_noised_alone(draws: Any) -> None:
    mentions = np.repeat(np.arange(60).reshape(6, 10), 2, axis=1)
    noise = Noise(select=Nothing(), target=InPlaceWithLinks())
    together = noise(rows(mentions), draws(6), ALPHABET).named["links"]
    from plume.core.seeds import Draws

    alone = [noise(rows(mentions[n : n + 1]), Draws(seed=0, epoch=0, index=np.array([n])), ALPHABET).named["links"][0] for n in range(6)]
    assert (together == np.stack(alone)).all()


def test_a_name_whose_token_is_hidden_has_no_meanings(draws: Any) -> None:
    """Names of three tokens side by side; one of whose tokens was chosen, masked or not, is shown by −2 or −3 throughout and not asked about."""
    forms = np.repeat(np.arange(50 * 7).reshape(50, 7) % 31, 3, axis=1)
    given = rows(forms + 100, forms=forms)
    noise = Noise(select=Tokens(rate=0.15), corrupt=Mask(), target=InPlaceWithForms())
    aim = noise(given, draws(50), ALPHABET)
    chosen = aim.where.reshape(50, 7, 3).any(2)
    shown = aim.named["forms"].reshape(50, 7, 3)
    assert (shown == shown[:, :, :1]).all()
    assert (shown[~chosen] == forms.reshape(50, 7, 3)[~chosen]).all() and (shown[chosen] < -1).all()
    side_by_side = chosen[:, 1:] & chosen[:, :-1]
    assert side_by_side.any() and (shown[:, 1:, 0] != shown[:, :-1, 0])[side_by_side].all()
    asked = np.zeros((50, 21), bool)
    asked[:, ::3] = ~chosen
    assert (aim.others["meanings"].where == asked).all() and (aim.others["meanings"].what == forms + 100).all()


def test_only_names_whose_meaning_is_said_are_asked_about(draws: Any) -> None:
    given = rows([[-1, 7, 7, -1, -1]], forms=[[-1, 3, 3, 5, -1]])
    aim = Noise(select=Nothing(), target=InPlaceWithForms())(given, draws(1), ALPHABET)
    assert aim.others["meanings"].where.tolist() == [[False, True, False, False, False]]
    assert aim.named["forms"].tolist() == [[-1, 3, 3, 5, -1]]


def test_shares_that_cannot_be() -> None:
    with pytest.raises(PlumeError, match="at most 1 together"):
        InPlaceWithLinks(replaced=0.6, dropped=0.5)
