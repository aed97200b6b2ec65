"""SentenceMethod: a way to train sentence vectors, as a declaration: loss × views × defaults. Each is a file in `methods/`."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core import catalog
from plume.core.part import Part
from plume.sentences.grouping import Grouping
from plume.sentences.layer import PooledLayer
from plume.sentences.losses import ContrastLoss

METHODS = "sentences.methods"  # the folder: a file each, called as users call the method


@dataclass(frozen=True, kw_only=True)
class SentenceMethod(Part):
    """What is held against what, by which loss, and with which settings if the user says nothing else."""

    name: str
    title: str
    paper: str
    loss: ContrastLoss
    views: Grouping
    layer: PooledLayer | None = None  # on the first token's state, where that is what is pooled
    batch: int = 64
    length: int = 64  # tokens, special ones included
    epochs: float = 1.0
    dropout: float = 0.1
    rate_factor: float = 1.0  # on the rate that is safe for the model: 5e-5 at a width of 768


def method_names() -> list[str]:
    """The names of all."""
    return catalog.names(METHODS)


def method(name: str) -> SentenceMethod:
    """The one that a user names: its file's declaration."""
    declared = catalog.load(METHODS, name.replace("_", "-")).METHOD
    assert isinstance(declared, SentenceMethod)
    return declared
