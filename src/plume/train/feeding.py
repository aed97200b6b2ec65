"""From a store to batches: the reader of each kind of batch that a recipe asks for, and how they take turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plume.data.collate import Collator
from plume.data.loader import Mixture, Reader
from plume.data.store import Store
from plume.model.kinds import BatchKind
from plume.model.recipe import Recipe
from plume.noise.rows import Alphabet
from plume.objectives._objective import Answers
from plume.text.tokenizer import Tokenizer
from plume.train.distributed import Processes

_HELD_OUT_SEED = 20181011  # the masks of held-out rows never change, whatever the run's seed


def make_mixture(
    store: Store, recipe: Recipe, tokenizer: Tokenizer, *, seed: int, rows: int | None = None, as_it_is: bool = False
) -> Mixture[Reader]:
    """A reader for each kind of batch, in turn by their shares. `as_it_is` repeats no text that training repeats."""
    kinds = [replace(kind, layout=kind.layout.as_it_is()) for kind in recipe.kinds] if as_it_is else recipe.kinds
    readers = tuple(make_reader(store, recipe, tokenizer, seed=seed, rows=rows, kind=kind) for kind in kinds)
    return Mixture(readers=readers, shares=tuple(kind.share for kind in kinds), seed=seed)


def make_reader(
    store: Store, recipe: Recipe, tokenizer: Tokenizer, *, seed: int, rows: int | None = None, kind: BatchKind | None = None
) -> Reader:
    """Of one kind of batch, the recipe's first if none is given."""
    kind = kind or recipe.kinds[0]
    tokens = [objective for objective in kind.objectives if objective.answers in (Answers.NOISE, Answers.BATCH)]
    collator = Collator(
        noise=kind.noise,
        alphabet=alphabet_of(tokenizer, store),
        token_objectives=tuple(objective.name for objective in tokens if objective.asks is None),
        other_objectives=tuple((objective.name, objective.asks) for objective in tokens if objective.asks is not None),
        sentence_objectives=tuple(objective.name for objective in kind.objectives if objective.answers is Answers.LAYOUT),
        row_objectives=tuple(one.name for one in kind.objectives if one.answers is Answers.LAYOUT and one.head.reads_rows),
        reads_last=tokenizer.format.single[-1] == tokenizer.format.begin,
    )
    training = recipe.training
    return Reader(
        store=store, layout=kind.layout, collator=collator, tokenizer=tokenizer,
        length=training.length, rows=rows or training.batch, seed=seed,
    )  # fmt: skip


def alphabet_of(tokenizer: Tokenizer, store: Store) -> Alphabet:
    """The ids that noise may write, and how frequent they are in the text."""
    form = tokenizer.format
    counts = np.zeros(tokenizer.size, np.int64)
    counts[: len(store.counts)] = store.counts[: tokenizer.size]
    return Alphabet(
        size=tokenizer.size,
        mask=tokenizer.mask,
        pad=tokenizer.pad,
        end=tokenizer.id(form.end or form.separator),
        start=tokenizer.id(form.start or form.separator),
        sentinels=tuple(number for token in form.sentinel_tokens() if (number := tokenizer.id(token)) is not None),
        counts=counts,
    )


def held_out_mixture(store: Store, recipe: Recipe, tokenizer: Tokenizer, processes: Processes) -> Mixture[Reader]:
    """The rows and masks that the held-out loss is taken on: the same for every run on this text."""
    rows = held_out_rows(recipe, store, processes)
    return make_mixture(store, recipe, tokenizer, seed=_HELD_OUT_SEED, rows=rows, as_it_is=True)


def held_out_rows(recipe: Recipe, store: Store, processes: Processes) -> int:
    """Rows of a batch that measures. Where rows go on from batch to batch, few enough that each stream of the held-out text makes some rows."""
    rows = min(recipe.training.batch, 64)
    if any(kind.layout.sequential for kind in recipe.kinds):
        rows = max(processes.size, min(rows, len(store.tokens) // (4 * recipe.training.length)))
    return max(processes.size * recipe.readings, rows - rows % recipe.readings)  # each process then has rows of every reading
