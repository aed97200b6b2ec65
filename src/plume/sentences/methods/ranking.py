"""In-batch ranking (multiple negatives ranking): the second text of every other pair is a negative (arXiv:1705.00652 §4.4)."""

from __future__ import annotations

from plume.sentences.grouping import PositivePairs
from plume.sentences.losses import InBatch
from plume.sentences.method import SentenceMethod

METHOD = SentenceMethod(
    name="ranking",
    title="ranking among the texts of a batch",
    paper="arXiv:1705.00652",
    loss=InBatch(scale=20.0),
    views=PositivePairs(),
    epochs=3.0,
)
