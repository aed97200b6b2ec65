"""CoSENT: of any two pairs the one with the higher score is to have the higher cosine (kexue.fm/archives/8847)."""

from __future__ import annotations

from plume.sentences.grouping import ScoredPairs
from plume.sentences.losses import CoSent
from plume.sentences.method import SentenceMethod

METHOD = SentenceMethod(
    name="cosent",
    title="CoSENT: cosines in the order of the scores",
    paper="kexue.fm/archives/8847",
    loss=CoSent(scale=20.0),
    views=ScoredPairs(),
    batch=32,
    epochs=5.0,
    rate_factor=0.4,
)
