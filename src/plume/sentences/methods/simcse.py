"""SimCSE: each text twice, its two vectors differing by dropout alone; all other texts of the batch are negatives (arXiv:2104.08821 §3)."""

from __future__ import annotations

from plume.sentences.grouping import SameText
from plume.sentences.losses import InBatch
from plume.sentences.method import SentenceMethod

# §B: 3e-5 for BERT base, batches of 64, one epoch over a million sentences of at most 32 tokens. Temperature 0.05 is scale 20.
METHOD = SentenceMethod(
    name="simcse",
    title="SimCSE: two dropouts of a text",
    paper="arXiv:2104.08821",
    loss=InBatch(scale=20.0),
    views=SameText(),
    projected=True,
    batch=64,
    length=32,
    rate_factor=0.6,
)
