"""SimBERT: reads a text, writes its paraphrase, and tells which text of the batch the paraphrase was of (github.com/ZhuiyiTechnology/simbert)."""

from __future__ import annotations

from plume.sentences.grouping import SwappedPairs
from plume.sentences.layer import PooledLayer
from plume.sentences.losses import SwappedRows
from plume.sentences.method import SentenceMethod

# simbert.py: 64 pairs, 32 tokens a side, cosines × 30, a linear pooler. Its rate of 2e-6 is for a run over millions of pairs.
METHOD = SentenceMethod(
    name="simbert",
    title="SimBERT: finds and writes paraphrases",
    paper="github.com/ZhuiyiTechnology/simbert",
    loss=SwappedRows(scale=30.0),
    views=SwappedPairs(),
    layer=PooledLayer(tanh=False, kept=True),
    batch=64,
    length=64,
    epochs=5.0,
)
