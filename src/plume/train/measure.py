"""What the noise really does on this corpus, to be held against what the paper says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plume.core.seeds import Draws
from plume.data.collate import gather
from plume.data.loader import Reader
from plume.model.recipe import Recipe
from plume.noise.corrupt import Mask
from plume.noise.select import NGrams, Rate, Tokens
from plume.objectives._objective import Answers

_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class Figure:
    name: str
    measured: float
    paper: float | None = None
    note: str = ""


def measure_noise(reader: Reader, recipe: Recipe) -> list[Figure]:
    """Shares over the first batches of epoch 0, as training sees them."""
    plan, batches = reader.plan(0)
    noise, alphabet = recipe.noise, reader.collator.alphabet
    selected = masked = kept = tokens = cells = 0
    labels: list[int] = []
    for index in batches[:_STEPS]:
        rows = gather(reader.store, plan, index, reader.frame, reader.special)
        aim = noise(rows, Draws(seed=reader.seed, epoch=0, index=index), alphabet)
        where = aim.where
        selected += int(where.sum())
        masked += int((aim.shown[where] == alphabet.mask).sum()) if alphabet.mask is not None else 0
        kept += int((aim.shown[where] == aim.what[where]).sum())
        tokens += int(rows.length.sum())
        cells += rows.tokens.size
        labels += [] if rows.label is None else rows.label.tolist()
    figures = [Figure(name="tokens a row", measured=tokens / max(len(batches[:_STEPS]) * reader.rows, 1))]
    figures.append(Figure(name="padding", measured=1 - tokens / cells))
    if isinstance(noise.corrupt, Mask) and isinstance(noise.select, Rate):
        figures += _masking(noise.select, noise.corrupt, selected, masked, kept, tokens)
    if labels and any(objective.answers is Answers.LAYOUT for objective in recipe.objectives):
        note = "above one half, because a chunk of a single sentence always gets a random partner"
        figures.append(Figure(name=f"pairs {recipe.layout.label}", measured=float(np.mean(labels)), paper=0.5, note=note))
    return figures


def _masking(select: Rate, corrupt: Mask, selected: int, masked: int, kept: int, tokens: int) -> list[Figure]:
    note = ""
    if isinstance(select, Tokens) and select.replacement:
        note = "positions are drawn with replacement, so the distinct ones are fewer"
    elif isinstance(select, NGrams):
        note = "whole words that would exceed the row's share are passed over"
    return [
        Figure(name="tokens selected", measured=selected / tokens, paper=select.rate, note=note),
        Figure(name="of those: mask token", measured=masked / max(selected, 1), paper=corrupt.mask),
        Figure(name="of those: random token", measured=(selected - masked - kept) / max(selected, 1), paper=corrupt.random),
        Figure(name="of those: unchanged", measured=kept / max(selected, 1), paper=1 - corrupt.mask - corrupt.random),
    ]
