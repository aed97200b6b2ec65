"""Matryoshka: ranking whose vectors serve at half their width too, at a quarter … (arXiv:2205.13147); --dimensions puts it around any method."""

from __future__ import annotations

from plume.core.part import replace
from plume.sentences.losses import Matryoshka
from plume.sentences.methods.ranking import METHOD as RANKING

METHOD = replace(
    RANKING, name="matryoshka", title="ranking at several widths", paper="arXiv:2205.13147", loss=Matryoshka(loss=RANKING.loss)
)
