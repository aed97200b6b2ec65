"""Rows wrapped as the tokenizer's own post-processor would wrap them, and labels that point where they should."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Batch, Order, Target
from plume.core.seeds import Draws
from plume.data.collate import Collator, Frame, gather, narrowed
from plume.data.layouts.layout import Blocks, FullSentences, RowPlan, SentencePairs
from plume.data.loader import Cursor
from plume.noise.appended import AppendedSpans
from plume.noise.corrupt import Mask
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Tokens
from plume.noise.target import NextToken
from plume.objectives._objective import Answers
from plume.recipes import _catalog as catalog
from plume.text.word_level import WordLevel
from plume.text.words import space_chinese_words

FAMILIES = catalog.networks()
TEXTS = [("My sister finds a wooden box.", "老师看见自然语言。"), ("The cat paints.", "Two apples, uncomfortably."), ("我们", "the river")]


def store_with(texts: list[list[int]], vocabulary: int) -> tuple[Any, np.ndarray]:
    """A store of these texts one after another, and the bounds of each."""
    tokens = np.array([token for text in texts for token in text])
    bounds = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return SimpleNamespace(tokens=tokens, word_start=np.ones(len(tokens), bool), units={}, vocabulary=vocabulary), bounds


def wrapped(recipe: Any, tokenizer: Any, *, texts: int) -> tuple[Rows, list[Any]]:
    """TEXTS gathered by us, and encoded by the `tokenizers` library itself."""
    ids = [tokenizer.encode(list(pair))[:texts] for pair in TEXTS]
    store, bounds = store_with([text for row in ids for text in row], tokenizer.size)
    plan = RowPlan(start=bounds[:-1].reshape(-1, texts), end=bounds[1:].reshape(-1, texts))
    frame = Frame.of(SentencePairs() if texts == 2 else FullSentences(), tokenizer)
    special = np.zeros(tokenizer.size, bool)
    special[tokenizer.structural_ids] = True
    rows = gather(store, plan, np.arange(len(TEXTS)), frame, special)
    jieba = isinstance(recipe.tokenizer, WordLevel)  # cuts Chinese before the library does its part
    return rows, [tokenizer.backend.encode(*[space_chinese_words(text)[0] if jieba else text for text in pair[:texts]]) for pair in TEXTS]


@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_wrapped_as_the_tokenizer_does(family: str, texts: int, tokenizer_for: Any) -> None:
    recipe = catalog.recipe(family)
    tokenizer = tokenizer_for(recipe)
    rows, expected = wrapped(recipe, tokenizer, texts=texts)
    plain = recipe.format.single == ("A",)  # GPT wraps nothing, and tells no texts apart; the library counts them as segments all the same
    for row, encoding in enumerate(expected):
        length = len(encoding.ids)
        assert rows.length[row] == length
        assert rows.tokens[row, :length].tolist() == encoding.ids
        assert (rows.tokens[row, length:] == tokenizer.pad).all()
        special = [bool(mask) for mask in encoding.special_tokens_mask]  # a word that the tokenizer does not know is a word
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
    special[tokenizer.structural_ids] = True
    rows = gather(store, RowPlan(start=np.array([[0]]), end=np.array([[5]])), np.array([0]), Frame.of(FullSentences(), tokenizer), special)
    assert rows.special[0].tolist() == [True, False, False, True, False, False, True]


def pieces_of(reader: Any, plan: RowPlan, number: int) -> list[int | slice]:
    """A planned row as it must come out: special tokens, and stretches of the store."""
    stretches: list[int | slice] = [slice(begin, end) for begin, end in zip(plan.start[number], plan.end[number], strict=True)]
    texts = sum(piece is None for piece in reader.frame.pieces)
    pieces: list[int | slice] = [] if plan.first is None else [int(plan.first[number])]
    for piece in reader.frame.pieces:
        if piece is not None:
            pieces.append(piece)
            continue
        texts -= 1
        pieces += [stretches.pop(0)] if texts else stretches  # the last text has all further stretches
    return pieces


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_the_store_s_tokens_and_words(family: str, miniature: Any, reader_for: Any) -> None:
    recipe = miniature(family)
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind)
        store = reader.store
        plan, batches = reader.plan(0)
        index = batches[:3].ravel()
        rows = gather(store, plan, index, reader.frame, reader.special)
        for row, number in enumerate(index):
            column = 0
            for piece in pieces_of(reader, plan, number):
                if not isinstance(piece, slice):
                    assert (rows.tokens[row, column], rows.special[row, column]) == (piece, True)
                    column += 1
                    continue
                here = slice(column, column + piece.stop - piece.start)
                if plan.backward is not None and plan.backward[number]:
                    assert rows.tokens[row, here].tolist() == store.tokens[piece][::-1].tolist()
                    column = here.stop
                    continue
                assert rows.tokens[row, here].tolist() == store.tokens[piece].tolist()
                assert rows.word_start[row, here].tolist() == store.word_start[piece].tolist()
                assert rows.special[row, here].tolist() == reader.special[store.tokens[piece]].tolist()
                assert all(rows.units[unit][row, here].tolist() == store.units[unit][piece].tolist() for unit in ("phrase", "entity"))
                column = here.stop
            assert column == rows.length[row]
        assert rows.word_start.all() == isinstance(recipe.tokenizer, WordLevel)


def asked_in(batch: Batch, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Row and place of each question."""
    return np.divmod(target.index, batch.tokens.shape[1])


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_point_at_the_hidden_tokens(family: str, miniature: Any, reader_for: Any) -> None:
    """What a head is asked at `index` is the text there; where something is written, what comes next."""
    recipe = miniature(family)
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind, narrow=False)
        plan, batches = reader.plan(0)
        rows = replace(gather(reader.store, plan, batches[0], reader.frame, reader.special), spelling=reader.spelling)
        batch = reader.collator(rows, Draws(seed=0, epoch=0, index=batches[0]))
        assert set(batch.labels) <= {objective.name for objective in kind.objectives}
        for objective in kind.objectives:
            if objective.answers is Answers.GENERATOR:
                continue
            target = batch.labels[objective.name]
            row, place = asked_in(batch, target)
            rule = kind.noise.target
            if objective.answers is Answers.LAYOUT:
                assert row.tolist() == list(range(len(batch.tokens)))
                assert plan.label is not None
                assert target.value.tolist() == plan.label[batches[0]].tolist()
                if objective.head.reads_rows:  # the whole row
                    assert (target.context == np.arange(batch.tokens.size).reshape(batch.tokens.shape)).all()
                    assert target.feature.tolist() == rows.length.tolist()
                    continue
                assert (batch.tokens[row, place] == reader.tokenizer.begin).all()
            elif objective.answers is Answers.BATCH:
                assert (target.value == row).all() and (place == 0).all() and batch.source is not None
                assert (batch.source.tokens[:, 0] == reader.tokenizer.begin).all()
                whole = [one[one != reader.tokenizer.pad][1:].tolist() for one in batch.source.tokens]
                theirs = [tokens[part > 0].tolist() for tokens, part in zip(rows.tokens, rows.segment, strict=True)]
                assert whole == theirs
            elif isinstance(rule, NextToken):
                assert (target.value == rows.tokens[row, place + 1]).all()
                assert (batch.tokens == rows.tokens[:, :-1]).all()
                assert len(target.value) == (rows.length - 1).sum()
            elif rule.decoder or isinstance(rule, AppendedSpans):
                # Each answer is the next thing shown, until the end is the answer.
                goes_on = (row[:-1] == row[1:]) & (place[:-1] + 1 == place[1:]) & (target.value[:-1] != reader.collator.alphabet.end)
                assert (target.value[:-1] == batch.tokens[row[1:], place[1:]])[goes_on].all()
                assert goes_on.mean() > 0.5
            elif objective.asks is not None and any(word in objective.asks for word in ("mention", "link", "meaning")):
                # tests/unit/noise/test_mentions.py, test_links.py
                continue
            else:
                assert (target.value == rows.tokens[row, place]).all()
                assert (place < rows.length[row]).all()
                if not kind.noise.closes:  # one that writes also learns where a text ends
                    assert not rows.special[row, place].any()


@pytest.mark.parametrize("family", FAMILIES)
def test_slots_name_the_same_positions_as_indices(family: str, miniature: Any, reader_for: Any) -> None:
    recipe = miniature(family)
    for kind in recipe.kinds:
        step, plain = (reader_for(recipe, kind=kind, narrow=narrow).batch(Cursor()) for narrow in (True, False))
        assert (plain.read is None) == (not kind.noise.target.streams)
        if kind.noise.order is Order.CAUSAL and isinstance(kind.noise.target, NextToken):
            assert step.read is None  # left to right, every position is read
        for name, target in step.labels.items():
            assert (target.index == plain.labels[name].index).all()
            assert (target.value == plain.labels[name].value).all()
            if step.read is None:
                continue
            for slots, places in ((target.slot, target.index), (target.context, plain.labels[name].context)):
                if slots is not None:
                    row, slot = np.divmod(slots, step.read.shape[1])
                    assert (row * step.tokens.shape[1] + step.read[row, slot] == places).all()


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
