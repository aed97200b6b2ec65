"""Supervised SimCSE: pairs that belong together, with hard negatives where the file has some (arXiv:2104.08821 §4)."""

from __future__ import annotations

from plume.core.part import replace
from plume.sentences.grouping import PositivePairs
from plume.sentences.methods.simcse import METHOD as SIMCSE

# §B: 5e-5, three epochs. Their batch of 512 is for a GPU.
METHOD = replace(
    SIMCSE, name="simcse-supervised", title="SimCSE from pairs or triples", views=PositivePairs(), batch=128, epochs=3.0, rate_factor=1.0
)
