"""Supervised SimCSE: pairs that belong together, with hard negatives where the file has some (arXiv:2104.08821 §4)."""

from __future__ import annotations

from plume.core.part import replace
from plume.sentences.grouping import PositivePairs
from plume.sentences.layer import PooledLayer
from plume.sentences.methods.simcse import METHOD as SIMCSE

# §B: 5e-5, three epochs. Their batch of 512 is for a GPU. The layer is kept (§6.3).
METHOD = replace(
    SIMCSE,
    name="simcse-supervised",
    title="SimCSE from pairs or triples",
    views=PositivePairs(),
    layer=PooledLayer(tanh=True, kept=True),
    batch=128,
    epochs=3.0,
    rate_factor=1.0,
)
