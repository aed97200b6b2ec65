"""The cosine as a prediction of the score, by its squared error (Sentence-BERT, arXiv:1908.10084 §3.1)."""

from __future__ import annotations

from plume.sentences.grouping import ScoredPairs
from plume.sentences.losses import CosineError
from plume.sentences.method import SentenceMethod

METHOD = SentenceMethod(
    name="cosine",
    title="regression of the cosine",
    paper="arXiv:1908.10084",
    loss=CosineError(),
    views=ScoredPairs(),
    batch=32,
    epochs=5.0,
    rate_factor=0.4,
)
