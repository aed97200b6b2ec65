"""Which heads or neurons stay: those that score best, as many as are wanted, and at least one a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.model.gating import AttentionPlace, GatedUnit, Gates

Scored = Mapping[AttentionPlace, Sequence[Tensor]]  # of each layer


def wanted(counts: Mapping[AttentionPlace, Sequence[int]], keep: float, unit: GatedUnit) -> int:
    """How many of all stay."""
    if not 0 < keep <= 1:
        raise PlumeError(f"--keep {keep:g}: the share of {unit.value}s that stay lies above 0 and goes up to 1.")
    layers = [count for place in counts.values() for count in place]
    found = round(keep * sum(layers))
    if found < len(layers):
        raise PlumeError(
            f"--keep {keep:g} leaves {found} of {sum(layers):,} {unit.value}s, too few for a network: each of {len(layers)} blocks needs one, "
            f"which is a share of {len(layers) / sum(layers):.3g}."
        )
    return found


def normalised(scores: Scored) -> dict[AttentionPlace, list[Tensor]]:
    """Divided by each layer's length (its l2 norm), so that no layer is preferred as a whole."""
    return {place: [one / one.norm().clamp(min=1e-30) for one in layers] for place, layers in scores.items()}


def chosen(scores: Scored, masks: Gates, count: int, *, even: bool = False) -> dict[AttentionPlace, list[Tensor]]:
    """Gates that are open for the best of those that are still open in `masks`. `even`: the same share of every layer."""
    made = {place: [torch.zeros_like(mask) for mask in layers] for place, layers in masks.items()}
    layers = [
        (scores[place][layer].double(), masks[place][layer], made[place][layer]) for place in masks for layer in range(len(masks[place]))
    ]
    ranked = [score.masked_fill(mask == 0, -torch.inf) for score, mask, _ in layers]
    if even:
        share = count / sum(len(score) for score in ranked)
        for score, (_, _, gate) in zip(ranked, layers, strict=True):
            gate[score.argsort(descending=True, stable=True)[: max(1, round(share * len(score)))]] = 1
        return made
    for score, (_, _, gate) in zip(ranked, layers, strict=True):
        best = int(score.argmax())
        gate[best] = 1
        score[best] = torch.inf  # stays, whatever it scores
    flat = torch.cat(ranked)
    stay = torch.zeros_like(flat)
    stay[flat.argsort(descending=True, stable=True)[:count]] = 1
    for part, (_, _, gate) in zip(torch.split(stay, [len(score) for score in ranked]), layers, strict=True):
        gate.copy_(part)
    return made


def kept_of(masks: Gates) -> dict[AttentionPlace, list[list[int]]]:
    """The numbers of those that are open."""
    return {place: [mask.nonzero().flatten().tolist() for mask in layers] for place, layers in masks.items()}
