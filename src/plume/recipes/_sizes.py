"""Small sizes that train in minutes on a CPU; the widths and depths are those of BERT's published miniatures (arXiv:1908.08962).

What they change, in every family of Transformers; recurrent families have the warm start as well:

- Rows of 128 tokens, batches of 16, a vocabulary of 16,000, and a peak learning rate that suits the width.
- The rate rises over a tenth of the run and falls to zero in a line, whatever the paper's schedule; the optimizer is Muon, with decay, for the
  blocks' matrices and AdamW for the rest (`--set 'training.optimizer=AdamW()'`).
- Token vectors begin as word2vec's, learned on the same tokens and charged to the budget (`--set warm_start=none` begins at random).
- No dropout: a run of minutes sees each sentence a few times at most, and dropout only slows it (as ALBERT §4.8 found at scale).
- First weights are scaled to the width: at the published 0.02 a width of 128 is slow to leave the unigram plateau.
- Where positions are learned and absolute, attention starts at the neighbours (`--set positions.local=false` turns it off).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from plume.core.part import replace
from plume.model.optimizers.muon import Muon
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.warm_start import WarmStart
from plume.nn.positions.learned import Learned
from plume.nn.stack import Transformer

_VOCABULARY = 16_000  # words that stay whole are worth more to a narrow network than the time that more scores take: docs/learning.md
# size: width, depth, heads, peak learning rate
_SMALL = {"tiny": (128, 2, 2, 2.5e-3), "mini": (256, 4, 4, 1.25e-3), "small": (512, 4, 8, 6e-4)}


def with_small(base: Recipe, *further: Recipe, small: Callable[[Recipe], Recipe] | None = None) -> dict[str, Recipe]:
    """The published sizes and the small ones, which change numbers only; `small` says what else a family changes in them."""
    made = [_shrunk(base, size) for size in _SMALL]
    recipes = [*(made if small is None else map(small, made)), base, *further]
    return {recipe.size: recipe for recipe in recipes}


def sized(base: Recipe, size: str, *, width: int, depth: int, heads: int, **changes: Any) -> Recipe:
    """A published size of a Transformer: the base at another width, with changes of the network's fields or the recipe's.

    The feed-forward is four times as wide, unless that is said; token vectors have the same width and dropout, unless the base's are narrow.

    >>> from plume.recipes.bert import BERT
    >>> sized(BERT, "large", width=1024, depth=24, heads=16).transformer.feed_forward
    4096
    """
    names = {field.name for field in dataclasses.fields(Transformer)} & changes.keys()
    network: dict[str, Any] = {"feed_forward": 4 * width} | {name: changes.pop(name) for name in names}
    embedding = base.embedding if base.embedding.width != base.transformer.width else replace(base.embedding, width=width)
    embedding = replace(embedding, dropout=network.get("dropout", embedding.dropout))
    made = replace(base.transformer.of_depth(depth), width=width, heads=heads, **network)
    return replace(base, size=size, **({"embedding": embedding, "network": made} | changes))


def sized_recurrent(base: Recipe, size: str, *, width: int, embedding: int, vocabulary: int) -> Recipe:
    """A size of a recurrent family. What comes out of its network is as wide as the token vectors, where it is so in the base."""
    linked = {name: embedding for name in ("output", "projection") if getattr(base.network, name) == base.embedding.width}
    return replace(
        base,
        size=size,
        tokenizer=replace(base.tokenizer, vocabulary=vocabulary),
        embedding=replace(base.embedding, width=embedding),
        network=replace(base.network, width=width, **linked),
    )


def with_small_recurrent(
    base: Recipe, figures: dict[str, tuple[int, int, int]], *further: Recipe, small: Callable[[Recipe], Recipe]
) -> dict[str, Recipe]:
    """The published sizes and small ones, which begin warm: by size the width, the token vectors' and the vocabulary; `small` says what else is
    changed."""
    warm = replace(base, warm_start=WarmStart())
    made = [
        small(sized_recurrent(warm, size, width=width, embedding=embedding, vocabulary=vocabulary))
        for size, (width, embedding, vocabulary) in figures.items()
    ]
    return {recipe.size: recipe for recipe in (*made, base, *further)}


def _small_training(training: Training) -> Training:
    """The rates above are AdamW's and Muon's, whatever the published sizes were trained by; Adafactor clips steps, these have gradients clipped.

    Without decay Muon's matrices grow with every step, and what they have learned is harder to tune: docs/learning.md.
    """
    return replace(training, optimizer=Muon(decay=0.1), clip=training.clip or 1.0)


def _shrunk(base: Recipe, size: str) -> Recipe:
    width, depth, heads, peak = _SMALL[size]
    factorised = base.embedding.width != base.transformer.width
    # First weights that give a product the variance it has at the published width; at 0.02 a narrow network is slow to start.
    spread = round(base.transformer.initial_range * math.sqrt(base.transformer.width / width), 3)
    positions = replace(base.positions, local=True) if isinstance(base.positions, Learned) else base.positions
    return replace(
        base,
        size=size,
        tokenizer=replace(base.tokenizer, vocabulary=_VOCABULARY),
        positions=positions,
        embedding=replace(base.embedding, width=min(128, width) if factorised else width, dropout=0.0),
        network=replace(
            base.transformer.of_depth(depth),
            width=width,
            heads=heads,
            feed_forward=4 * width,
            between=tuple(one.shrunk(width) for one in base.transformer.of_depth(depth).between),
            dropout=0.0,
            attention_dropout=0.0,
            initial_range=spread,
        ),
        warm_start=WarmStart(),
        training=replace(_small_training(base.training), length=128, batch=16, peak=peak, schedule=Linear(warmup=0.1)),
    )
