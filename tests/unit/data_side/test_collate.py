"""Rows wrapped as the tokeniser's own post-processor would wrap them, and labels that point where they should."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Batch, Target
from plume.core.seeds import Draws
from plume.data.collate import Collator, Frame, gather, narrowed
from plume.data.layout import Blocks, FullSentences, Plan, SentencePairs
from plume.data.loader import Cursor
from plume.noise.corrupt import Mask
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Tokens
from plume.recipes import _catalog as catalog

FAMILIES = catalog.families()
TEXTS = [("My sister finds a wooden box.", "老师看见自然语言。"), ("The cat paints.", "Two apples, uncomfortably."), ("我们", "the river")]


def store_with(texts: list[list[int]], vocabulary: int) -> tuple[Any, np.ndarray]:
    """A store of these texts one after another, and the bounds of each."""
    tokens = np.array([token for text in texts for token in text])
    bounds = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return SimpleNamespace(tokens=tokens, word_start=np.ones(len(tokens), bool), vocabulary=vocabulary), bounds


def wrapped(recipe: Any, tokenizer: Any, *, texts: int) -> tuple[Rows, list[Any]]:
    """TEXTS gathered by us, and encoded by the `tokenizers` library itself."""
    ids = [tokenizer.encode(list(pair))[:texts] for pair in TEXTS]
    store, bounds = store_with([text for row in ids for text in row], tokenizer.size)
    plan = Plan(start=bounds[:-1].reshape(-1, texts), end=bounds[1:].reshape(-1, texts))
    frame = Frame.of(SentencePairs() if texts == 2 else FullSentences(), tokenizer)
    special = np.zeros(tokenizer.size, bool)
    special[tokenizer.special_ids] = True
    rows = gather(store, plan, np.arange(len(TEXTS)), frame, special)
    return rows, [tokenizer.backend.encode(*pair[:texts]) for pair in TEXTS]


@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_wrapped_as_the_tokeniser_does(family: str, texts: int, tokenizer_for: Any) -> None:
    recipe = catalog.recipe(family)
    tokenizer = tokenizer_for(recipe)
    rows, expected = wrapped(recipe, tokenizer, texts=texts)
    plain = recipe.format.single == ("A",)  # GPT wraps nothing, and tells no texts apart; the library counts them as segments all the same
    for row, encoding in enumerate(expected):
        length = len(encoding.ids)
        assert rows.length[row] == length
        assert rows.tokens[row, :length].tolist() == encoding.ids
        assert (rows.tokens[row, length:] == tokenizer.pad).all()
        # What the tokeniser does not know is never hidden either: there would be nothing to learn.
        special = [
            bool(mask) or number == tokenizer.unknown for mask, number in zip(encoding.special_tokens_mask, encoding.ids, strict=True)
        ]
        assert rows.special[row].tolist() == special + [True] * (rows.tokens.shape[1] - length)
        segment = np.zeros(length) if rows.segment is None else rows.segment[row, :length]
        assert plain or segment.tolist() == encoding.type_ids
    assert rows.tokens.shape[1] == rows.length.max()


def test_blocks_are_not_wrapped(tokenizer_for: Any) -> None:
    frame = Frame.of(Blocks(), tokenizer_for(catalog.recipe("bert")))
    assert (frame.pieces, frame.specials) == ((None,), 0)


def test_separators_within_a_row_are_special(tokenizer_for: Any) -> None:
    """A row across documents holds the store's separator, which is never selected."""
    tokenizer = tokenizer_for(catalog.recipe("roberta"))
    store, _ = store_with([[9, 10, tokenizer.separator, 11, 12]], tokenizer.size)
    special = np.zeros(tokenizer.size, bool)
    special[tokenizer.special_ids] = True
    rows = gather(store, Plan(start=np.array([[0]]), end=np.array([[5]])), np.array([0]), Frame.of(FullSentences(), tokenizer), special)
    assert rows.special[0].tolist() == [True, False, False, True, False, False, True]


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_the_store_s_tokens_and_words(family: str, miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature(family))
    plan, batches = reader.plan(0)
    rows = gather(reader.store, plan, batches[0], reader.frame, reader.special)
    for row, number in enumerate(batches[0]):
        column, text = 0, 0
        for piece in reader.frame.pieces:
            if piece is not None:
                assert (rows.tokens[row, column], rows.special[row, column]) == (piece, True)
                column += 1
                continue
            there = slice(plan.start[number, text], plan.end[number, text])
            here = slice(column, column + there.stop - there.start)
            assert rows.tokens[row, here].tolist() == reader.store.tokens[there].tolist()
            assert rows.word_start[row, here].tolist() == reader.store.word_start[there].tolist()
            assert rows.special[row, here].tolist() == reader.special[reader.store.tokens[there]].tolist()
            column, text = here.stop, text + 1
        assert column == rows.length[row]
    assert not rows.word_start.all()


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_point_at_the_hidden_tokens(family: str, miniature: Any, reader_for: Any) -> None:
    """What a head is asked at `index` is the text there (or, left to right, the text after it)."""
    reader = reader_for(miniature(family), narrow=False)
    plan, batches = reader.plan(0)
    rows = gather(reader.store, plan, batches[0], reader.frame, reader.special)
    batch = reader.collator(rows, Draws(seed=0, epoch=0, index=batches[0]))
    time = batch.tokens.shape[1]
    causal = "causal_lm" in batch.labels
    for name, target in batch.labels.items():
        row, place = np.divmod(target.index, time)
        if name in ("next_sentence", "sentence_order"):
            assert row.tolist() == list(range(len(batch.tokens)))
            assert (place == 0).all()
            assert target.value.tolist() == plan.label[batches[0]].tolist()
        else:
            assert (target.value == rows.tokens[row, place + causal]).all()
            assert (place + causal < rows.length[row]).all()
    if causal:
        assert len(batch.labels["causal_lm"].value) == (rows.length - 1).sum()
        assert (batch.tokens == rows.tokens[:, :-1]).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_slots_name_the_same_positions_as_indices(family: str, miniature: Any, reader_for: Any) -> None:
    reader, whole = reader_for(miniature(family)), reader_for(miniature(family), narrow=False)
    step = next(reader.batches(Cursor(), workers=0)).batches[0]
    plain = next(whole.batches(Cursor(), workers=0)).batches[0]
    assert plain.read is None
    assert (step.read is None) == (family in ("gpt", "gpt2"))  # left to right, every position is read
    for name, target in step.labels.items():
        assert (target.index == plain.labels[name].index).all()
        assert (target.value == plain.labels[name].value).all()
        if step.read is not None:
            row, slot = np.divmod(target.slot, step.read.shape[1])
            assert (row * step.tokens.shape[1] + step.read[row, slot] == target.index).all()


def test_a_batch_that_reads_most_positions_is_left_alone() -> None:
    tokens = np.zeros((2, 4), np.int64)
    few = Batch(tokens=tokens, labels={"x": Target(index=np.array([1, 2, 7]), value=np.array([5, 6, 7]))})
    many = Batch(tokens=tokens, labels={"x": Target(index=np.array([0, 1, 2]), value=np.array([5, 6, 7]))})
    assert narrowed(many) is many
    made = narrowed(few)
    assert made.read is not None
    assert made.read.tolist() == [[1, 2], [3, 0]]
    assert made.labels["x"].slot is not None
    assert made.labels["x"].slot.tolist() == [0, 1, 2]


def test_two_objectives_share_the_positions_read() -> None:
    labels = {
        "tokens": Target(index=np.array([3, 9]), value=np.array([1, 2])),
        "pair": Target(index=np.array([0, 8]), value=np.array([0, 1])),
    }
    made = narrowed(Batch(tokens=np.zeros((2, 8), np.int64), labels=labels))
    assert made.read is not None
    assert made.read.tolist() == [[0, 3], [0, 1]]
    assert {name: target.slot.tolist() for name, target in made.labels.items()} == {"tokens": [1, 3], "pair": [0, 2]}


def test_lengths_are_told_only_where_a_row_is_padded() -> None:
    collator = Collator(noise=Noise(select=Tokens(), corrupt=Mask()), alphabet=Alphabet(size=9, mask=4), token_objectives=("x",))
    tokens = np.full((2, 8), 6)
    plain = np.zeros((2, 8), bool)
    index = Draws(seed=0, epoch=0, index=np.arange(2))
    full = Rows(tokens=tokens, length=np.array([8, 8]), special=plain, word_start=~plain)
    padded = Rows(tokens=tokens, length=np.array([8, 5]), special=np.arange(8) >= np.array([[8], [5]]), word_start=~plain)
    assert collator(full, index).length is None
    length = collator(padded, Draws(seed=0, epoch=0, index=np.arange(2))).length
    assert length is not None
    assert length.tolist() == [8, 5]
