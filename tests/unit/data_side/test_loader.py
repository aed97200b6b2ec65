"""Batches are a function of (seed, epoch, step), whatever the workers, the processes, or where reading began."""

from __future__ import annotations

import copy
import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Batch
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.layouts.layout import Blocks, FullSentences, PairLabel
from plume.data.layouts.single_sentences import SingleSentences
from plume.data.layouts.streams import Streams
from plume.data.loader import Cursor, Mixture, Reader, Step
from plume.noise.appended import AppendedSpans
from plume.noise.infilling import OneMask
from plume.noise.key_sentences import KeySentences
from plume.noise.sentinels import SpansAfterSentinels
from plume.noise.target import InPlace
from plume.objectives.causal_lm import causal_lm
from plume.objectives.masked_lm import masked_lm
from plume.recipes import _catalog as catalog
from plume.text.word_level import WordLevel

FAMILIES = catalog.networks()


READ = ["bert", "albert", "roberta-wwm", "electra", "gpt2", "t5", "bart", "xlnet", "glm", "transformer-xl", "ctrl", "transformer"]


@pytest.fixture(params=[family for family in READ if family in FAMILIES])
def reader(request: pytest.FixtureRequest, miniature: Any, reader_for: Any) -> Reader:
    return reader_for(miniature(request.param, rows=8), seed=3)


def arrays(batch: Batch) -> Iterator[tuple[str, np.ndarray]]:
    """Everything in it, by name."""
    for item in fields(batch):
        value = getattr(batch, item.name)
        if isinstance(value, np.ndarray):
            yield item.name, value
    yield "stream", np.array([-1 if batch.stream is None else batch.stream, batch.begins])
    for name, target in sorted(batch.labels.items()):
        yield from ((f"{name}.{part}", value) for part, value in vars(target).items() if isinstance(value, np.ndarray))
    if batch.source is not None:
        yield from ((f"source.{name}", value) for name, value in arrays(batch.source))


def same(left: Batch, right: Batch) -> bool:
    ours, theirs = dict(arrays(left)), dict(arrays(right))
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def steps_of(reader: Reader, cursor: Cursor = Cursor(), **options: Any) -> Iterator[Step]:
    """What a run that reads only this would get."""
    return Mixture(readers=(reader,), shares=(1.0,), seed=3).steps((cursor,), step=0, active=[0], **options)


def first_batches(reader: Reader, count: int, *, cursor: Cursor = Cursor(), workers: int = 0) -> list[Batch]:
    steps = steps_of(reader, cursor, workers=workers)
    found = [step.batches[0] for step in itertools.islice(steps, count)]
    steps.close()  # type: ignore[attr-defined]
    return found


def epoch_length(reader: Reader) -> int:
    return len(reader.plan(0)[1])


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(reader: Reader, workers: int) -> None:
    count = epoch_length(reader) + 5  # into the next epoch
    fresh = replace(reader, _plans={})
    for ours, theirs in zip(first_batches(reader, count), first_batches(fresh, count, workers=workers), strict=True):
        assert same(ours, theirs)


class Contended(Reader):
    """Lets the others go first whenever one of the workers exchanges plans."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_plans" and threading.current_thread() is not threading.main_thread():
            time.sleep(0.02)


def test_workers_change_nothing_when_epochs_are_short(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("roberta", length=64, rows=512))
    assert epoch_length(reader) == 1
    contended = Contended(**{field.name: getattr(reader, field.name) for field in fields(reader)} | {"_plans": {}})
    for ours, theirs in zip(first_batches(reader, 12), first_batches(contended, 12, workers=3), strict=True):
        assert same(ours, theirs)


@pytest.mark.parametrize("epoch", [0, 1])
def test_an_epoch_takes_every_planned_row(reader: Reader, epoch: int) -> None:
    plan, batches = reader.plan(epoch)
    taken = np.bincount(batches.ravel(), minlength=len(plan))
    assert (taken >= 1).all()
    assert taken.sum() - len(plan) < reader.rows  # only the last batch is filled up
    assert taken.max() <= 2


def test_resuming_anywhere_goes_on_with_the_same_batches(reader: Reader) -> None:
    count = epoch_length(reader) + 4
    steps = list(itertools.islice(steps_of(reader, workers=0), count + 2))
    for taken in (0, 1, epoch_length(reader) - 2, epoch_length(reader) - 1, epoch_length(reader), count - 1):
        fresh = replace(reader, _plans={})
        resumed = first_batches(fresh, 2, cursor=steps[taken].following[0], workers=1)
        assert same(resumed[0], steps[taken + 1].batches[0])
        assert same(resumed[1], steps[taken + 2].batches[0])


def contents(batch: Batch) -> list[tuple[Any, ...]]:
    """Each row as plain values, without its padding: tokens, and what is asked where."""
    rows = []
    time = batch.tokens.shape[1]
    for row, tokens in enumerate(batch.tokens):
        length = time if batch.length is None else int(batch.length[row])
        asked = {
            name: tuple(
                sorted(
                    (int(index) % time, int(value)) for index, value in zip(target.index, target.value, strict=True) if index // time == row
                )
            )
            for name, target in sorted(batch.labels.items())
        }
        others = [value for name in ("segment", "rank", "position", "within") if (value := getattr(batch, name)) is not None]
        source = () if batch.source is None else contents(batch.source)[row]
        rows.append(
            (tuple(tokens[:length].tolist()), *(tuple(value[row, :length].tolist()) for value in others), tuple(asked.items()), source)
        )
    return rows


@pytest.mark.parametrize(("processes", "accumulate"), [(1, 2), (2, 1), (2, 2)])
def test_shares_of_all_processes_make_the_global_batch(reader: Reader, processes: int, accumulate: int) -> None:
    parts = processes * accumulate
    whole = next(steps_of(reader, Cursor(epoch=1, step=2), workers=0)).batches[0]
    shared = []
    for rank in range(processes):
        shares = tuple(slice(rank * accumulate + part, None, parts) for part in range(accumulate))
        step = next(steps_of(reader, Cursor(epoch=1, step=2), shares=shares, workers=0))
        assert [len(batch.tokens) for batch in step.batches] == [8 // parts] * accumulate
        shared += [row for batch in step.batches for row in contents(batch)]
    assert sorted(shared) == sorted(contents(whole))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_hidden_is_drawn_anew_each_epoch(family: str, miniature: Any, reader_for: Any) -> None:
    """The same rows in epochs 0 and 1 (the plan is held still) hide other tokens."""
    recipe = miniature(family)
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind)
        plan, batches = reader.plan(0)
        still = replace(reader, _plans={0: (plan, batches), 1: (plan, batches)})
        first, second = still.batch(Cursor(epoch=0)), still.batch(Cursor(epoch=1))
        if kind.noise.select.share == 0.0 or isinstance(kind.noise.select, KeySentences):
            assert same(first, second)  # nothing is hidden, or always the sentences that matter most
        elif isinstance(kind.noise.target, InPlace):
            assert first.tokens.shape == second.tokens.shape
            mine, yours = (set(batch.labels[kind.name].index.tolist()) for batch in (first, second))
            assert len(mine & yours) / len(mine) < 0.5
        else:
            unlike = [one != other for one, other in zip(contents(first), contents(second), strict=True)]
            assert sum(unlike) > len(unlike) / 2


def examples(reader: Reader, epoch: int) -> set[tuple[Any, ...]]:
    """All rows of an epoch with what is shown and asked, whatever batch they stand in."""
    steps = range(len(reader.plan(epoch)[1]))
    return {row for step in steps for row in contents(reader.batch(Cursor(epoch=epoch, step=step)))}


@pytest.mark.parametrize(("family", "duplicates"), [("bert", 10), ("nezha", 5)])
def test_static_masks_come_again(family: str, duplicates: int, miniature: Any, reader_for: Any) -> None:
    """create_pretraining_data.py: chunks, partners and masks are drawn dupe_factor times; later passes see those in another order."""
    reader = reader_for(miniature(family))
    made = [examples(reader, epoch) for epoch in (0, 1, duplicates - 1, duplicates, duplicates + 1)]
    assert made[3] == made[0] and made[4] == made[1]
    for other in made[1:3]:
        assert len(made[0] & other) < 0.05 * len(made[0])
    assert not same(reader.batch(Cursor()), reader.batch(Cursor(epoch=duplicates)))
    later, fresh = Cursor(epoch=duplicates, step=1), replace(reader, _plans={})
    for ours, theirs in zip(first_batches(reader, 4, cursor=later), first_batches(fresh, 4, cursor=later, workers=3), strict=True):
        assert same(ours, theirs)


def test_dynamic_masks_never_do(miniature: Any, reader_for: Any) -> None:
    recipe = miniature("bert").override("objectives.masked_lm.noise.duplicates=0")
    for reader in (reader_for(miniature("roberta")), reader_for(recipe)):
        made = [examples(reader, epoch) for epoch in range(12)]
        assert max(len(one & other) / len(one) for one, other in itertools.combinations(made, 2)) < 0.05


def test_an_unknown_word_is_hidden_like_any_other(miniature: Any, reader_for: Any) -> None:
    """Only [CLS] and [SEP] are spared in the code of BERT and its kin; separators between documents are no text."""
    reader = reader_for(miniature("roberta-wwm", rows=64))
    tokens = np.array(reader.store.tokens)
    unknown, separator = reader.tokenizer.unknown, reader.tokenizer.separator
    tokens[(np.arange(len(tokens)) % 5 == 0) & (tokens != separator)] = unknown
    store = copy.copy(reader.store)
    store.tokens = tokens
    reader = replace(reader, store=store, _plans={})
    plan, _ = reader.plan(0)
    rows = reader.rows_of(plan, np.arange(len(plan)))
    assert (rows.tokens[~rows.special] == unknown).mean() == pytest.approx(0.2, abs=0.02)
    assert rows.special[:, 1:-1][rows.tokens[:, 1:-1] == separator].all()
    hidden = [value for step in range(len(reader.plan(0)[1])) for value in reader.batch(Cursor(step=step)).labels["masked_lm"].value]
    assert np.mean(np.array(hidden) == unknown) == pytest.approx(0.2, abs=0.04)


def test_an_unknown_word_splits_no_gap(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("pegasus"))
    store = copy.copy(reader.store)
    store.tokens = np.array(store.tokens)
    middle = (store.sentence_start + store.sentence_end) // 2
    store.tokens[middle] = reader.tokenizer.unknown
    reader = replace(reader, store=store, _plans={})
    plan, _ = reader.plan(0)
    rows = reader.rows_of(plan, np.arange(len(plan)))
    chosen = reader.collator.noise.select(rows, Draws(seed=0, epoch=0, index=np.arange(len(plan))))
    gaps = [len(set(rows.sentence[row][chosen.tokens[row]].tolist())) for row in range(len(plan))]
    assert chosen.start.sum(1).tolist() == gaps and sum(gaps) > len(plan) // 2
    masks = [int((batch.source.tokens == reader.tokenizer.mask).sum()) for batch in [reader.batch(Cursor())]]
    assert masks == [chosen.start[reader.plan(0)[1][0]].sum()]


def test_seeds_give_other_orders(miniature: Any, reader_for: Any) -> None:
    one, two = (reader_for(miniature("roberta"), seed=seed).plan(0) for seed in (0, 1))
    assert (one[0].start == two[0].start).all()  # full sentences are the same each time
    assert (one[1] != two[1]).any()
    assert reader_for(miniature("roberta"), seed=-5).plan(0)[1].shape == one[1].shape
    later = reader_for(miniature("roberta"), seed=0).plan(1)
    assert (one[1] != later[1]).any()


def test_batches_hold_rows_of_like_length(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("electra", length=64, rows=4))
    plan, batches = reader.plan(0)
    length = (plan.end - plan.start).sum(1)
    spread = length[batches].std(1).mean()
    assert spread < 0.25 * length.std()
    assert np.abs(np.diff(length[batches].mean(1))).mean() > 0.5 * length.std()  # but short and long batches are mixed


def test_a_corpus_smaller_than_a_batch_fills_it(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("roberta", length=64, rows=512))
    plan, batches = reader.plan(0)
    assert len(plan) < 512
    assert batches.shape == (1, 512)
    assert set(batches[0].tolist()) == set(range(len(plan)))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_no_longer_than_asked(family: str, miniature: Any, reader_for: Any) -> None:
    """Nor much shorter: what noise takes out is made up for by more text."""
    recipe = miniature(family, length=48 if family in ("bart", "pegasus") else 24)
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind)
        batches = first_batches(reader, epoch_length(reader))
        longest = max(max(batch.tokens.shape[1], 0 if batch.source is None else batch.source.tokens.shape[1]) for batch in batches)
        asked = recipe.training.length
        if isinstance(kind.layout, SingleSentences):  # the rest is for what is read beside them
            asked = reader.frame.specials + int((asked - reader.frame.specials) * kind.layout.share)
        if isinstance(kind.noise.target, AppendedSpans):  # the spans stand behind a text of the length that was asked for
            assert max(int(batch.position.max()) for batch in batches) < asked
            continue
        # Separators between documents are no text, so that T5 takes a little less than its share and leaves a little more.
        assert longest <= asked + isinstance(kind.noise.target, SpansAfterSentinels), kind.name
        # One mask for many tokens makes rows shorter, and so does a decoder's part.
        in_full = (
            kind.noise.raw(asked) == asked
            and kind.noise.target.texts == 1
            and not kind.noise.target.decoder
            and not isinstance(kind.noise.corrupt, OneMask)
        )
        # Pairs of sentences and labelled texts are as long as they are, and of whole words there are few in one.
        alone = kind.noise.target.decoder or kind.layout.label is PairLabel.DOCUMENT
        if not (isinstance(recipe.tokenizer, WordLevel) and alone):
            assert longest >= (asked if in_full else 0.75 * asked), kind.name


# Kinds of batch that take turns


@pytest.fixture(scope="module")
def mixed(miniature: Any, mixture_for: Any) -> Mixture:
    """BERT's masks three times as often as GPT's next tokens."""
    bert = miniature("bert", rows=8)
    causal = replace(causal_lm(), weight=1.0, layout=Blocks())
    recipe = replace(bert, objectives=(replace(masked_lm(), weight=3.0), causal), layout=FullSentences())
    return mixture_for(recipe, seed=5)


def taken(mixture: Mixture, count: int, *, step: int = 0, **options: Any) -> list[Step]:
    given = {"active": [0, 1], "workers": 0} | options
    steps = mixture.steps(given.pop("cursors", mixture.start()), step=step, **given)
    return list(itertools.islice(steps, count))


def test_turns_are_in_proportion(mixed: Mixture, assert_shares: Any) -> None:
    turns = np.bincount([mixed.kind(step, [0, 1]) for step in range(2000)], minlength=2)
    assert_shares(turns, [0.75, 0.25])
    assert {mixed.kind(step, [1]) for step in range(50)} == {1}
    assert [mixed.kind(step, [0, 1]) for step in range(200)] != [replace(mixed, seed=6).kind(step, [0, 1]) for step in range(200)]


def test_each_kind_reads_its_own_text_in_order(mixed: Mixture) -> None:
    """Turns of the other kind cost it no batch."""
    for number, reader in enumerate(mixed.readers):
        own = [step for step in taken(mixed, 40) if step.kind == number]
        assert len(own) > 4
        for step, expected in zip(own, first_batches(reader, len(own)), strict=True):
            assert same(step.batches[0], expected)
    last = taken(mixed, 40)[-1]
    assert (
        sum(cursor.step + cursor.epoch * epoch_length(reader) for cursor, reader in zip(last.following, mixed.readers, strict=True)) == 40
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_a_mixture_resumes_anywhere_with_any_workers(mixed: Mixture, workers: int) -> None:
    whole = taken(mixed, 30)
    for done in (1, 7, 22):
        fresh = replace(mixed, readers=tuple(replace(reader, _plans={}) for reader in mixed.readers))
        rest = taken(fresh, 5, step=done, cursors=whole[done - 1].following, workers=workers)
        assert [step.kind for step in rest] == [step.kind for step in whole[done : done + 5]]
        assert all(same(ours.batches[0], theirs.batches[0]) for ours, theirs in zip(rest, whole[done:], strict=False))
        assert [step.following for step in rest] == [step.following for step in whole[done : done + 5]]


def test_rows_that_go_on_say_so(miniature: Any, reader_for: Any) -> None:
    """A stream for each part of the batch, which begins anew with each epoch; each part's rows go on in the same part."""
    reader = reader_for(replace(miniature("gpt2", rows=4), layout=Streams()))
    shares = (slice(0, None, 2), slice(1, None, 2))
    length = epoch_length(reader)
    assert length > 3
    found = list(itertools.islice(steps_of(reader, shares=shares, workers=0), length + 2))
    assert [batch.stream for step in found for batch in step.batches] == [0, 1] * len(found)
    assert [number for number, step in enumerate(found) if step.batches[0].begins] == [0, length]
    for before, after in itertools.pairwise(found[:length]):
        for one, other in zip(before.batches, after.batches, strict=True):
            last = one.labels["causal_lm"].value.reshape(2, -1)[:, -1]
            assert other.tokens[:, 0].tolist() == last.tolist()
