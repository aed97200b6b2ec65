"""What the encoder reads and the decoder writes: the papers' examples, and that nothing is lost between the two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.core.seeds import Draws
from plume.noise.corrupt import Keep, Mask
from plume.noise.decoder_target import Continuation, SecondText, TheSpan, TheSpans, WholeText
from plume.noise.infilling import Delete, OneMask
from plume.noise.noise import Noise
from plume.noise.rearrange import PermutedSentences
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen, Nothing, Tokens
from plume.noise.sentinels import Sentinels, SpansAfterSentinels, spans_lengths
from plume.noise.spans import MeanSpans, OneSpan, PoissonSpans
from plume.noise.target import Aim

PAD, END, START, BEGIN, MASK = 0, 1, 2, 3, 4
SENTINELS = tuple(range(99, 69, -1))  # they descend from the vocabulary's end
ALPHABET = Alphabet(size=100, mask=MASK, pad=PAD, end=END, start=START, sentinels=SENTINELS)
T5 = Noise(select=MeanSpans(), corrupt=Sentinels(), target=SpansAfterSentinels())
BART = Noise(select=PoissonSpans(), corrupt=OneMask(), target=WholeText())
MASS = Noise(select=OneSpan(), corrupt=Mask(), target=TheSpan())
NOISES = [
    T5,
    BART,
    MASS,
    Noise(target=Continuation()),
    Noise(select=Tokens(), corrupt=Delete(), target=WholeText()),
    Noise(select=PoissonSpans(), corrupt=OneMask(random=0.1), target=TheSpans()),
]


def rows_of(sizes: list[int], *, begin: bool = False, seed: int = 0) -> Rows:
    """(begin), text, end, padding; ids of text are 10 to 69."""
    generator = np.random.default_rng(seed)
    length = np.array(sizes) + 1 + begin
    place = np.arange(length.max())
    special = (place >= length[:, None] - 1) | ((place == 0) & begin)
    tokens = np.stack([np.random.default_rng(seed + size).integers(10, 70, length.max()) for size in sizes])
    tokens = np.where(place == length[:, None] - 1, END, np.where(place >= length[:, None], PAD, tokens))
    if begin:
        tokens[:, 0] = BEGIN
    return Rows(tokens=tokens, length=length, special=special, word_start=(generator.random(special.shape) < 0.6) | special)


def read(aim: Aim, row: int) -> list[int]:
    assert aim.source is not None
    return aim.source.tokens[row, : aim.source.length[row]].tolist()


def written(aim: Aim, row: int) -> list[int]:
    return aim.what[row, : aim.length[row]].tolist()


def by_hand(sentence: str, *spans: tuple[int, int]) -> tuple[Rows, Chosen, dict[int, str]]:
    words = sentence.split()
    tokens = np.array([[10 + at for at in range(len(words))] + [END]])
    special = np.zeros(tokens.shape, bool)
    special[:, -1] = True
    picked, start = np.zeros(tokens.shape, bool), np.zeros(tokens.shape, bool)
    for first, last in spans:
        picked[0, first:last], start[0, first] = True, True
    names = (
        {10 + at: word for at, word in enumerate(words)}
        | {END: "</s>", START: "<pad>", MASK: "_"}
        | dict(zip(SENTINELS, "XYZ", strict=False))
    )
    rows = Rows(tokens=tokens, length=np.array([len(words) + 1]), special=special, word_start=np.ones(tokens.shape, bool))
    return rows, Chosen(tokens=picked, start=start), names


def test_t5_example_of_the_paper(draws: Any) -> None:
    """Figure 2 of T5."""
    rows, chosen, names = by_hand("Thank you for inviting me to your party last week", (2, 4), (8, 9))
    shown = Sentinels()(rows, chosen, draws(1), ALPHABET)
    aim = SpansAfterSentinels()(rows, chosen, shown, draws(1), ALPHABET)
    assert " ".join(names[token] for token in read(aim, 0)) == "Thank you X me to your party Y week </s>"
    assert " ".join(names[token] for token in written(aim, 0)) == "X for inviting Y last Z </s>"
    assert " ".join(names[token] for token in aim.shown[0].tolist()) == "<pad> X for inviting Y last Z"
    assert shown.origin is not None and shown.origin[0].tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]


def test_t5_published_lengths() -> None:
    assert SpansAfterSentinels().raw(512, MeanSpans()) == 569
    assert spans_lengths(568, 0.15, 3.0) == (512, 114)
    assert T5.raw(512) == 569
    assert max(spans_lengths(SpansAfterSentinels().raw(128, MeanSpans(rate=0.5)) - 1, 0.5, 3.0)) <= 128


def test_t5_of_568_tokens_reads_512_and_writes_114() -> None:
    aim = T5(rows_of([568]), Draws(seed=0, epoch=0, index=np.arange(1)), ALPHABET)
    assert aim.source is not None and (aim.source.length.tolist(), aim.length.tolist()) == ([512], [114])


@pytest.mark.parametrize("select", [MeanSpans(), MeanSpans(roll=True), MeanSpans(rate=0.5, mean=6.0), PoissonSpans()])
def test_putting_the_spans_back_gives_the_text(select: Any, draws: Any) -> None:
    rows = rows_of([1, 2, 3, 9, 40, 64] * 10, seed=3)
    aim = replace(T5, select=select)(rows, draws(60), ALPHABET)
    for row in range(60):
        spans: dict[int, list[int]] = {}
        for token in written(aim, row)[:-1]:
            if token in SENTINELS:
                spans[token] = last = []
            else:
                last.append(token)
        text = [token for shown in read(aim, row) for token in (spans[shown] if shown in SENTINELS else [shown])]
        assert text == rows.tokens[row, : rows.length[row]].tolist()
        assert list(spans) == list(SENTINELS[: len(spans)]) and written(aim, row)[-1] == END


def test_too_few_sentinels_says_what_to_do(draws: Any) -> None:
    with pytest.raises(PlumeError, match="needs 28 sentinels and the tokenizer has 5"):
        T5(rows_of([568]), draws(1), replace_sentinels(SENTINELS[:5]))


def replace_sentinels(sentinels: tuple[int, ...]) -> Alphabet:
    return Alphabet(size=100, mask=MASK, end=END, start=START, sentinels=sentinels)


def test_bart_example_and_decoder_input(draws: Any) -> None:
    rows, chosen, names = by_hand("A B C D E", (1, 3))
    inserted = np.zeros(rows.tokens.shape, np.int64)
    inserted[0, [0, 3, 5]] = 1, 2, 1
    chosen = Chosen(tokens=chosen.tokens, start=chosen.start, inserted=inserted)
    aim = WholeText()(rows, chosen, OneMask()(rows, chosen, draws(1), ALPHABET), draws(1), ALPHABET)
    assert " ".join(names[token] for token in read(aim, 0)) == "_ A _ _ _ D E _ </s>"
    assert " ".join(names[token] for token in written(aim, 0)) == "A B C D E </s>"
    assert aim.shown[0].tolist() == [START, 10, 11, 12, 13, 14]


def test_bart_writes_the_whole_row_as_it_was(draws: Any) -> None:
    rows = rows_of([50, 20, 3], begin=True)
    sentence = np.where(rows.special, -1, np.arange(52) // 7)
    aim = replace(BART, rearrange=PermutedSentences())(replace(rows, sentence=sentence), draws(3), ALPHABET)
    for row in range(3):
        assert written(aim, row) == rows.tokens[row, : rows.length[row]].tolist()  # begin and end counted in, once
        assert aim.shown[row, : aim.length[row]].tolist() == [START, *written(aim, row)[:-1]]
        assert read(aim, row)[0] == BEGIN and read(aim, row)[-1] == END


def test_rows_without_an_end_are_closed(draws: Any) -> None:
    rows = Rows(tokens=np.array([[10, 11, 12]]), length=np.array([3]), special=np.zeros((1, 3), bool), word_start=np.ones((1, 3), bool))
    assert written(Noise(target=WholeText())(rows, draws(1), ALPHABET), 0) == [10, 11, 12, END]


def test_deleted_tokens_vanish_and_the_rest_keeps_its_order(draws: Any) -> None:
    rows = rows_of([100] * 20, begin=True)
    chosen = Tokens(rate=0.3)(rows, draws(20))
    shown = Delete()(rows, chosen, draws(20), ALPHABET)
    for row in range(20):
        assert shown.tokens[row, : shown.length[row]].tolist() == rows.tokens[row][~chosen.tokens[row]].tolist()
    assert (shown.length == 102 - 31).all()


def test_one_mask_may_be_random_by_span(draws: Any) -> None:
    rows = rows_of([200] * 300)
    chosen = PoissonSpans()(rows, draws(300))
    shown = OneMask(random=0.1)(rows, chosen, draws(300, seed=1), ALPHABET)
    plain = OneMask()(rows, chosen, draws(300, seed=1), ALPHABET)
    assert (shown.length == plain.length).all()
    spans = plain.tokens == MASK
    assert (shown.tokens == plain.tokens)[~spans].all()
    assert chosen.inserted is not None
    random_share = (shown.tokens != MASK)[spans].sum() / chosen.start.sum()
    assert abs(random_share - 0.1) < 0.01


def test_mass_predicts_the_span_at_its_true_positions(draws: Any) -> None:
    rows = rows_of([20, 9], begin=True)
    aim = MASS(rows, draws(2), ALPHABET)
    assert aim.position is not None
    for row in range(2):
        size = int(aim.length[row])
        place = aim.position[row, :size] + 1
        assert size == [10, 4][row] and (np.diff(place) == 1).all()
        assert written(aim, row) == rows.tokens[row, place].tolist()
        assert aim.shown[row, :size].tolist() == rows.tokens[row, place - 1].tolist()  # the text's own token before each
        hidden = np.zeros(rows.tokens.shape[1], bool)
        hidden[place] = True
        assert (np.array(read(aim, row)) == rows.tokens[row, : rows.length[row]])[~hidden[: rows.length[row]]].all()
        assert (np.array(read(aim, row))[place] == MASK).sum() >= size // 2
    assert aim.where.sum(1).tolist() == aim.length.tolist()


def test_palm_reads_four_fifths_and_writes_the_rest(draws: Any) -> None:
    rows = rows_of([100, 10, 2, 1], begin=True)
    aim = Noise(target=Continuation())(rows, draws(4), ALPHABET)
    assert aim.source is not None and (aim.source.length.tolist(), aim.length.tolist()) == ([82, 10, 3, 3], [21, 3, 2, 1])
    for row in range(4):
        text = rows.tokens[row, : rows.length[row]].tolist()
        assert read(aim, row)[:-1] + written(aim, row) == text and read(aim, row)[-1] == END


def test_palm_also_reads_a_masked_beginning(draws: Any) -> None:
    rows = rows_of([100], begin=True)
    aim = Noise(select=Tokens(), corrupt=Mask(mask=1.0, random=0.0), target=Continuation())(rows, draws(1), ALPHABET)
    assert 5 < read(aim, 0).count(MASK) < 20 and MASK not in written(aim, 0) and len(read(aim, 0)) == 82


def test_pairs_are_source_and_target(draws: Any) -> None:
    tokens = np.array([[10, 11, 12, 9, 20, 21, 9], [13, 9, 22, 23, 24, 9, PAD]])
    segment = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 0]])
    special = (tokens == 9) | (tokens == PAD)
    rows = Rows(tokens=tokens, length=np.array([7, 6]), special=special, word_start=~special, segment=segment)
    aim = Noise(target=SecondText())(rows, draws(2), ALPHABET)
    assert [read(aim, row) for row in (0, 1)] == [[10, 11, 12, END], [13, END]]
    assert [written(aim, row) for row in (0, 1)] == [[20, 21, END], [22, 23, 24, END]]
    assert aim.shown.tolist() == [[START, 20, 21, PAD], [START, 22, 23, 24]]
    assert aim.segment is not None and not aim.segment.any()  # the decoder's places are not those of the row
    with pytest.raises(PlumeError, match="pairs"):
        Noise(target=SecondText())(replace(rows, segment=None), draws(2), ALPHABET)


@pytest.mark.parametrize("noise", NOISES)
def test_teacher_forcing_padding_and_repeatability(noise: Noise, draws: Any) -> None:
    rows = rows_of([50, 3, 17], begin=True)
    aim, again = (noise(rows, draws(3), ALPHABET) for _ in range(2))
    assert (aim.where == (np.arange(aim.what.shape[1]) < aim.length[:, None])).all()
    assert (aim.shown[~aim.where] == PAD).all() and (aim.what[~aim.where] == PAD).all()
    assert aim.shown.dtype == aim.what.dtype == np.int64
    if not isinstance(noise.target, TheSpan):
        assert (aim.shown[:, 0] == START).all() and (aim.shown[:, 1:] == aim.what[:, :-1])[aim.where[:, 1:]].all()
    assert aim.source is not None and again.source is not None
    inside = np.arange(aim.source.tokens.shape[1]) < aim.source.length[:, None]
    assert (aim.source.tokens[~inside] == PAD).all() and (aim.source.tokens[inside] != PAD).all()
    assert (aim.what == again.what).all() and (aim.source.tokens == again.source.tokens).all()
    assert part_from_json(noise.to_json()) == noise


@pytest.mark.parametrize("noise", NOISES)
def test_a_row_is_the_same_in_any_batch(noise: Noise, draws: Any) -> None:
    many = rows_of([30, 64, 3], begin=True)
    one = Rows(**{name: getattr(many, name)[:1, :32] for name in ("tokens", "special", "word_start")}, length=many.length[:1])
    among, alone = noise(many, draws(3), ALPHABET), noise(one, draws(1), ALPHABET)
    assert read(among, 0) == read(alone, 0) and written(among, 0) == written(alone, 0)


def test_mass_answers_the_token_that_closes_the_row(draws: Any) -> None:
    """And only where the noise says that it may be hidden; the decoder reads the text's last token for it, at its place."""
    rows = rows_of([9] * 400, begin=True)
    for closing in (False, True):
        noise = Noise(select=OneSpan(closing=closing), corrupt=Mask(), target=TheSpan())
        aim = noise(rows, draws(400), ALPHABET)
        last = aim.what[np.arange(400), aim.length - 1] == END
        assert noise.closes is closing and last.mean() == pytest.approx(0.3 * closing, abs=0.08)  # 0.2 + 0.6 / 6
        if closing:
            ends = np.flatnonzero(last)
            assert aim.position is not None and (aim.position[ends, aim.length[ends] - 1] == 9).all()
            assert (aim.shown[ends, aim.length[ends] - 1] == rows.tokens[ends, 9]).all()


@pytest.mark.parametrize("noise", [noise for noise in NOISES if noise is not MASS])
def test_what_says_that_it_closes_does(noise: Noise, draws: Any) -> None:
    aim = noise(rows_of([30, 64, 3]), draws(3), ALPHABET)
    assert noise.closes and (aim.what[np.arange(3), aim.length - 1] == END).all()


@pytest.mark.parametrize("missing", ["start", "end"])
def test_an_alphabet_without_start_or_end_is_refused(missing: str, draws: Any) -> None:
    alphabet = Alphabet(size=9, mask=MASK, end=None if missing == "end" else 1, start=None if missing == "start" else 2)
    with pytest.raises(PlumeError, match=missing):
        BART(rows_of([5]), draws(1), alphabet)


def test_trivial_losses() -> None:
    """Only what the input does not show must be guessed."""
    assert WholeText().trivial_loss(10.0, PoissonSpans(), OneMask()) == 10.0
    assert SpansAfterSentinels().trivial_loss(10.0, MeanSpans(), Sentinels()) == pytest.approx((3 * 10 + 1.9095) / 4, abs=1e-4)
    assert TheSpans().trivial_loss(10.0, PoissonSpans(), OneMask(intact=0.1)) == pytest.approx(9.0)
    assert TheSpan().trivial_loss(7.0, OneSpan(), Mask()) == pytest.approx(Mask().trivial_loss(7.0))
    assert Continuation().trivial_loss(7.0, Nothing(), Keep()) == 7.0
