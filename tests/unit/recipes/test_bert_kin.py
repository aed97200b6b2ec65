"""What is special in SpanBERT, ERNIE, StructBERT, XLM, UniLM, GLM and DeepMoji: their batches as training sees them, and how they write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.collate import gather
from plume.heads.token_prediction import TokenPrediction
from plume.model.recipe import Recipe
from plume.model.use.rows import rows as texts
from plume.model.use.writers import MaskWriter, SpanWriter
from plume.nn.visibility import ranks
from plume.noise.appended import AppendedSpans
from plume.noise.blanks import LongBlank
from plume.noise.infilling import OneMask
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.skip_grams import SkipGrams
from plume.recipes import _catalog as catalog


def kind_of(recipe: Recipe, name: str) -> Any:
    return next(kind for kind in recipe.kinds if kind.name == name)


def whole(reader: Any, step: int = 0) -> tuple[Rows, Any]:
    """The rows of a batch, and what the noise makes of them."""
    plan, batches = reader.plan(0)
    rows = gather(reader.store, plan, batches[step], reader.frame, reader.special)
    return rows, reader.collator.noise(rows, Draws(seed=reader.seed, epoch=0, index=batches[step]), reader.collator.alphabet)


# One head for several objectives


@pytest.mark.parametrize(
    ("family", "heads"),
    [
        ("spanbert", {"masked_lm", "span_boundary"}),
        ("ernie", {"masked_lm", "next_sentence"}),
        ("structbert", {"masked_lm", "sentence_structure"}),
        ("xlm", {"masked_lm"}),
        ("unilm", {"masked_lm", "next_sentence"}),
        ("glm", {"blank_infilling"}),
    ],
)
def test_objectives_share_a_head(family: str, heads: set[str], miniature: Any) -> None:
    recipe = miniature(family)
    model = recipe.assembly.build(recipe, vocabulary=60)
    assert set(model.heads) == heads
    for objective in recipe.objectives:
        assert model.head(objective.name) is model.heads[objective.head_of or objective.name]


def test_a_shared_head_must_be_there_and_be_the_same() -> None:
    ernie = catalog.recipe("ernie/tiny")
    with pytest.raises(PlumeError, match=r"phrase_masking uses the head of masked_lm, and no objective of that name"):
        replace(ernie, objectives=tuple(replace(o, during=(0.0, 1.0)) for o in ernie.objectives[1:]))
    other = replace(ernie.objectives[1], head=TokenPrediction(bias=False))
    with pytest.raises(PlumeError, match="two different ones"):
        replace(ernie, objectives=(ernie.objectives[0], other, *ernie.objectives[2:]))


# SpanBERT


def test_spanbert_draws_a_fate_for_each_span(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("spanbert", length=64), rows=64)
    mask = reader.collator.alphabet.mask
    fates = {"mask": 0, "kept": 0, "random": 0}
    for step in range(len(reader.plan(0)[1])):
        rows, aim = whole(reader, step)
        starts = aim.where & ~np.pad(aim.where, ((0, 0), (1, 0)))[:, :-1]
        for row, first in zip(*np.nonzero(starts), strict=True):
            end = first + int(np.argmin(np.append(aim.where[row, first:], False)))
            shown, text = aim.shown[row, first:end], rows.tokens[row, first:end]
            masked = shown == mask
            assert masked.all() or not masked.any()
            if end - first > 2:  # a random draw may hit the text by chance, but not three times
                fates["mask" if masked.all() else "kept" if (shown == text).all() else "random"] += 1
    total = sum(fates.values())
    assert total > 100
    assert fates["mask"] / total == pytest.approx(0.8, abs=0.1)
    assert fates["kept"] > 0 and fates["random"] > 0


def test_spanbert_asks_for_both_with_equal_weight(miniature: Any, reader_for: Any) -> None:
    recipe = miniature("spanbert", length=64)
    (kind,) = recipe.kinds
    assert [kind.scale(objective) for objective in kind.objectives] == [1.0, 1.0]
    reader = reader_for(recipe, narrow=False)
    rows, aim = whole(reader)
    batch = reader.collator(rows, Draws(seed=0, epoch=0, index=reader.plan(0)[1][0]))
    ends = batch.labels["span_boundary"]
    time = batch.tokens.shape[1]
    assert 0 < len(ends.value) <= len(batch.labels["masked_lm"].value)
    for index, value, (left, right), place in zip(ends.index, ends.value, ends.context, ends.feature, strict=True):
        row, column = divmod(int(index), time)
        assert value == rows.tokens[row, column]
        assert left // time == right // time == row
        inside = aim.where[row, left % time + 1 : right % time]
        assert inside.all() and not aim.where[row, left % time] and not aim.where[row, right % time]
        assert place == column - left % time - 1


# ERNIE


def test_ernie_hides_units_whole_stage_by_stage(miniature: Any, reader_for: Any) -> None:
    recipe = miniature("ernie", length=64)
    assert [(kind.name, kind.during) for kind in recipe.kinds] == [
        ("masked_lm", (0.0, 1 / 3)),
        ("phrase_masking", (1 / 3, 2 / 3)),
        ("entity_masking", (2 / 3, 1.0)),
    ]
    for name, unit in (("phrase_masking", "phrase"), ("entity_masking", "entity")):
        reader = reader_for(recipe, kind=kind_of(recipe, name), rows=64)
        longer = cut = 0
        for step in range(len(reader.plan(0)[1])):
            rows, aim = whole(reader, step)
            number = np.cumsum(rows.units[unit] | rows.special, axis=1)
            inside = ~rows.units[unit] & ~rows.special
            same = inside[:, 1:] & ~rows.special[:, :-1] & (number[:, 1:] == number[:, :-1])
            cut += int((same & (aim.where[:, 1:] != aim.where[:, :-1])).sum())
            words = ~rows.word_start[:, 1:]
            longer += int((same & aim.where[:, 1:] & ~words).sum())  # a second word of a unit, hidden with the first
        assert cut == 0
        assert longer > 10


# StructBERT


def test_structbert_shuffles_five_percent_and_asks_for_the_order(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("structbert", length=64), rows=64)
    moved = tokens = wrong = 0
    labels: list[int] = []
    for step in range(len(reader.plan(0)[1])):
        rows, aim = whole(reader, step)
        asked = aim.others["moved"]
        assert not (asked.where & aim.where).any()
        assert (np.sort(aim.shown[asked.where]) == np.sort(asked.what[asked.where])).all()
        moved += int(asked.where.sum())
        wrong += int((aim.shown != asked.what)[asked.where].sum())
        tokens += int(rows.length.sum())
        labels += [] if rows.label is None else rows.label.tolist()
    assert moved / tokens == pytest.approx(0.05, abs=0.015)
    assert wrong / moved == pytest.approx(2 / 3, abs=0.12)  # of three tokens in a random order, two are out of place
    assert set(labels) == {0, 1, 2}


# XLM


def test_xlm_numbers_languages_and_begins_positions_again(miniature: Any, reader_for: Any) -> None:
    recipe = miniature("xlm", length=48)
    one = reader_for(recipe, kind=kind_of(recipe, "masked_lm"))
    rows, _ = whole(one)
    inside = np.arange(rows.tokens.shape[1]) < rows.length[:, None]
    assert rows.segment is not None and rows.position is None
    languages = [set(rows.segment[row][inside[row]].tolist()) for row in range(len(rows.tokens))]
    assert all(len(found) == 1 for found in languages) and set().union(*languages) == {0, 1}
    both = reader_for(recipe, kind=kind_of(recipe, "translation_lm"))
    rows, _ = whole(both)
    separator = both.tokenizer.separator
    for row in range(len(rows.tokens)):
        middle = int(np.flatnonzero(rows.tokens[row] == separator)[0])
        end = int(rows.length[row])
        assert rows.segment is not None and rows.position is not None
        assert rows.segment[row, 1:middle].tolist() == [0] * (middle - 1)
        assert rows.segment[row, middle + 1 : end].tolist() == [1] * (end - middle - 1)
        assert rows.position[row, :end].tolist() == [*range(middle + 1), *range(end - middle - 1)]


# UniLM


def test_unilm_mixes_four_kinds_of_batch(miniature: Any, mixture_for: Any) -> None:
    recipe = miniature("unilm", length=48)
    mixture = mixture_for(recipe)
    turns = np.bincount([mixture.kind(step, range(4)) for step in range(6000)], minlength=4) / 6000
    names = [kind.name for kind in recipe.kinds]
    assert names == ["masked_lm", "sequence_to_sequence_lm", "left_to_right_lm", "right_to_left_lm"]
    np.testing.assert_allclose(turns, [1 / 3, 1 / 3, 1 / 6, 1 / 6], atol=0.02)
    assert [objective.name for objective in recipe.kinds[0].objectives] == ["masked_lm", "next_sentence"]
    assert all(kind.scale(objective) == 1.0 for kind in recipe.kinds for objective in kind.objectives)


def test_unilm_sees_by_kind(miniature: Any, reader_for: Any, on_cpu: Any) -> None:
    recipe = miniature("unilm", length=48)
    numbers = {"masked_lm": {0, 1}, "sequence_to_sequence_lm": {4, 5}, "left_to_right_lm": {2}, "right_to_left_lm": {3}}
    for kind in recipe.kinds:
        batch = on_cpu(reader_for(recipe, kind=kind, narrow=False).batch(_first()))
        time = batch.tokens.shape[1]
        length = torch.full((len(batch.tokens),), time) if batch.length is None else batch.length
        segment = batch.segment
        assert segment is not None
        rank = ranks(batch)
        sees = rank[:, None, :] <= rank[:, :, None]
        for row, end in enumerate(length.tolist()):
            assert set(segment[row, :end].tolist()) <= numbers[kind.name]
            own = sees[row, :end, :end]
            query, key = torch.arange(end)[:, None], torch.arange(end)[None]
            second = segment[row, :end] == 5
            expected = {
                "masked_lm": torch.ones(end, end, dtype=torch.bool),
                "left_to_right_lm": key <= query,
                "right_to_left_lm": key >= query,
                "sequence_to_sequence_lm": ~second[None] | (second[:, None] & (key <= query)),
            }[kind.name]
            assert torch.equal(own, expected), kind.name


def _first() -> Any:
    from plume.data.loader import Cursor

    return Cursor()


def rows_of(length: int, count: int) -> Rows:
    place = np.broadcast_to(np.arange(length), (count, length))
    special = (place == 0) | (place == length - 1) | (place == length // 2)
    return Rows(
        tokens=np.where(special, 3, 5 + place % 40), length=np.full(count, length), special=special, word_start=np.ones(place.shape, bool)
    )


def test_skip_grams_have_the_papers_shares(assert_shares: Any) -> None:
    rows, draws = rows_of(65, 2000), Draws(seed=1, epoch=0, index=np.arange(2000))
    for closing in (False, True):
        chosen = SkipGrams(closing=closing)(rows, draws)
        assert (chosen.tokens.sum(1) == 10).all()  # 15% of 65, and every budget is met
        assert not (chosen.tokens & rows.special)[:, :-1].any()
        ends = chosen.tokens[:, -1].mean()
        assert ends == pytest.approx(10 / 63 if closing else 0.0, abs=0.03)
        assert not (chosen.start & ~chosen.tokens).any()
    # The first run drawn is whole: with a budget of three there is one run of 1, 2 or 3, and its rest.
    chosen = SkipGrams(rate=3 / 65, several=1.0)(rows, draws)
    runs = np.diff(np.flatnonzero(np.append(chosen.start[chosen.tokens], True)))
    assert set(runs.tolist()) <= {1, 2, 3} and 2 in runs and 3 in runs
    single = SkipGrams(several=0.0)(rows, draws)
    assert (single.start == single.tokens).all()


def test_a_row_does_not_depend_on_its_batch() -> None:
    short, index = rows_of(40, 3), np.array([4, 7, 9])
    wide = Rows(
        tokens=np.pad(short.tokens, ((0, 0), (0, 25))),
        length=short.length,
        special=np.pad(short.special, ((0, 0), (0, 25)), constant_values=True),
        word_start=np.pad(short.word_start, ((0, 0), (0, 25))),
    )
    expected = SkipGrams(closing=True)(wide, Draws(seed=1, epoch=2, index=index))
    for row in range(3):
        alone = Rows(
            tokens=short.tokens[row : row + 1],
            length=short.length[:1],
            special=short.special[row : row + 1],
            word_start=short.word_start[:1],
        )
        found = SkipGrams(closing=True)(alone, Draws(seed=1, epoch=2, index=index[row : row + 1]))
        assert np.array_equal(found.tokens[0], expected.tokens[row, :40]) and not expected.tokens[row, 40:].any()


def test_one_run_in_five_is_longer(assert_shares: Any) -> None:
    """With room for one run of any length, its length is 1, 2 or 3 with 80, 10 and 10 percent."""
    rows = replace_special(rows_of(101, 6000))
    chosen = SkipGrams(rate=3 / 101)(rows, Draws(seed=2, epoch=0, index=np.arange(6000)))
    order = SkipGrams(rate=1 / 101)(rows, Draws(seed=2, epoch=0, index=np.arange(6000)))  # the same draws: where the first run begins
    first = order.tokens.argmax(1)
    row = np.arange(6000)
    second = chosen.tokens[row, np.minimum(first + 1, 100)] & ~chosen.start[row, np.minimum(first + 1, 100)]
    third = second & chosen.tokens[row, np.minimum(first + 2, 100)] & ~chosen.start[row, np.minimum(first + 2, 100)]
    inner = first < 97
    lengths = 1 + second[inner].astype(int) + third[inner]
    assert_shares(np.bincount(lengths, minlength=4)[1:], [0.8, 0.1, 0.1])


def replace_special(rows: Rows) -> Rows:
    return Rows(tokens=rows.tokens, length=rows.length, special=np.zeros(rows.tokens.shape, bool), word_start=rows.word_start)


def test_unilm_writes_as_it_was_trained(miniature: Any, built: Any) -> None:
    """Each next token as the whole text with a mask at its place gives it, in the segment of one-way text."""
    model = built(miniature("unilm")).eval()
    text, mask = [7, 9, 11, 13, 8], 4
    writer = MaskWriter(model, model.head("left_to_right_lm"), texts([text[:2]]), mask, segment=2)
    with torch.no_grad():
        found = [writer.first(), *(writer.go_on(torch.tensor([token])) for token in text[2:])]
        for number, scores in enumerate(found):
            shown = torch.tensor([[*text[: 2 + number], mask]])
            encoded = model.encode(Batch(tokens=shown, order=Order.CAUSAL, segment=torch.full_like(shown, 2)))
            expected = model.head("masked_lm").logits(encoded.last[:, -1]).log_softmax(-1)
            assert float((scores - expected).abs().max()) < 1e-5  # scores are float32


# GLM


def test_glm_mixes_spans_sentences_and_documents(miniature: Any) -> None:
    assert [(kind.name, kind.share) for kind in miniature("glm").kinds] == [
        ("blank_infilling", 0.5),
        ("sentence_infilling", 0.3),
        ("document_infilling", 0.2),
    ]


def test_glm_batches_are_an_oracles(miniature: Any, reader_for: Any) -> None:
    """Part A, part B, both positions and who sees whom, one row at a time from the paper's words (§2.1, §2.2)."""
    recipe = miniature("glm", length=64)
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind)
        plan, batches = reader.plan(0)
        rows = gather(reader.store, plan, batches[0], reader.frame, reader.special)
        draws = Draws(seed=0, epoch=0, index=batches[0])
        chosen = kind.noise.select(rows, draws)
        batch = reader.collator(rows, Draws(seed=0, epoch=0, index=batches[0]))
        alphabet = reader.collator.alphabet
        full = _whole_answers(batch)
        for row, length in enumerate(rows.length.tolist()):
            a, spans, place = [], {}, 0
            while place < length:
                if chosen.start[row, place]:
                    end = place + 1
                    while end < length and chosen.tokens[row, end] and not chosen.start[row, end]:
                        end += 1
                    spans[len(a)] = rows.tokens[row, place:end].tolist()
                    a.append(alphabet.mask)
                    place = end
                else:
                    a.append(int(rows.tokens[row, place]))
                    place += 1
            size = len(a) + sum(len(span) + 1 for span in spans.values())
            assert batch.tokens[row, : len(a)].tolist() == a
            assert batch.position[row, : len(a)].tolist() == [*range(len(a))]
            assert not batch.within[row, : len(a)].any()
            here, left = len(a), dict(spans)
            while left:  # in whatever order
                mask_place = int(batch.position[row, here])
                span = left.pop(mask_place)
                stretch = slice(here, here + len(span) + 1)
                assert batch.tokens[row, stretch].tolist() == [alphabet.start, *span]
                assert full[row, stretch].tolist() == [*span, alphabet.end]
                assert batch.position[row, stretch].tolist() == [mask_place] * (len(span) + 1)
                assert batch.within[row, stretch].tolist() == [*range(1, len(span) + 2)]
                here += len(span) + 1
            assert here == size == (batch.tokens.shape[1] if batch.length is None else batch.length[row])
            assert batch.rank[row, :size].tolist() == [0] * len(a) + [*range(1, size - len(a) + 1)]


def _whole_answers(batch: Any) -> np.ndarray:
    (target,) = batch.labels.values()
    answers = np.full(batch.tokens.size, -1)
    answers[target.index] = target.value
    return answers.reshape(batch.tokens.shape)


def test_glm_writes_as_it_was_trained(miniature: Any, built: Any, on_cpu: Any) -> None:
    """Token by token with a cache, a blank gets the scores that the training batch gives it."""
    model = built(miniature("glm")).eval()
    alphabet = Alphabet(size=60, mask=4, start=5, end=6)
    tokens = np.array([[2, 20, 21, 22, 23, 24, 25, 3]])
    special = (tokens == 2) | (tokens == 3)
    rows = Rows(tokens=tokens, length=np.array([8]), special=special, word_start=np.ones(tokens.shape, bool))
    noise = Noise(select=LongBlank(at_end=0.0), corrupt=OneMask(), target=AppendedSpans(), order=Order.RANKED)
    aim = noise(rows, Draws(seed=3, epoch=0, index=np.array([0])), alphabet)
    shown, where = aim.shown[0], aim.where[0]
    text = shown[~where].tolist()
    batch = on_cpu(Batch(tokens=aim.shown, order=Order.RANKED, rank=aim.rank, position=aim.position, within=aim.within))
    head = model.head("document_infilling")
    with torch.no_grad():
        expected = head.logits(model.encode(batch).last[0, torch.from_numpy(where)]).float().log_softmax(-1)
        writer = SpanWriter(model, head, texts([text]), [text.index(4)], 5)
        found = [writer.first(), *(writer.go_on(torch.tensor([token])) for token in aim.what[0][where][:-1])]
    assert len(found) == len(expected) >= 4
    assert float((torch.cat(found) - expected).abs().max()) < 1e-5


# DeepMoji


def test_deepmoji_asks_for_the_emoji_that_were_taken_out(miniature: Any, reader_for: Any, stores_for: Any) -> None:
    recipe = miniature("deepmoji")
    reader = reader_for(recipe)
    store = stores_for(recipe).train
    assert 2 <= len(store.labels) <= 64
    rows, aim = whole(reader)
    batch = reader.batch(_first())
    target = batch.labels["emoji_prediction"]
    assert len(target.value) == len(batch.tokens) and set(target.value.tolist()) <= set(range(len(store.labels)))
    words = reader.tokenizer.decode(rows.tokens[0].tolist())
    assert not any(emoji in words for emoji in store.labels)
    assert not aim.where.any()
