"""What the noise really does on this corpus, to be held against what the paper says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plume.core.seeds import Draws
from plume.data.layouts.layout import PairLabel
from plume.data.loader import Reader
from plume.model.kinds import BatchKind
from plume.noise.corrupt import Mask
from plume.noise.noise import Noise
from plume.noise.select import NGrams, Select, Tokens
from plume.noise.target import InPlace
from plume.objectives._objective import Answers

_STEPS = 20
_PAIRS = {  # the share of rows whose label is not 0
    PairLabel.RANDOM_NEXT: (0.5, "above one half, because a chunk of a single sentence always gets a random partner"),
    PairLabel.SWAPPED: (0.5, "above one half, because a chunk of a single sentence always gets a random partner"),
    PairLabel.THREE_WAY: (2 / 3, "not the next: before or random; a chunk of a single sentence always gets a random partner"),
}


@dataclass(frozen=True, kw_only=True)
class PaperFigure:
    """What was measured of the noise, beside what the paper says."""

    name: str
    measured: float
    paper: float | None = None
    note: str = ""


@dataclass(kw_only=True)
class _Sums:
    rows: int = 0
    tokens: int = 0  # of text, special ones included
    cells: int = 0  # with padding
    source: int = 0  # what an encoder reads
    asked: int = 0
    selected: int = 0
    units: int = 0
    masked: int = 0
    kept: int = 0
    labelled: int = 0  # rows whose label is not 0


def measure_noise(kind: BatchKind, reader: Reader) -> list[PaperFigure]:
    """Shares over the first batches of epoch 0, as training sees them."""
    sums = _summed(kind.noise, reader)
    figures = [
        PaperFigure(name=f"{kind.name}: tokens a row", measured=sums.tokens / max(sums.rows, 1)),
        PaperFigure(name="padding", measured=1 - sums.tokens / max(sums.cells, 1)),
        PaperFigure(name="predictions a row", measured=sums.asked / max(sums.rows, 1)),
    ]
    if sums.source:
        figures.append(PaperFigure(name="tokens a row that the encoder reads", measured=sums.source / max(sums.rows, 1)))
    if sums.selected:
        figures += _selection(kind.noise.select, sums)
    if isinstance(kind.noise.corrupt, Mask) and isinstance(kind.noise.target, InPlace):
        figures += _masking(kind.noise.corrupt, sums)
    if kind.layout.label in _PAIRS and any(objective.answers is Answers.LAYOUT for objective in kind.objectives):
        paper, note = _PAIRS[kind.layout.label]
        figures.append(PaperFigure(name=f"pairs {kind.layout.label}", measured=sums.labelled / max(sums.rows, 1), paper=paper, note=note))
    return figures


def _summed(noise: Noise, reader: Reader) -> _Sums:
    plan, batches = reader.plan(0)
    alphabet = reader.collator.alphabet
    sums = _Sums()
    for index in batches[:_STEPS]:
        rows = reader.rows_of(plan, index)
        aim = noise(rows, Draws(seed=reader.seed, epoch=0, index=index), alphabet)
        draws = Draws(seed=reader.seed, epoch=0, index=index)  # the same draws give the same selection once more
        chosen = noise.select(noise.rearrange(rows, draws), draws)
        sums.rows += len(index)
        sums.tokens += int(rows.length.sum())
        sums.cells += rows.tokens.size
        sums.source += 0 if aim.source is None else int(aim.source.length.sum())
        sums.asked += int(aim.where.sum())
        sums.selected += int(chosen.tokens.sum())
        sums.units += int(chosen.start.sum())
        sums.masked += int((aim.shown[aim.where] == alphabet.mask).sum()) if alphabet.mask is not None else 0
        sums.kept += int((aim.shown[aim.where] == aim.what[aim.where]).sum())
        sums.labelled += 0 if rows.label is None else int(np.count_nonzero(rows.label))
    return sums


def _selection(select: Select, sums: _Sums) -> list[PaperFigure]:
    note = ""
    if isinstance(select, Tokens) and select.replacement:
        note = "positions are drawn with replacement, so the distinct ones are fewer"
    elif isinstance(select, NGrams):
        note = "whole words that would exceed the row's share are passed over"
    found = [
        PaperFigure(
            name="tokens selected",
            measured=sums.selected / sums.tokens,
            paper=None if select.needs_salient else select.share or None,
            note=note,
        )
    ]
    if sums.units < sums.selected:
        found.append(PaperFigure(name="tokens a selected unit", measured=sums.selected / max(sums.units, 1)))
    return found


def _masking(corrupt: Mask, sums: _Sums) -> list[PaperFigure]:
    asked = max(sums.asked, 1)
    return [
        PaperFigure(name="of those: mask token", measured=sums.masked / asked, paper=corrupt.mask),
        PaperFigure(name="of those: random token", measured=(sums.asked - sums.masked - sums.kept) / asked, paper=corrupt.random),
        PaperFigure(name="of those: unchanged", measured=sums.kept / asked, paper=1 - corrupt.mask - corrupt.random),
    ]
