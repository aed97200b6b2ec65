"""SimCSE: each text twice, its two vectors differing by dropout alone; all other texts of the batch are negatives (arXiv:2104.08821 §3)."""

from __future__ import annotations

from plume.sentences.grouping import SameText
from plume.sentences.layer import PooledLayer
from plume.sentences.losses import InBatch
from plume.sentences.method import SentenceMethod

# The layer is for training only (§6.3: dropped at use it is better).
# §B: 3e-5 for BERT base, batches of 64, one epoch over a million sentences of at most 32 tokens. Temperature 0.05 is scale 20.
METHOD = SentenceMethod(
    name="simcse",
    title="SimCSE: two dropouts of a text",
    paper="arXiv:2104.08821",
    loss=InBatch(scale=20.0),
    views=SameText(),
    layer=PooledLayer(tanh=True),
    batch=64,
    length=32,
    rate_factor=0.6,
)
